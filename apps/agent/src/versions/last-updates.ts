import type { Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import type { UpdateAttempt } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { updatesFile, type Program } from './layout.ts';

type Kept = Partial<Record<Program, UpdateAttempt>>;

/** The last update of each program. Stored, so that the agent reports its outcome after a restart. */
export class Attempts {
  readonly #disk: Disk;
  readonly #log: Log;
  #kept: Kept = {};

  private constructor(disk: Disk, log: Log) {
    this.#disk = disk;
    this.#log = log;
  }

  static async open(disk: Disk, log: Log): Promise<Attempts> {
    const attempts = new Attempts(disk, log);
    const { value, problem } = await readChecked(disk, updatesFile, (json) => {
      const kept = json as Kept;
      for (const attempt of Object.values(kept)) {
        if (typeof attempt.id !== 'string' || typeof attempt.at !== 'string') throw new Error('no attempt');
      }
      return kept;
    });
    if (problem !== undefined) log.warn('the record of the last updates is damaged', { problem });
    attempts.#kept = value ?? {};
    return attempts;
  }

  get(program: Program): UpdateAttempt | undefined {
    return this.#kept[program];
  }

  async set(program: Program, attempt: UpdateAttempt): Promise<void> {
    this.#kept = { ...this.#kept, [program]: attempt };
    await writeChecked(this.#disk, updatesFile, this.#kept).catch((error: unknown) =>
      this.#log.warn('the record of the last updates was not written', { error }),
    );
  }
}
