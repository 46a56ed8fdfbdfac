// The hardware and the operating system of this machine as the management server gets them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { HostFactsSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bootReasons } from '@platform/contract/program-states';
import type { HostFacts } from '../os/ports.ts';

export function factsReport({
  memoryBytes,
  disk,
  uptimeSeconds,
  bootReason,
  ...facts
}: HostFacts): MessageInitShape<typeof HostFactsSchema> {
  return {
    ...facts,
    ...(memoryBytes !== undefined && { memoryBytes: BigInt(memoryBytes) }),
    ...(disk && { disk: { ...disk, sizeBytes: BigInt(disk.sizeBytes), freeBytes: BigInt(disk.freeBytes) } }),
    ...(uptimeSeconds !== undefined && { uptime: durationFromMs(Math.round(uptimeSeconds * 1000)) }),
    ...(bootReason && { bootReason: bootReasons[bootReason].wire }),
  };
}
