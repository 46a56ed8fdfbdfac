import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { TokenBuckets } from '../access/rules/token-buckets.ts';

/**
 * Who is charged for a call that proves no identity: the networks of its address, the subject of a token that this
 * server signed, or the caller that authenticated its connection.
 */
export type CallPayer = {
  /** Narrowest first. A wider one may make more calls. */
  readonly keys: readonly string[];
  /** Multiple of the limit. */
  readonly share: number;
};

/** Limits of calls that prove no identity. What proves one is free. */
export type UnprovenCalls = {
  /** Begins a call. @returns ends it, or the error: the payer is over a limit. */
  begin(payer: CallPayer): OpenCall | PlatformError;
  /** Whether this payer goes on although its calls are refused. A refusal costs processor time, too. */
  isDeaf(payer: CallPayer): boolean;
};

export type OpenCall = {
  /** The caller is authenticated, so the call is not charged. */
  prove(): void;
  end(): void;
};

/** Burst in seconds of the rate. */
const burstS = 12;
/**
 * Unproven calls in progress of an address; 16 times as many where a caller is known. They are charged at their end, so
 * that the sign-ins of 10,000 machines behind one address are not refused while the server works on them.
 */
const mostOpen = 1_024;
/** A wider network gets twice as many as the next narrower one. */
const times = (level: number): number => 2 ** level;

/**
 * One call stands for 1 ms of the processor: calls without a credential were measured at 0.3 to 2.2 ms. Decision 0115.
 *
 * @param perSecond - calls of one address. 0: no limit.
 * @param onRefused - is called for each refusal.
 */
export function unprovenCalls(
  perSecond: number,
  clock: Pick<Clock, 'now'>,
  onRefused: () => void = () => {},
): UnprovenCalls {
  const rate = perSecond === 0 ? Infinity : perSecond;
  const calls = new TokenBuckets({ perSecond: rate, burst: rate * burstS });
  const refused = new TokenBuckets({ perSecond: rate, burst: rate * burstS });
  const open = new Map<string, number>();
  const each = ({ keys, share }: CallPayer, then: (key: string, share: number) => void): void => {
    for (const [level, key] of keys.entries()) then(key, share * times(level));
  };
  const add = (payer: CallPayer, by: number): void =>
    each(payer, (key) => {
      const count = (open.get(key) ?? 0) + by;
      if (count > 0) open.set(key, count);
      else open.delete(key);
    });
  const refuse = (payer: CallPayer, waitMs: number): PlatformError => {
    onRefused();
    each(payer, (key, share) => refused.charge(key, 1 / share, clock.now()));
    return new PlatformError('UNPROVEN_CALLS_EXCEEDED', {
      limit: perSecond * payer.share,
      retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)),
    });
  };
  return {
    begin(payer) {
      let waitMs = 0;
      each(payer, (key, share) => {
        waitMs = Math.max(waitMs, calls.waitMs(key, clock.now()));
        if (rate !== Infinity && (open.get(key) ?? 0) >= mostOpen * share ** 2) waitMs = Math.max(waitMs, 1);
      });
      if (waitMs > 0) return refuse(payer, waitMs);
      add(payer, 1);
      let isOver = false;
      const close = (cost: number): void => {
        if (isOver) return;
        isOver = true;
        add(payer, -1);
        if (cost > 0) each(payer, (key, share) => calls.charge(key, cost / share, clock.now()));
      };
      return { prove: () => close(0), end: () => close(1) };
    },
    isDeaf(payer) {
      let isOver = false;
      each(payer, (key) => (isOver ||= refused.waitMs(key, clock.now()) > 0));
      return isOver;
    },
  };
}
