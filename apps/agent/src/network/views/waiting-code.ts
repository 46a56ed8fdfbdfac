import { changedOr, setIfDifferent, type Cell, type Clock } from '@platform/kit';
import type { NetworkStatus } from '../rows/network-status.ts';

/** How long a set-up code waits over a link before the hotspot comes back once, to show why. */
const longestWaitMs = 60_000;
const noHurryMs = 60 * 60_000;

/**
 * Sets `stuck` to the set-up code that has waited for a minute while this machine had a link, for example because the
 * address of the server was mistyped; until the signal.
 */
export async function watchWaitingCode(
  of: {
    /** The code that is not redeemed yet; another object is another code. */
    pending: Cell<object | undefined>;
    network: Cell<NetworkStatus | undefined>;
    stuck: Cell<object | undefined>;
    clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const { pending, network, stuck, clock } = of;
  let waiting: object | undefined;
  let since = clock.now();
  while (!signal.aborted) {
    const status = network.get();
    const now = status?.mode === 'normal' && status.hasLink ? pending.get() : undefined;
    if (now !== waiting) since = clock.now();
    waiting = now;
    if (stuck.get() !== pending.get()) setIfDifferent(stuck, undefined);
    const leftMs = waiting && stuck.get() !== waiting ? since + longestWaitMs - clock.now() : noHurryMs;
    if (waiting && leftMs <= 0) {
      stuck.set(waiting);
      continue;
    }
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    await Promise.race([changedOr(network, leftMs, clock, over), pending.changed(over)]);
    turn.abort();
  }
}
