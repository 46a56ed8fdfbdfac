import path from 'node:path';
import { Cell, type Clock, type Log } from '@platform/kit';
import { lockFolder } from '@platform/kit/node';
import { fileDisk } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { operatorOf, type Operator } from './operator.ts';
import { readPins, type Pins } from './pins.ts';
import { programStore } from './program-store.ts';
import type { Program } from './layout.ts';

/** Requests of an operator that work while no agent runs, for example because it does not start. */
export type OperatorAtRest = Pick<Operator, 'rollback' | 'pin' | 'clearQuarantine'>;

/**
 * Changes the disk directly, with the folder locked against an agent that starts meanwhile. The next agent uses the
 * result.
 *
 * @throws FolderLocked if an agent runs.
 */
export async function atRest<T>(
  root: string,
  { files, clock, log }: { files: FileSystem; clock: Clock; log: Log },
  work: (operator: OperatorAtRest) => Promise<T>,
): Promise<T> {
  await using _lock = await lockFolder(path.join(root, 'state', 'agent.lock'));
  const disk = fileDisk(files);
  const store = (program: Program) => programStore(files, program, { clock, log });
  const stores = { agent: store('agent'), server: store('server') };
  const pins = new Cell<Pins>(await readPins(disk, log));
  const urgent = new Cell<Partial<Record<Program, string>>>({});
  const operator = operatorOf({ stores, disk, pins, urgent, again: () => {} });
  return work({
    ...operator,
    /** Switches at once, because no agent runs that could: the next start uses the previous version. */
    async rollback(program) {
      const done = await operator.rollback(program);
      const to = urgent.get()[program];
      if (to !== undefined) await stores[program].activate(to, { clearance: 0, needs: 'local' });
      return done;
    },
  });
}
