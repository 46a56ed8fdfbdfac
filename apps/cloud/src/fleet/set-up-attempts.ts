import { type ErrorCode, PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { type Rate, TokenBuckets } from '../access/rules/token-buckets.ts';

/** Wrong codes. A user mistypes a few times; the agent does not repeat a wrong code. */
const ofNetwork: Rate = { perSecond: 1 / 60, burst: 10 };
/** All networks together: 86,400 guesses a day at 78 billion codes. */
const ofAll: Rate = { perSecond: 1, burst: 60 };
/** Letters that an attempt beyond these limits is counted by: 12,167 combinations. */
const startLetters = 3;
/** 80 guesses a day at the 6.4 million codes with one start: a code is found with a probability of 1 to 80,000. */
const ofStart: Rate = { perSecond: 1 / 1_440, burst: 20 };

const mostBuckets = 100_000;

type Attempt = {
  /** The code was right: it costs nothing. */
  payBack(): void;
};

type Refusal = Extract<ErrorCode, 'SET_UP_CODES_LIMITED' | 'INSTALL_KEYS_LIMITED'>;

/**
 * Limits wrong set-up codes, and wrong one-time keys by their IDs. Beyond the limits of its network and of all, an attempt counts by the start of its code
 * instead: so wrong codes keep a right one from its turn only if they have the same start.
 */
export class SetUpAttempts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #networks = new TokenBuckets(ofNetwork, mostBuckets, 1);
  readonly #all = new TokenBuckets(ofAll, mostBuckets, 1);
  readonly #starts = new TokenBuckets(ofStart, mostBuckets, 1);

  readonly #refusal: Refusal;

  constructor(clock: Pick<Clock, 'now'>, refusal: Refusal = 'SET_UP_CODES_LIMITED') {
    this.#clock = clock;
    this.#refusal = refusal;
  }

  /**
   * Pays first, so that attempts at the same time cannot exceed the limit.
   *
   * @param networks - of the address, narrowest first. A wider one has twice as many attempts.
   * @throws PlatformError SET_UP_CODES_LIMITED, or the other refusal
   */
  begin(code: string, networks: readonly string[]): Attempt {
    const now = this.#clock.now();
    const waitMs = Math.max(this.#all.waitMs('', now), ...networks.map((one) => this.#networks.waitMs(one, now)));
    if (waitMs === 0) return this.#paid((amount) => this.#payUsual(networks, amount));
    const start = code.slice(0, startLetters);
    const startMs = this.#starts.waitMs(start, now);
    if (startMs === 0) return this.#paid((amount) => this.#starts.charge(start, amount, this.#clock.now()));
    throw new PlatformError(this.#refusal, { retryAfterS: Math.ceil(Math.min(waitMs, startMs) / 1_000) });
  }

  #paid(charge: (amount: number) => void): Attempt {
    charge(1);
    return { payBack: () => charge(-1) };
  }

  #payUsual(networks: readonly string[], amount: number): void {
    const now = this.#clock.now();
    this.#all.charge('', amount, now);
    for (const [level, network] of networks.entries()) this.#networks.charge(network, amount / 2 ** level, now);
  }
}
