import { boundedCaller, boundedFields, cutText, logLimits } from '@platform/contract/logs/limits';
import { Cell, type Clock, type LogLine } from '@platform/kit';
import { Deduplicator } from './deduplicator.ts';
import type { Mask } from './mask.ts';
import type { Cursor } from './spool-record.ts';
import type { Spool } from './spool.ts';
import type { DeviceTime } from '../clock/device-time.ts';

/** Puts all lines into the spool: truncated, masked and deduplicated. */
export class SpoolWriter {
  readonly #parts: { spool: Spool; mask: Mask; time: DeviceTime; clock: Clock };
  readonly #deduplicator = new Deduplicator();
  readonly #held = new Cell(0);
  #isDeduplicating = true;

  constructor(parts: { spool: Spool; mask: Mask; time: DeviceTime; clock: Clock }) {
    this.#parts = parts;
  }

  /** Disabled: each repeated line is written. */
  setDeduplication(isEnabled: boolean): void {
    this.#isDeduplicating = isEnabled;
    if (!isEnabled) for (const line of this.#deduplicator.rest()) void this.#write(line);
  }

  /**
   * Resolves when the line, or the one that summarises it, is durable or dropped. `cursor`: the position of its source
   * after this line.
   */
  async enter(line: LogLine, cursor?: Cursor): Promise<void> {
    const { mask, clock, spool } = this.#parts;
    const shown = bounded(line, mask);
    const written = this.#isDeduplicating ? this.#deduplicator.take(shown, clock.now()) : [shown];
    if (!written.includes(shown)) this.#held.update((n) => n + 1);
    const stored = written.map((l) => this.#write(l, l === shown ? cursor : undefined));
    if (cursor && !written.includes(shown)) stored.push(spool.move(cursor));
    await Promise.all(stored);
  }

  /** Writes suppressed lines at the end of their minute. After `signal` it writes the rest and returns. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      const due = this.#deduplicator.nextDue;
      if (due === Infinity) {
        await this.#held.changed(signal);
        continue;
      }
      await clock.sleep(Math.max(0, due - clock.now()), signal);
      for (const line of this.#deduplicator.due(clock.now())) void this.#write(line);
    }
    for (const line of this.#deduplicator.rest()) void this.#write(line);
  }

  #write(line: LogLine, cursor?: Cursor): Promise<void> {
    const { spool, time } = this.#parts;
    return spool.append(line, { cursor, unsure: time.unsure() });
  }
}

/** Truncates the line to the limits and masks it. First cut, because masking takes time for each character. */
function bounded(line: LogLine, mask: Mask): LogLine {
  const { message, stack } = line;
  const short = {
    ...line,
    ...boundedParts(line),
    message: head(message),
    ...(stack !== undefined && { stack: head(stack) }),
  };
  const shown = mask.line(short);
  const again = (text: string, from: string, before: string): string =>
    cutText(text, undefined, from === before ? undefined : before.length);
  return {
    ...shown,
    ...boundedParts(shown),
    message: again(shown.message, short.message, message),
    ...(stack !== undefined && { stack: again(shown.stack ?? '', short.stack ?? '', stack) }),
  };
}

/** At most as many characters as there may be bytes, between two characters. */
const head = (text: string): string => text.slice(0, logLimits.messageBytes).replace(/[\ud800-\udbff]$/, '');

function boundedParts({ fields, caller }: LogLine): Pick<LogLine, 'fields' | 'caller'> {
  const [first] = boundedFields([fields]);
  return { fields: first ?? fields, ...(caller && { caller: boundedCaller(caller) }) };
}
