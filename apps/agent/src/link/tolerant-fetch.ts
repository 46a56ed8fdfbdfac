import type { Programs, System } from '../os/ports.ts';
import { fileDisk } from '../os/file-disk.ts';
import { sourceWall, type Clock } from '@platform/kit';
import { clockTolerantFetch, type TrustedAuthority } from '@platform/kit/node';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { isClockSynchronized, readProven, type ProvenTime } from '../clock/proven-time.ts';

/**
 * The fetch for all the agent's requests. It connects to an authenticated server even if this machine's clock is wrong.
 *
 * @param refuted - called for each authenticated server: with the current time if this machine's clock cannot be right,
 * otherwise with undefined.
 */
export const tolerantFetch = (of: {
  clock: Clock;
  system: Programs;
  proven: ProvenTime;
  trusted: TrustedAuthority | undefined;
  refuted?: (time: number | undefined) => void;
}): typeof fetch =>
  clockTolerantFetch({
    clock: of.clock,
    env: process.env,
    trusted: of.trusted,
    floor: of.proven.floor,
    isSynchronized: () => isClockSynchronized(of.system),
    proven: (time, isClockRefuted) => {
      of.proven.prove(time);
      of.refuted?.(isClockRefuted ? time : undefined);
    },
  });

/** The certificate authority that the credentials name, for the server that they name. */
export const trustedBy = ({
  appAddress,
  authority,
}: Pick<MachineCredentials, 'appAddress' | 'authority'>): TrustedAuthority | undefined =>
  authority === undefined ? undefined : { origin: new URL(appAddress).origin, pem: authority };

/** The fetch of a command that makes a single call: like the agent's, but it stores no time. */
export async function onceFetch(
  trusted: TrustedAuthority | undefined,
  { root, clock, system }: { root: string; clock: Clock; system: System },
): Promise<typeof fetch> {
  const floor = Math.max(sourceWall, await readProven(fileDisk(system.files(root))).catch(() => 0));
  return tolerantFetch({ clock, system, trusted, proven: { floor: () => floor, prove: () => {} } });
}
