import { errorText, within, changedOr } from '@platform/kit';
import type { Connectivity, Network, NetworkState } from '../../os/network-port.ts';
import type { Context } from '../../health/context.ts';

/** From the join of a network, or the loss of the management server, to the next check; each pause is twice the one before. */
const firstMs = 30_000;
/** NetworkManager checks as often. */
const longestMs = 300_000;
/** A link or a server that comes and goes causes no more checks than this. */
const spacingMs = 5_000;
const checkLimitMs = 45_000;
/** What was measured counts this long: the longest pause, and a check that takes its time. */
export const connectivityValidMs = longestMs + checkLimitMs + 15_000;

/** What is known of the way to the internet now; what was measured too long ago is unknown. */
export const connectivityAt = ({ connectivity, checkedAt }: NetworkState, now: number): Connectivity =>
  checkedAt !== null && now - checkedAt < connectivityValidMs ? connectivity : 'unknown';

/** When a measurement stops to count; Infinity: none does. */
export const expiryOf = ({ checkedAt }: NetworkState, now: number): number =>
  checkedAt !== null && checkedAt + connectivityValidMs > now ? checkedAt + connectivityValidMs : Infinity;

interface WatchParts extends Pick<Context, 'isReached' | 'clock' | 'log'> {
  network: Network;
}

/**
 * Measures the way to the internet again and again, so that no measurement outlives the internet: on a growing
 * schedule, and at once when the links, their name servers or the contact with the management server change. Until the
 * signal.
 */
export async function watchConnectivity(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { network, isReached, clock } = parts;
  let [way, wasReached] = ['', isReached.get()];
  let [pauseMs, checkedAt, dueAt] = [firstMs, -Infinity, Infinity];
  while (!signal.aborted) {
    const [next, reached] = [wayOf(network.state.get()), isReached.get()];
    if (next !== way || reached !== wasReached) {
      pauseMs = firstMs;
      dueAt = next === '' ? Infinity : Math.max(clock.now(), checkedAt + spacingMs);
    }
    [way, wasReached] = [next, reached];
    if (clock.now() >= dueAt) {
      const found = await check(parts, signal);
      checkedAt = clock.now();
      // Before a link that worked is given up, a second look.
      const isDoubtful = found !== 'full' && pauseMs === firstMs && !isReached.get();
      dueAt = checkedAt + (isDoubtful ? spacingMs : pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestMs);
      continue;
    }
    await changedOr([network.state, isReached], dueAt - clock.now(), clock, signal);
  }
}

async function check({ network, isReached, clock, log }: WatchParts, signal: AbortSignal): Promise<Connectivity> {
  // An answer of the management server is proof by itself, and costs nothing.
  if (isReached.get() && network.confirmConnectivity()) return 'full';
  const before = network.state.get().connectivity;
  try {
    const found = await within(checkLimitMs, { what: 'the check of the internet', clock, signal }, (over) =>
      network.checkConnectivity(over),
    );
    if (found !== before) log.info('the way to the internet', { now: found, before });
    return found;
  } catch (error) {
    log.debug('the way to the internet cannot be checked', { reason: errorText(error) });
    return 'unknown';
  }
}

/** What the way to the internet depends on; empty: there is no link. */
function wayOf(state: NetworkState): string {
  const links = state.devices.filter(({ state: at, isHotspot }) => at === 'connected' && !isHotspot);
  if (state.manager !== 'ready' || links.length === 0) return '';
  return JSON.stringify([
    links.map(({ interface: name, profile, gateway, hasDefaultRoute }) => [name, profile, gateway, hasDefaultRoute]),
    state.nameServers,
  ]);
}
