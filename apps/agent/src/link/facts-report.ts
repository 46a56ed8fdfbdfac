// The hardware and the operating system of this machine as the management server gets them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { DiskFactsSchema, HostFactsSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bootReasons } from '@platform/contract/machine/program-states';
import type { DiskFacts, HostFacts } from '../os/ports.ts';

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
    ...(disk && { disk: diskReport(disk) }),
    ...(uptimeSeconds !== undefined && { uptime: durationFromMs(Math.round(uptimeSeconds * 1000)) }),
    ...(bootReason && { bootReason: bootReasons[bootReason].wire }),
  };
}

const diskReport = ({ inodes, freeInodes, ...disk }: DiskFacts): MessageInitShape<typeof DiskFactsSchema> => ({
  ...disk,
  sizeBytes: BigInt(disk.sizeBytes),
  freeBytes: BigInt(disk.freeBytes),
  ...(inodes !== undefined && { inodes: BigInt(inodes), freeInodes: BigInt(freeInodes ?? 0) }),
});
