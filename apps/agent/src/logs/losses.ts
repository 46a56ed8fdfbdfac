import { droppedLinesField } from '@platform/contract/logs/marker';
import type { LogLine } from '@platform/kit';

/** Why lines were dropped, for users. */
export type LossReason = 'no room' | 'the disk takes nothing' | 'too many at once' | 'damaged' | 'refused';

interface Loss {
  lines: number;
  /** Times of the first and the last dropped line, ms since 1970. */
  from: number;
  to: number;
}

const message = 'log lines were dropped';

/** Counts dropped lines that are not yet reported. */
export class Losses {
  readonly #by = new Map<LossReason, Loss>();
  #total = 0;

  get isEmpty(): boolean {
    return this.#by.size === 0;
  }

  /** Lines that were dropped since this agent started. */
  get total(): number {
    return this.#total;
  }

  add(because: LossReason, lines: number, from: number, to: number): void {
    if (lines <= 0) return;
    this.#total += lines;
    this.#merge(because, { lines, from, to });
  }

  /** Counts a dropped line; for a marker, the lines that it reported. */
  addLine(because: LossReason, line: LogLine): void {
    const reported = markerOf(line);
    if (reported) this.#merge(because, reported);
    else this.add(because, 1, line.time, line.time);
  }

  /** Returns a line for each reason and resets the counts. `putBack` restores them. */
  take(): LogLine[] {
    const lines = [...this.#by].map(([because, loss]) => droppedLine(because, loss));
    this.#by.clear();
    return lines;
  }

  putBack(markers: readonly LogLine[]): void {
    for (const marker of markers) this.addLine(marker.fields['because'] as LossReason, marker);
  }

  #merge(because: LossReason, { lines, from, to }: Loss): void {
    const known = this.#by.get(because);
    this.#by.set(because, {
      lines: lines + (known?.lines ?? 0),
      from: Math.min(from, known?.from ?? from),
      to: Math.max(to, known?.to ?? to),
    });
  }
}

/** The line that reports dropped lines. */
export const droppedLine = (because: LossReason, { lines, from, to }: Loss): LogLine => ({
  time: to,
  level: 'warn',
  logger: 'agent.logs',
  message,
  fields: {
    [droppedLinesField]: lines,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    because,
  },
});

function markerOf(line: LogLine): Loss | undefined {
  const lines = line.message === message ? line.fields[droppedLinesField] : undefined;
  if (typeof lines !== 'number') return undefined;
  const at = (name: string): number => {
    const ms = Date.parse(String(line.fields[name]));
    return Number.isNaN(ms) ? line.time : ms;
  };
  return { lines, from: at('from'), to: at('to') };
}
