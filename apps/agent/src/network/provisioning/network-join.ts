import { changedOr, errorText, within } from '@platform/kit';
import type { JoinAnswer } from '../../state-machines/network-rules.ts';
import type { Connectivity, JoinResult, Network } from '../../os/network-port.ts';
import { attemptText } from '../views/attempt-words.ts';
import { isIpv6Only } from '../views/network-notes.ts';
import type { NetworkAttempt } from '../rows/network-status.ts';
import { linksOf } from '../checks/observation.ts';
import type { Context } from '../../health/context.ts';

const cloudContactMs = 4_000;
/** What NetworkManager knows of an attempt is read this long before its time is over. */
const outcomeMs = 3_000;
/** The check of a network that was joined late. */
const shortestCheckMs = 5_000;

interface JoinParts extends Pick<Context, 'isReached' | 'clock' | 'log'> {
  network: Network;
}

interface Join {
  profile: string;
  radio: string;
  timeoutMs: number;
}

/** Joins a network and measures what it leads to. `detail`: for the log. */
export async function joinNetwork(
  { profile, radio, timeoutMs }: Join,
  parts: JoinParts,
  signal: AbortSignal,
): Promise<{ answer: JoinAnswer; detail: string }> {
  const { isReached, clock } = parts;
  const end = clock.now() + timeoutMs;
  // An answer over the link before proves nothing about the next one.
  isReached.set(false);
  const result = await inTime(profile, radio, timeoutMs, parts, signal);
  if (!result.ok) return { answer: { ok: false, reason: result.reason }, detail: result.detail };
  const checkMs = Math.max(shortestCheckMs, end - clock.now());
  return { answer: await measured(radio, checkMs, parts, signal), detail: '' };
}

/** Ends the attempt while there is time to learn why it has not succeeded: a router that gives no address, for example. */
async function inTime(
  profile: string,
  radio: string,
  timeoutMs: number,
  { network, clock }: JoinParts,
  signal: AbortSignal,
): Promise<JoinResult> {
  const over = new AbortController();
  const cut = new AbortController();
  void clock.sleep(timeoutMs - outcomeMs, over.signal).then(() => cut.abort());
  try {
    return await within(timeoutMs, { what: 'joining the network', clock, signal }, (until) =>
      network.join(profile, radio, AbortSignal.any([cut.signal, until])),
    );
  } catch (error) {
    return { ok: false, reason: 'timed-out', detail: errorText(error) };
  } finally {
    over.abort();
  }
}

async function measured(
  radio: string,
  checkMs: number,
  { network, isReached, clock, log }: JoinParts,
  signal: AbortSignal,
): Promise<JoinAnswer> {
  const check = (over: AbortSignal): Promise<Connectivity> => network.checkConnectivity(over);
  const connectivity = await within(checkMs, { what: 'the check of the internet', clock, signal }, check).catch(
    (error: unknown): Connectivity => {
      log.debug('the way to the internet cannot be checked', { reason: errorText(error) });
      return 'unknown';
    },
  );
  if (connectivity !== 'full' && !isReached.get()) await changedOr(isReached, cloudContactMs, clock, signal);
  const link = linksOf(network.state.get()).find((one) => one.interface === radio);
  return {
    ok: true,
    connectivity,
    isCloudReached: isReached.get(),
    isIpv6Only: link !== undefined && isIpv6Only(link),
  };
}

/** What users see of an attempt. */
export function outcomeOf(
  answer: JoinAnswer,
  ssid: string,
  { isUnconfigured, isSingle }: { isUnconfigured: boolean; isSingle: boolean },
): { result: NetworkAttempt['result']; text: string } {
  if (!answer.ok) return { result: answer.reason, text: attemptText(answer.reason, ssid) };
  const isFull = answer.connectivity === 'full' || answer.isCloudReached;
  const isUnchecked = !isFull && answer.connectivity === 'unknown';
  if (isFull || isSingle || (isUnchecked && isUnconfigured)) return { result: 'ok', text: attemptText('ok', ssid) };
  if (answer.connectivity === 'portal') return { result: 'portal', text: attemptText('portal', ssid) };
  const reason = isUnchecked ? 'unchecked' : answer.isIpv6Only === true ? 'ipv6-only' : 'no-internet';
  return { result: 'no-internet', text: attemptText(reason, ssid) };
}
