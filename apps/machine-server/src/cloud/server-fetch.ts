import { machineEnvironment, type MachineCredentials } from '@platform/contract/machine';
import { sourceWall } from '@platform/kit';
import { clockTolerantFetch, isSystemClockSynchronized, systemClock } from '@platform/kit/node';

/** The fetch of everything that goes to the management server; the agent says what time is proven. */
export function serverFetch(
  env: Readonly<Record<string, string | undefined>>,
  { appAddress, authority }: Pick<MachineCredentials, 'appAddress' | 'authority'>,
): typeof fetch {
  const given = Number(env[machineEnvironment.timeFloor]);
  const known = { floor: given > sourceWall ? given : sourceWall };
  return clockTolerantFetch({
    clock: systemClock,
    env,
    trusted: authority === undefined ? undefined : { origin: new URL(appAddress).origin, pem: authority },
    floor: () => known.floor,
    isSynchronized: isSystemClockSynchronized,
    proven: (time) => {
      known.floor = Math.max(known.floor, time);
    },
  });
}
