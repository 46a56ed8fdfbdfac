import { logLimits } from '@platform/contract/logs/limits';
import { Cell, type Clock } from '@platform/kit';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';

/** The condition clears after this time without a dropped line. */
const quietMs = 5 * 60_000;

/**
 * The condition of a machine server that exceeds the log limits. It clears when nothing was dropped for five minutes.
 */
export class Floods {
  readonly #parts: { conditions: ConditionSet; clock: Clock };
  /** ms of the monotonic clock. */
  readonly #until = new Cell(0);

  constructor(parts: { conditions: ConditionSet; clock: Clock }) {
    this.#parts = parts;
  }

  /** Sets the condition: lines were dropped because of the rate limit. */
  seen(): void {
    const { conditions, clock } = this.#parts;
    const { linesPerSecond, bytesPerSecond } = logLimits;
    const limits = { linesPerSecond, kilobytesPerSecond: bytesPerSecond / 1000 };
    setCondition(conditions, 'SERVER_FLOODS', limits, { sinceWall: clock.wall() });
    this.#until.set(clock.now() + quietMs);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { conditions, clock } = this.#parts;
    while (!signal.aborted) {
      const until = this.#until.get();
      if (until === 0) await this.#until.changed(signal);
      else if (until > clock.now()) await clock.sleep(until - clock.now(), signal);
      else {
        clearCondition(conditions, 'SERVER_FLOODS');
        this.#until.set(0);
      }
    }
  }
}
