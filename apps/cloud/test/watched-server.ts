// A server that measures its machines, on a clock that the test moves.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import type { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { watchEveryMs } from '../src/conditions/watch.ts';
import { type TestServer, testServer } from './server.ts';
import { turnedClock } from './turned-clock.ts';

const hostInfo = { platform: 'linux/arm64', tags: ['platform-agent'] };

type Reported = { code: string; severity: Severity; message: string; remedy: string; path?: string };
type Report = { conditions?: (Reported & { since?: { seconds: bigint; nanos: number } })[] };

type Machine = Awaited<ReturnType<TestServer['machine']>>;

const report = async (on: TestServer, { partId, part }: Machine, of: Report): Promise<void> => {
  const device = await on.client(AgentDeviceService, part);
  await device.deviceAgentConfig({ id: partId, hostInfo, report: of });
};

/** A server on a clock that moves on, with calls that see what was measured since. */
export async function watched(argv: readonly string[] = []) {
  const time = turnedClock();
  // Whatever this host has free.
  const on = await testServer(['--low-disk-gb', '0', ...argv], {}, time.clock);
  const organizationId = on.orgId;
  const conditions = await on.client(ConditionService);
  const newest = async (): Promise<number> => {
    const { measuredOn } = await conditions.listConditions({ organizationId });
    return measuredOn ? timestampMs(measuredOn) : 0;
  };
  const alive = new Map<Machine, Report>();
  const next = async (): Promise<void> => {
    // A measurement that runs now may have begun before.
    for (let times = 0; times < 2; times += 1) {
      const before = await newest();
      while ((await newest()) <= before) {
        for (const [machine, of] of alive) await report(on, machine, of);
        time.advance(watchEveryMs / 5);
      }
    }
  };
  /** The machine reports this all the time; undefined: it is silent. */
  const reports = async (machine: Machine, of: Report | undefined): Promise<void> => {
    if (of) alive.set(machine, of);
    else alive.delete(machine);
    await next();
  };
  return {
    on,
    time,
    conditions,
    organizationId,
    next,
    reports,
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}
