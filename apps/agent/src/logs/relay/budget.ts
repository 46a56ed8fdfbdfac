import { logLimits } from '@platform/contract/logs/limits';

const { burstLines, burstBytes } = logLimits;
const linesPerMs = logLimits.linesPerSecond / 1000;
const bytesPerMs = logLimits.bytesPerSecond / 1000;

/** A token bucket for the output of a program, by lines and bytes; see logLimits for rates and bursts. */
export class Budget {
  #lines: number = burstLines;
  #bytes: number = burstBytes;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** False: the line exceeds the budget. */
  takeLine(bytes: number, now: number): boolean {
    const ms = now - this.#at;
    if (ms > 0) {
      this.#at = now;
      this.#lines = Math.min(burstLines, this.#lines + ms * linesPerMs);
      this.#bytes = Math.min(burstBytes, this.#bytes + ms * bytesPerMs);
    }
    if (this.#lines < 1 || this.#bytes < bytes) return false;
    this.#lines--;
    this.#bytes -= bytes;
    return true;
  }

  /** Returns how many of these lines, from the first, are within the budget. */
  take(lines: readonly string[], now: number): number {
    const refused = lines.findIndex((line) => !this.takeLine(line.length, now));
    return refused < 0 ? lines.length : refused;
  }
}
