import { PlatformError } from '@platform/contract/errors';
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

export function messageBudget(clock: Clock, most = 256 * 2 ** 20, ofCaller = most / 4 + 2 ** 20): MessageBudget {
  type Held = {
    caller: string;
    bytes: number;
    mark: { bytes: number; at: number };
    isComplete: boolean;
    evict(): void;
  };
  const leases = new Set<Held>();
  const callers = new Map<string, number>();
  const total = { bytes: 0 };
  const add = (held: Held, bytes: number): void => {
    held.bytes += bytes;
    total.bytes += bytes;
    const left = (callers.get(held.caller) ?? 0) + bytes;
    if (left > 0) callers.set(held.caller, left);
    else callers.delete(held.caller);
  };
  const fits = (held: Held, bytes: number): boolean =>
    total.bytes + bytes <= most && (callers.get(held.caller) ?? 0) + bytes <= ofCaller;
  /** Evicts other senders that hold room and send nothing. */
  const evictStalled = (held: Held): void => {
    for (const other of leases)
      if (other !== held && !other.isComplete && clock.now() - other.mark.at > slowest.ms) {
        drop(other);
        other.evict();
      }
  };
  const drop = (held: Held): void => {
    if (!leases.delete(held)) return;
    add(held, -held.bytes);
  };
  const wait = async (held: Held, bytes: number): Promise<void> => {
    for (const end = clock.now() + waitMs; !fits(held, bytes);) {
      evictStalled(held);
      if (fits(held, bytes)) break;
      if (clock.now() >= end || !leases.has(held))
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: 'too many bytes of large messages are being read' });
      await clock.sleep(stepMs);
    }
    if (leases.has(held)) add(held, bytes);
  };
  return {
    get bytes() {
      return total.bytes;
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
          if (!fits(held, due)) return wait(held, due);
          add(held, due);
          return undefined;
        },
        shrink(bytes) {
          seen.bytes -= bytes;
          held.mark.bytes = Math.min(held.mark.bytes, seen.bytes);
          if (leases.has(held)) add(held, -Math.min(bytes, held.bytes));
        },
        complete: () => void (held.isComplete = true),
        end: () => drop(held),
      };
    },
  };
}
