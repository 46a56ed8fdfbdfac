import type { Log } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import type { ExitReport } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { exitsFile, type Program } from './layout.ts';
import { isSameContent } from '../state/trial-file.ts';

interface Kept extends ExitReport {
  program: Program;
}

const mostKept = 10;

/** How versions that failed their trial ended. Stored, so that the reason for a quarantine survives a restart. */
export class Exits {
  readonly #disk: Disk;
  readonly #log: Log;
  #kept: readonly Kept[] = [];

  private constructor(disk: Disk, log: Log) {
    this.#disk = disk;
    this.#log = log;
  }

  static async open(disk: Disk, log: Log): Promise<Exits> {
    const exits = new Exits(disk, log);
    const { value, problem } = await readChecked(disk, exitsFile, (json) => (json as unknown[]).map(keptOf));
    if (problem !== undefined) log.warn('the record of how versions ended is damaged', { problem });
    exits.#kept = value ?? [];
    return exits;
  }

  get(program: Program, id: string): ExitReport | undefined {
    const found = this.#kept.findLast((one) => one.program === program && isSameContent(one.id, id));
    return found && { id: found.id, reason: found.reason, lines: found.lines, sinceWall: found.sinceWall };
  }

  async set(program: Program, id: string, exit: ExitReport): Promise<void> {
    const others = this.#kept.filter((one) => one.program !== program || !isSameContent(one.id, id));
    this.#kept = [...others, { program, ...exit, id }].slice(-mostKept);
    await writeChecked(this.#disk, exitsFile, this.#kept).catch((error: unknown) =>
      this.#log.warn('how a version ended was not written', { error }),
    );
  }
}

function keptOf(json: unknown): Kept {
  const { program, id, reason, lines, sinceWall } = json as Partial<Record<keyof Kept, unknown>>;
  if ((program !== 'agent' && program !== 'server') || typeof id !== 'string' || !Number.isFinite(sinceWall))
    throw new Error('no exit');
  return {
    program,
    id,
    reason: String(reason),
    lines: Array.isArray(lines) ? lines.map(String) : [],
    sinceWall: Number(sinceWall),
  };
}
