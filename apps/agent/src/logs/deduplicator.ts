import type { LogLine } from '@platform/kit';

/** Lines of one text per minute; further ones are only counted. */
const freeLines = 3;
/** Length of one window. */
export const windowMs = 60_000;
const mostTexts = 500;
/** Longer texts are not deduplicated. */
const longestText = 2_000;

interface Repeated {
  last: LogLine;
  /** ms of the monotonic clock. */
  until: number;
  seen: number;
  held: number;
}

/**
 * Deduplicates repeated lines. Beyond three in a minute, one line with the field `repeated` replaces the rest at its
 * end. Two lines are equal if everything except their time is.
 */
export class Deduplicator {
  readonly #texts = new Map<string, Repeated>();

  /** Returns the lines to write, given this new line. */
  take(line: LogLine, now: number): LogLine[] {
    const written = this.due(now);
    const key = `${line.level} ${line.logger} ${line.message} ${JSON.stringify([line.fields, line.caller, line.stack])}`;
    if (key.length > longestText) return [...written, line];
    const known = this.#texts.get(key);
    if (!known) {
      if (this.#texts.size >= mostTexts) written.push(...this.#forgetOldest());
      this.#texts.set(key, { last: line, until: now + windowMs, seen: 1, held: 0 });
      return [...written, line];
    }
    known.last = line;
    if (++known.seen <= freeLines) return [...written, line];
    known.held++;
    return written;
  }

  /** When suppressed lines are due, ms of the monotonic clock; Infinity: there are none. */
  get nextDue(): number {
    let next = Infinity;
    for (const { held, until } of this.#texts.values()) if (held > 0) next = Math.min(next, until);
    return next;
  }

  /** Returns the lines that summarise what was suppressed until now. */
  due(now: number): LogLine[] {
    const written: LogLine[] = [];
    for (const [key, repeated] of this.#texts) {
      if (repeated.until > now) continue;
      if (repeated.held === 0) {
        this.#texts.delete(key);
        continue;
      }
      written.push(summary(repeated));
      repeated.until = now + windowMs; // while it continues, one line a minute
      repeated.held = 0;
    }
    return written;
  }

  /** Summarises everything suppressed, at the end or when deduplication is disabled. */
  rest(): LogLine[] {
    const written = [...this.#texts.values()].filter(({ held }) => held > 0).map(summary);
    this.#texts.clear();
    return written;
  }

  #forgetOldest(): LogLine[] {
    const [key, oldest] = this.#texts.entries().next().value ?? ['', undefined];
    this.#texts.delete(key);
    return oldest && oldest.held > 0 ? [summary(oldest)] : [];
  }
}

const summary = ({ last, held }: Repeated): LogLine => ({ ...last, fields: { ...last.fields, repeated: held } });
