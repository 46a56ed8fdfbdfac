import { isIPv4 } from 'node:net';
import type { Cell, Clock } from '@platform/kit';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { rateLimit } from '../network/endpoints/rate-limit.ts';

/** A link that comes and goes causes at most five requests at once, then one a minute. */
const limit = { burst: 5, perSecond: 1 / 60 };

/** What the way to the internet depends on; empty: no link, or the hotspot alone. */
function wayOf(status: NetworkStatus | undefined): string {
  const links = (status?.links ?? []).filter(
    ({ state, type, isHotspot }) => state === 'connected' && type !== 'other' && !isHotspot,
  );
  if (links.length === 0) return '';
  // IPv6 addresses that protect privacy change by themselves.
  return JSON.stringify(
    links.map((link) => [link.interface, link.profile, link.ssid, link.gateway, link.addresses.filter(isIpv4Cidr)]),
  );
}

const isIpv4Cidr = (address: string): boolean => isIPv4(address.split('/')[0] ?? '');

/**
 * Counts the times that this machine has come to another network, or back to one, until the signal. What was under way
 * over the network before may wait for answers that never come.
 */
export async function countArrivals(
  { network, arrivals, clock }: { network: Cell<NetworkStatus | undefined>; arrivals: Cell<number>; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const isAllowed = rateLimit(clock, limit);
  let isKnown = network.get() !== undefined;
  let last = wayOf(network.get());
  while (!signal.aborted) {
    await network.changed(signal);
    const way = wayOf(network.get());
    if (isKnown && way !== last && way !== '' && isAllowed()) arrivals.update((count) => count + 1);
    isKnown ||= network.get() !== undefined;
    last = way;
  }
}

/** The result of `work`; undefined: it was ended, because this machine has come to a network. */
export async function unlessArrival<T>(
  arrivals: Cell<number>,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  const arrival = new AbortController();
  const over = new AbortController();
  const watch = async (): Promise<void> => {
    await arrivals.changed(over.signal);
    arrival.abort();
  };
  const stop = (): void => over.abort();
  signal.addEventListener('abort', stop, { once: true });
  const watching = watch();
  try {
    return await work(AbortSignal.any([signal, arrival.signal]));
  } catch (error) {
    if (arrival.signal.aborted && !over.signal.aborted) return undefined;
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    over.abort();
    await watching;
  }
}
