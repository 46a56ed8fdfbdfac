import type { Clock } from '../../clock.ts';
import { isCertificateError } from './certificate-error.ts';
import type { VerifiedChain } from './chain.ts';
import { authoritiesFor, type TrustedAuthority, trustingFetch } from './trusting-fetch.ts';

/** What is known of the time, and who hears more of it. */
export interface ClockEvidence {
  clock: Pick<Clock, 'now' | 'wall'>;
  /** ms since 1970, in the past for certain. */
  floor: () => number | Promise<number>;
  /** A time server sets the clock of this machine. */
  isSynchronized: () => Promise<boolean>;
  /**
   * A server that proved who it is says that it is this late, ms since 1970; never more than its certificate allows.
   *
   * @param isClockRefuted - its certificate does not hold at the time of this machine's clock.
   */
  proven: (time: number, isClockRefuted: boolean) => void;
}

export interface TolerantFetchParts extends ClockEvidence {
  env: Readonly<Record<string, string | undefined>>;
  /** Beside the runtime's own. */
  trusted?: TrustedAuthority | undefined;
  /** The runtime's own. */
  fetch?: typeof fetch;
}

const askSynchronizedMs = 60_000;
const mostOrigins = 16;
/** So much a clock may be set back by hand. */
const slackMs = 3_600_000;

/**
 * A fetch that reaches a server by https on a machine whose clock is wrong. A clock that a time server sets decides alone. Else,
 * when it lies before the floor, or when the dates of certificates are what the runtime refuses, the certificates are verified
 * at the time max(floor, latest notBefore) on a connection of our own, before anything is sent.
 */
export function clockTolerantFetch(of: TolerantFetchParts): typeof fetch {
  const { clock, env, fetch: plain = fetch, trusted, proven } = of;
  const send = trusted ? trustingFetch(trusted, plain) : plain;
  /** Origins of which the dates did not hold by the system's clock, with the time in which they would. */
  const outside = new Map<string, { from: number; until: number }>();
  const synchronized = { is: false, at: -Infinity };
  const isSynchronized = async (): Promise<boolean> => {
    if (clock.now() - synchronized.at >= askSynchronizedMs) {
      Object.assign(synchronized, { is: await of.isSynchronized(), at: clock.now() });
    }
    return synchronized.is;
  };
  const isWithin = ({ from, until }: { from: number; until: number }): boolean =>
    clock.wall() >= from && clock.wall() <= until;

  const verified = async (request: Request, floor: number, judge: (chain: VerifiedChain) => void) => {
    const { fetchVerified } = await import('./verified-fetch.ts');
    const found: { chain?: VerifiedChain } = {};
    const answer = await fetchVerified(request, {
      floor,
      env,
      authorities: authoritiesFor(trusted, new URL(request.url).origin),
      judge: (chain) => {
        judge(chain);
        found.chain = chain;
      },
    });
    const { time, until } = found.chain!;
    const date = dateOf(answer);
    proven(date >= time && date <= until ? date : time, clock.wall() < floor - slackMs || !isWithin(found.chain!));
    return { answer, chain: found.chain! };
  };

  return async (input, init) => {
    const { origin, protocol } = new URL(input instanceof Request ? input.url : String(input));
    if (protocol !== 'https:') return send(input, init);
    const isGivenUp = (): boolean =>
      (init?.signal ?? (input instanceof Request ? input.signal : null))?.aborted === true;
    const floor = await of.floor();
    const known = outside.get(origin);
    const isBefore = clock.wall() < floor - slackMs;
    if ((isBefore || (known && !isWithin(known))) && !(await isSynchronized())) {
      return (await verified(new Request(input, init), floor, () => {})).answer;
    }
    outside.delete(origin);
    try {
      const answer = await send(input, init);
      // Of both the earlier: the certificates held at the one, and so nobody's clock leads far into the future.
      const date = dateOf(answer);
      if (!Number.isNaN(date)) proven(Math.min(date, clock.wall()), false);
      return answer;
    } catch (error) {
      if (isGivenUp() || !isCertificateError(error) || (await isSynchronized())) throw error;
      const { answer, chain } = await verified(new Request(input, init), floor, (found) => {
        // Then the runtime refuses it for something else.
        if (isWithin(found)) throw error;
      }).catch(() => Promise.reject(error as Error));
      if (outside.size >= mostOrigins) outside.clear();
      outside.set(origin, { from: chain.from, until: chain.until });
      return answer;
    }
  };
}

const dateOf = (answer: Response): number => Date.parse(answer.headers.get('date') ?? '');
