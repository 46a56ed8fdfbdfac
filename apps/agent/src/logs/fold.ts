import type { LogLine } from '@platform/kit';

/** Of one text in one minute; more are counted instead. */
const freeLines = 3;
export const foldMs = 60_000;
const mostTexts = 500;
/** Longer texts pass as they are. */
const longestText = 2_000;

interface Repeated {
  last: LogLine;
  /** ms of the monotonic clock. */
  until: number;
  seen: number;
  held: number;
}

/**
 * Holds back lines that say the same again and again: of more than three in a minute the rest become one line at its end,
 * with the field `repeated`. Two lines are the same when all but their time is.
 */
export class Fold {
  readonly #texts = new Map<string, Repeated>();

  /** What is to be written now that this line has come. */
  take(line: LogLine, now: number): LogLine[] {
    const written = this.due(now);
    const key = `${line.level} ${line.logger} ${line.message} ${JSON.stringify([line.fields, line.caller, line.stack])}`;
    if (key.length > longestText) return [...written, line];
    const known = this.#texts.get(key);
    if (!known) {
      if (this.#texts.size >= mostTexts) written.push(...this.#forgetOldest());
      this.#texts.set(key, { last: line, until: now + foldMs, seen: 1, held: 0 });
      return [...written, line];
    }
    known.last = line;
    if (++known.seen <= freeLines) return [...written, line];
    known.held++;
    return written;
  }

  /** When lines will be due that are held back now, ms of the monotonic clock; Infinity: none are. */
  get nextDue(): number {
    let next = Infinity;
    for (const { held, until } of this.#texts.values()) if (held > 0) next = Math.min(next, until);
    return next;
  }

  /** What stands for the lines that were held back until now. */
  due(now: number): LogLine[] {
    const written: LogLine[] = [];
    for (const [key, repeated] of this.#texts) {
      if (repeated.until > now) continue;
      if (repeated.held === 0) {
        this.#texts.delete(key);
        continue;
      }
      written.push(summary(repeated));
      repeated.until = now + foldMs; // while it goes on, one line a minute
      repeated.held = 0;
    }
    return written;
  }

  /** Everything that is held back, at the end or when folding is switched off. */
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
