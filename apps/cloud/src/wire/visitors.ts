import { LRUCache } from 'lru-cache';
import type { Clock, Log } from '@platform/kit';
import { isLoopbackAddress, networksOf } from './addresses.ts';

/** A connection, or a request through a proxy, and whether its caller is authenticated. */
export type Visitor = {
  readonly address: string;
  readonly isProven: boolean;
  /** ID of the authenticated caller; undefined: unproven. */
  readonly caller: string | undefined;
  /** The caller is authenticated. */
  prove(callerId: string): void;
  /**
   * Marks a request as running until `then` is called. Meanwhile the client waits for the server, unless it leaves the
   * response unread.
   */
  busy(isComplete: () => boolean, answer?: SentAnswer): () => void;
  leave(): void;
  /** Closes the connection or the request. */
  close(): void;
};

/** The state of a response to a visitor. */
export type SentAnswer = {
  /** Whether bytes wait because the client does not read. */
  isUnread(): boolean;
  /** Bytes that the client took, of this response or of its connection. */
  takenBytes(): number;
};

export type Visitors = {
  /** @param close - closes the visitor. @returns undefined: a limit is reached. */
  enter(address: string, close: () => void): Visitor | undefined;
  /** Whether a caller of this address was authenticated within a day. */
  isKnown(address: string): boolean;
  /** Totals since the start; `open` and `unproven` are current. */
  readonly counts: {
    readonly open: number;
    readonly unproven: number;
    readonly refused: number;
    readonly closed: number;
  };
  /** Ends with the signal. */
  watch(stop: AbortSignal): Promise<void>;
};

export type VisitorLimits = {
  /** Open at the same time, in total. */
  most: number;
  /** Unproven at the same time, per address or IPv6 /64; twice as many per /56, four times per /48. */
  ofAddress: number;
  /** Total time in which a visitor may be unproven, without the time that the server takes. */
  unprovenMs: number;
  /** Minimum reading rate of an unproven visitor: this many bytes in `ms`, and the whole response in `answerMs`. */
  slowest: { bytes: number; ms: number; answerMs: number };
};

/** Share of all connections that is kept for authenticated callers. */
const keptShare = 1 / 4;
/** Share of all connections that one caller may hold. */
const callerShare = 1 / 16;
/**
 * Share of all connections that may be unproven from one address with an authenticated caller: the machines of a whole
 * fleet may be behind it, but another address needs room, too.
 */
const knownShare = 1 / 2;
/**
 * A burst may briefly exceed the limit of its address. After a restart of the server, all machines of a site reconnect
 * at once.
 */
const burst = { ofAddress: 1_024, ms: 1_000 };
const stepMs = 1_000;
const rememberedAddresses = 100_000;
const rememberedMs = 24 * 3_600_000;

/**
 * 1 KiB/s. A second-generation mobile network is four times as fast, and downloads an agent of 50 MiB in four hours.
 */
const slowest = { bytes: 60 * 2 ** 10, ms: 60_000, answerMs: 6 * 3_600_000 } as const;
export const usualLimits = { ofAddress: 256, unprovenMs: 30_000, slowest } as const;

/** All open visitors, and what is remembered of earlier ones. */
type Register = {
  readonly limits: VisitorLimits;
  readonly clock: Clock;
  /** In order of arrival. */
  readonly unproven: Set<Entry>;
  readonly ofAddress: Map<string, number>;
  readonly ofCaller: Map<string, number>;
  /** When a caller of this address was last authenticated. */
  readonly proven: LRUCache<string, number>;
  readonly counts: { open: number; refused: number; closed: number };
};

class Entry implements Visitor {
  readonly address: string;
  readonly networks: readonly string[];
  readonly close: () => void;
  readonly came: number;
  since: number;
  caller: string | undefined;
  /** Requests that are not answered yet. */
  requests: Set<OpenRequest> | undefined;
  isSeen = false;
  #hasLeft = false;
  readonly #register: Register;

  constructor(register: Register, address: string, close: () => void) {
    this.#register = register;
    this.address = address;
    this.networks = networksOf(address);
    this.close = close;
    this.came = register.clock.now();
    this.since = this.came;
    register.unproven.add(this);
    for (const network of this.networks) add(register.ofAddress, network, 1);
    register.counts.open++;
  }
  get isProven(): boolean {
    return this.caller !== undefined;
  }
  get isOurTurn(): boolean {
    for (const { isComplete } of this.requests ?? []) if (isComplete()) return true;
    return false;
  }
  /** Whether it reads a response below the minimum rate of unproven visitors. */
  isTooSlow(now: number): boolean {
    let isSlow = false;
    const { slowest: least } = this.#register.limits;
    for (const one of this.requests ?? []) if (readsTooSlowly(one, least, now)) isSlow = true;
    return isSlow;
  }
  prove(callerId: string): void {
    const { ofCaller, limits, proven, clock } = this.#register;
    if (this.isProven || this.#hasLeft) return;
    if ((ofCaller.get(callerId) ?? 0) >= Math.max(1, limits.most * callerShare)) return;
    this.caller = callerId;
    this.requests = undefined;
    add(ofCaller, callerId, 1);
    for (const network of this.networks) proven.set(network, clock.now());
    this.#forgetUnproven();
  }
  busy(isComplete: () => boolean, answer?: SentAnswer): () => void {
    if (this.isProven) return () => {};
    const request: OpenRequest = { isComplete, answer, began: undefined, mark: undefined };
    this.requests ??= new Set();
    this.requests.add(request);
    return () => {
      this.requests?.delete(request);
      this.since = this.#register.clock.now();
    };
  }
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#register.counts.open--;
    if (this.caller === undefined) this.#forgetUnproven();
    else add(this.#register.ofCaller, this.caller, -1);
  }
  #forgetUnproven(): void {
    if (!this.#register.unproven.delete(this)) return;
    for (const network of this.networks) add(this.#register.ofAddress, network, -1);
  }
}

/** Limit of a network: a wider one has more, but not as many times as it has narrower ones. */
const times = (level: number): number => 2 ** level;

const isKnownTo = ({ proven, clock }: Register, networks: readonly string[]): boolean =>
  networks.some((network) => clock.now() - (proven.get(network) ?? Number.NEGATIVE_INFINITY) < rememberedMs);

function hasRoom(register: Register, address: string): boolean {
  const { unproven, limits, ofAddress } = register;
  const networks = networksOf(address);
  const isKnown = isKnownTo(register, networks);
  if (!isKnown && unproven.size >= limits.most * (1 - keptShare)) return false;
  if (isLoopbackAddress(address)) return true;
  const most = (level: number): number =>
    isKnown ? limits.most * knownShare : Math.max(limits.ofAddress, burst.ofAddress) * times(level);
  return networks.every((network, level) => (ofAddress.get(network) ?? 0) < most(level));
}

/** Calls `end` with each unproven visitor that exceeds a limit. */
function closeOverdue({ unproven, limits, clock }: Register, end: (entry: Entry, why: string) => void): void {
  const waiting = new Map<string, number>();
  const now = clock.now();
  for (const entry of unproven) {
    if (entry.isTooSlow(now)) {
      end(entry, 'the answer was read too slowly');
      continue;
    }
    if (entry.isOurTurn) continue;
    for (const network of entry.networks) add(waiting, network, 1);
    const isBeyond = entry.networks.some(
      (network, level) => (waiting.get(network) ?? 0) > limits.ofAddress * times(level),
    );
    if (now - entry.since > limits.unprovenMs) end(entry, 'the client did not authenticate in time');
    // Two rounds passed, so the server has read what it sent.
    else if (isBeyond && entry.isSeen && now - entry.came > burst.ms) end(entry, 'too many of its address');
    else entry.isSeen = true;
  }
}

/** Prevents one address, or all unauthenticated clients together, from taking all connections. */
export function visitors(limits: VisitorLimits, clock: Clock, log: Log): Visitors {
  const counts = { open: 0, refused: 0, closed: 0 };
  const proven = new LRUCache<string, number>({ max: rememberedAddresses });
  const unproven = new Set<Entry>();
  const register: Register = { limits, clock, unproven, ofAddress: new Map(), ofCaller: new Map(), proven, counts };
  const end = (entry: Entry, why: string): void => {
    counts.closed++;
    log.debug('an unproven connection was closed', { address: entry.address, why });
    entry.leave();
    entry.close();
  };
  return {
    get counts() {
      return { ...counts, unproven: unproven.size };
    },
    isKnown: (address) => isKnownTo(register, networksOf(address)),
    enter(address, close) {
      if (!hasRoom(register, address)) {
        counts.refused++;
        log.debug('a connection was refused: too many are unproven', { address });
        return undefined;
      }
      return new Entry(register, address, close);
    },
    async watch(stop) {
      while (!stop.aborted) {
        await clock.sleep(Math.min(stepMs, limits.unprovenMs / 4), stop);
        if (!stop.aborted) closeOverdue(register, end);
      }
    },
  };
}

/** `began`: when the visitor first left something unread. `mark`: what it had taken then, or one span later. */
type OpenRequest = {
  isComplete: () => boolean;
  answer: SentAnswer | undefined;
  began: number | undefined;
  mark: { bytes: number; at: number } | undefined;
};

function readsTooSlowly(request: OpenRequest, least: VisitorLimits['slowest'], now: number): boolean {
  const { answer, mark } = request;
  if (!answer?.isUnread()) {
    request.mark = undefined;
    return false;
  }
  request.began ??= now;
  const bytes = answer.takenBytes();
  if (mark && now - mark.at >= least.ms && bytes - mark.bytes < least.bytes) return true;
  if (!mark || now - mark.at >= least.ms) request.mark = { bytes, at: now };
  return now - request.began > least.answerMs;
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
