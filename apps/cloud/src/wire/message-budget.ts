import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';

/** Limits the bytes of messages in memory, over all calls. */
export type MessageBudget = {
  /** Lease of one call. @param caller - read when the first byte counts; each caller is limited to a share. */
  lease(caller: () => string, onEvict: () => void): Lease;
  /** Bytes held now. */
  readonly bytes: number;
};

export type Lease = {
  /** Adds received bytes. Waits briefly if the budget is exhausted. @throws PlatformError TOO_MANY_REQUESTS */
  grow(bytes: number): Promise<void> | undefined;
  shrink(bytes: number): void;
  /** The message is complete: only the server still works on it, so it is not evicted. */
  complete(): void;
  end(): void;
};

/** Bytes of a call that do not count, to save the bookkeeping for small messages. */
const freeBytes = 16 * 2 ** 10;
const waitMs = 2_000;
const stepMs = 100;
/** A sender below this rate is evicted when another one needs room. */
const slowest = { bytes: 64 * 2 ** 10, ms: 5_000 };

type Held = {
  caller: string;
  bytes: number;
  mark: { bytes: number; at: number };
  isComplete: boolean;
  evict(): void;
};

/** The bytes in use; `most` and `mostOfCaller` limit them. */
type Usage = {
  readonly most: number;
  readonly mostOfCaller: number;
  readonly leases: Set<Held>;
  readonly callers: Map<string, number>;
  bytes: number;
};

function add(usage: Usage, held: Held, bytes: number): void {
  held.bytes += bytes;
  usage.bytes += bytes;
  const left = (usage.callers.get(held.caller) ?? 0) + bytes;
  if (left > 0) usage.callers.set(held.caller, left);
  else usage.callers.delete(held.caller);
}

const fits = (usage: Usage, held: Held, bytes: number): boolean =>
  usage.bytes + bytes <= usage.most && (usage.callers.get(held.caller) ?? 0) + bytes <= usage.mostOfCaller;

function drop(usage: Usage, held: Held): void {
  if (!usage.leases.delete(held)) return;
  add(usage, held, -held.bytes);
}

/** Evicts other senders that hold room and send nothing. */
function evictStalled(usage: Usage, held: Held, now: number): void {
  for (const other of usage.leases)
    if (other !== held && !other.isComplete && now - other.mark.at > slowest.ms) {
      drop(usage, other);
      other.evict();
    }
}

async function waitForRoom(usage: Usage, held: Held, bytes: number, clock: Clock): Promise<void> {
  for (const end = clock.now() + waitMs; !fits(usage, held, bytes);) {
    evictStalled(usage, held, clock.now());
    if (fits(usage, held, bytes)) break;
    if (clock.now() >= end || !usage.leases.has(held))
      throw new PlatformError('TOO_MANY_REQUESTS', { limit: 'too many bytes of large messages are being read' });
    await clock.sleep(stepMs);
  }
  if (usage.leases.has(held)) add(usage, held, bytes);
}

export function messageBudget(clock: Clock, most = 256 * 2 ** 20, mostOfCaller = most / 4 + 2 ** 20): MessageBudget {
  const usage: Usage = { most, mostOfCaller, leases: new Set(), callers: new Map(), bytes: 0 };
  const { leases } = usage;
  return {
    get bytes() {
      return usage.bytes;
    },
    lease(caller, onEvict) {
      const held: Held = {
        caller: '',
        bytes: 0,
        mark: { bytes: 0, at: clock.now() },
        isComplete: false,
        evict: onEvict,
      };
      const seen = { bytes: 0 };
      return {
        grow(bytes) {
          seen.bytes += bytes;
          if (seen.bytes <= freeBytes) return undefined;
          // The bytes that were free until now count, too.
          const due = leases.has(held) ? bytes : seen.bytes;
          if (!leases.has(held)) Object.assign(held, { caller: caller() });
          leases.add(held);
          if (seen.bytes - held.mark.bytes >= slowest.bytes) held.mark = { bytes: seen.bytes, at: clock.now() };
          if (!fits(usage, held, due)) return waitForRoom(usage, held, due, clock);
          add(usage, held, due);
          return undefined;
        },
        shrink(bytes) {
          seen.bytes -= bytes;
          held.mark.bytes = Math.min(held.mark.bytes, seen.bytes);
          if (leases.has(held)) add(usage, held, -Math.min(bytes, held.bytes));
        },
        complete: () => void (held.isComplete = true),
        end: () => drop(usage, held),
      };
    },
  };
}
