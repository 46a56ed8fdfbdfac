import { type Clock, errorText, type Log } from '@platform/kit';
import { audit } from './store/audit.ts';
import type { Database } from '../database/database.ts';

/** A failed sign-in. `orgId` and `subject` belong to the key or part, if one has this ID. */
export type FailedSignIn = { orgId: string | null; subject: string; credentials: string };

/**
 * Audits failed sign-ins: the first of a subject immediately, further ones as one entry with their count after an hour.
 */
export type FailedSignIns = {
  note(failed: FailedSignIn): void;
  /** Resolves at the end, when all entries are written. */
  done: Promise<void>;
};

const windowMs = 3_600_000;
/** Shorter than the window, so that neither a stop nor a test with a fake clock waits an hour. */
const lookMs = 60_000;

type Counted = FailedSignIn & { since: number; more: number };

/**
 * Values that callers invent never become a subject. So the number of entries is bounded by the existing keys and
 * parts.
 */
export function failedSignIns(
  { db, clock, log }: { db: Database; clock: Clock; log: Log },
  stop: AbortSignal,
): FailedSignIns {
  const counted = new Map<string, Counted>();
  const writing = new Set<Promise<void>>();
  const write = ({ orgId, subject, credentials }: FailedSignIn, count: number): void => {
    const entry = { orgId, actor: 'unknown', action: 'failed sign-in', subject, details: { credentials, count } };
    const written = audit(db, entry)
      .catch((error: unknown) => log.warn('a failed sign-in could not be audited', { error: errorText(error) }))
      .finally(() => writing.delete(written));
    writing.add(written);
  };
  const end = (key: string, { more, ...failed }: Counted): void => {
    counted.delete(key);
    if (more > 0) write(failed, more);
  };
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(lookMs, stop);
      for (const [key, one] of counted) if (clock.now() - one.since >= windowMs) end(key, one);
    }
    for (const [key, one] of counted) end(key, one);
    await Promise.all(writing);
  };
  return {
    note(failed) {
      const key = `${failed.credentials} ${failed.subject}`;
      const known = counted.get(key);
      if (known) return void known.more++;
      counted.set(key, { ...failed, since: clock.now(), more: 0 });
      write(failed, 1);
    },
    done: run(),
  };
}
