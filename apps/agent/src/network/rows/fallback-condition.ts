import { attemptResults } from '@platform/contract/machine/network-states';
import { changedOr, type Cell, type Clock } from '@platform/kit';
import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { NetworkStatus } from './network-status.ts';

const code = 'NETWORK_FALLBACK';
/** A machine that starts, or changes networks, is on another one for a moment. */
const setAfterMs = 60_000;
/** A network that comes and goes would otherwise set and clear the condition all day, with a report each time. */
const clearAfterMs = 5 * 60_000;

/** Keeps the condition of a machine that is online only by a network of lower priority. */
export async function watchFallback(
  { network, conditions, clock }: { network: Cell<NetworkStatus | undefined>; conditions: ConditionSet; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  let [isFallback, since] = [false, clock.now()];
  let isSet = false;
  while (!signal.aborted) {
    const status = network.get();
    const now = clock.now();
    if ((status?.isOnFallback ?? false) !== isFallback) [isFallback, since] = [!isFallback, now];
    const due = since + (isFallback ? setAfterMs : clearAfterMs);
    if (isFallback !== isSet && now >= due) {
      isSet = isFallback;
      if (!isSet) clearCondition(conditions, code);
    }
    if (isSet && isFallback && status)
      setCondition(conditions, code, fallbackOf(status), { sinceWall: clock.wall() - (now - since) });
    if (isFallback === isSet) await network.changed(signal);
    else await changedOr(network, due - now, clock, signal);
  }
}

function fallbackOf(status: NetworkStatus) {
  const link = status.links.find(({ hasDefaultRoute }) => hasDefaultRoute);
  const network = link ? link.ssid || link.interface : 'another network';
  const failed = status.attempts.find(({ result, network: name }) => result !== 'ok' && name !== network);
  return { network, ...(failed && { failed: failed.network, reason: attemptResults[failed.result].text }) };
}
