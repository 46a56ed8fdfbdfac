import { machineEnvironment, type MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { sourceWall } from '@platform/kit';
import { clockTolerantFetch, isSystemClockSynchronized, systemClock } from '@platform/kit/node';

/** The fetch for all calls to the management server; the agent provides the lower bound of the time. */
export function serverFetch(
  env: Readonly<Record<string, string | undefined>>,
  { appAddress, authority }: Pick<MachineCredentials, 'appAddress' | 'authority'>,
): typeof fetch {
  const given = Number(env[machineEnvironment.timeFloor]);
  const known = { time: given > sourceWall ? given : sourceWall, at: systemClock.now() };
  const floor = (): number => Math.floor(known.time + (systemClock.now() - known.at));
  return clockTolerantFetch({
    clock: systemClock,
    env,
    trusted: authority === undefined ? undefined : { origin: new URL(appAddress).origin, pem: authority },
    floor,
    isSynchronized: isSystemClockSynchronized,
    proven: (time) => {
      if (time >= floor()) Object.assign(known, { time, at: systemClock.now() });
    },
  });
}
