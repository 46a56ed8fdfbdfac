import type { Clock } from '../../clock.ts';
import { isCertificateError } from './certificate-error.ts';
import type { VerifiedChain } from './chain.ts';
import { authoritiesFor, type TrustedAuthority, trustingFetch } from './trusting-fetch.ts';

/** What is known of the time, and the callback for new evidence. */
export interface ClockEvidence {
  clock: Pick<Clock, 'now' | 'wall'>;
  /** ms since 1970, certainly in the past. */
  floor: () => number | Promise<number>;
  /** Whether a time server synchronizes the clock of this machine. */
  isSynchronized: () => Promise<boolean>;
  /**
   * Called with the time of a server with valid certificates, ms since 1970; never later than its certificate allows.
   *
   * @param isClockRefuted - its certificate is not valid at the time of this machine's clock.
   */
  proven: (time: number, isClockRefuted: boolean) => void;
}

export interface TolerantFetchOptions extends ClockEvidence {
  env: Readonly<Record<string, string | undefined>>;
  /** In addition to the runtime's own CAs. */
  trusted?: TrustedAuthority | undefined;
  /** Default: the runtime's fetch. */
  fetch?: typeof fetch;
}

const synchronizedCacheMs = 60_000;
const mostOrigins = 16;
/** How far an operator may set a clock back. */
const slackMs = 3_600_000;

/** Validity period of certificates, ms since 1970. */
interface Validity {
  readonly from: number;
  readonly until: number;
}

/**
 * A fetch that reaches an https server even if the clock of this machine is wrong. A synchronized clock alone decides.
 * Otherwise there are two cases: the clock lies before the floor, or the runtime refuses a certificate. Then this code
 * verifies the certificates at the time max(floor, latest notBefore), on its own connection, before it sends anything.
 */
export function clockTolerantFetch(options: TolerantFetchOptions): typeof fetch {
  const { clock, fetch: plain = fetch, trusted, proven } = options;
  const send = trusted ? trustingFetch(trusted, plain) : plain;
  /** Origins whose certificates are not valid at the system's time. */
  const outside = new Map<string, Validity>();
  const isSynchronized = cachedFor(synchronizedCacheMs, clock, options.isSynchronized);
  const isWithin = ({ from, until }: Validity): boolean => clock.wall() >= from && clock.wall() <= until;

  return async (input, init) => {
    const { origin, protocol } = new URL(input instanceof Request ? input.url : String(input));
    if (protocol !== 'https:') return send(input, init);
    const isAborted = (): boolean =>
      (init?.signal ?? (input instanceof Request ? input.signal : null))?.aborted === true;
    const floor = await options.floor();
    const known = outside.get(origin);
    const isBefore = clock.wall() < floor - slackMs;
    if ((isBefore || (known && !isWithin(known))) && !(await isSynchronized())) {
      return (await fetchAtProvenTime(options, new Request(input, init), floor, () => {})).answer;
    }
    outside.delete(origin);
    try {
      const answer = await send(input, init);
      // Take the earlier one: the certificates are valid at the system's time, so no server can move the time far
      // ahead.
      const date = dateOf(answer);
      if (!Number.isNaN(date)) proven(Math.min(date, clock.wall()), false);
      return answer;
    } catch (error) {
      if (isAborted() || !isCertificateError(error) || (await isSynchronized())) throw error;
      const { answer, chain } = await fetchAtProvenTime(options, new Request(input, init), floor, (found) => {
        // The dates are valid now, so the runtime refuses it for another reason.
        if (isWithin(found)) throw error;
      }).catch(() => Promise.reject(error as Error));
      if (outside.size >= mostOrigins) outside.clear();
      outside.set(origin, { from: chain.from, until: chain.until });
      return answer;
    }
  };
}

/** Verifies the certificates by our own code, sends the request, and reports the time that the server proved. */
async function fetchAtProvenTime(
  { clock, env, trusted, proven }: TolerantFetchOptions,
  request: Request,
  floor: number,
  checkChain: (chain: VerifiedChain) => void,
): Promise<{ answer: Response; chain: VerifiedChain }> {
  const { fetchVerified } = await import('./verified-fetch.ts');
  const found: { chain?: VerifiedChain } = {};
  const answer = await fetchVerified(request, {
    floor,
    env,
    authorities: authoritiesFor(trusted, new URL(request.url).origin),
    checkChain: (chain) => {
      checkChain(chain);
      found.chain = chain;
    },
  });
  const chain = found.chain!;
  const date = dateOf(answer);
  const isClockRefuted = clock.wall() < floor - slackMs || clock.wall() < chain.from || clock.wall() > chain.until;
  proven(date >= chain.time && date <= chain.until ? date : chain.time, isClockRefuted);
  return { answer, chain };
}

/** Calls `read` again only after `ms`. */
function cachedFor<T>(ms: number, clock: Pick<Clock, 'now'>, read: () => Promise<T>): () => Promise<T> {
  let cached: { value: T; at: number } | undefined;
  return async () => {
    if (cached === undefined || clock.now() - cached.at >= ms) cached = { value: await read(), at: clock.now() };
    return cached.value;
  };
}

const dateOf = (answer: Response): number => Date.parse(answer.headers.get('date') ?? '');
