import type { LogLine } from '@platform/kit';

const minuteMs = 60_000;
/** Per minute, for one text and in total: a loop out of control must neither fill the disk nor hide other lines. */
const mostOfText = 60;
const mostInAll = 600;

/** Rate-limits the agent's own debug lines. Dropped lines are counted and reported with the next line. */
export class DebugBudget {
  #began = -Infinity;
  #all = 0;
  readonly #texts = new Map<string, number>();
  #leftOut = 0;

  /** Returns the lines to write, given this new line. */
  take(line: LogLine, now: number): LogLine[] {
    if (line.level !== 'debug') return [line];
    const lines: LogLine[] = [];
    if (now - this.#began >= minuteMs) {
      if (this.#leftOut > 0)
        lines.push({ ...line, message: 'debug lines were left out', fields: { lines: this.#leftOut } });
      this.#began = now;
      this.#all = 0;
      this.#leftOut = 0;
      this.#texts.clear();
    }
    const text = `${line.logger} ${line.message} ${JSON.stringify(line.fields['by'] ?? line.fields['route'] ?? '')}`;
    const ofText = (this.#texts.get(text) ?? 0) + 1;
    if (ofText > mostOfText || this.#all >= mostInAll) {
      this.#leftOut++;
      return lines;
    }
    this.#texts.set(text, ofText);
    this.#all++;
    return [...lines, line];
  }
}
