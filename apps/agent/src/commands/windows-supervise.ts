import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createLog } from '@platform/kit';
import { lockFolder, systemClock } from '@platform/kit/node';
import { startChild } from '../supervisor/child.ts';
import { superviseAgent } from '../supervisor/supervise.ts';
import { supervisionLimits } from '../supervisor/limits.ts';
import { agentLog, serviceName } from '../install/windows-places.ts';
import { system } from '../composition/system.ts';
import { windows } from '../composition/windows.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

const lastWordMs = 500;

/** Started by the service manager of Windows: keeps the agent running and rolls failed versions back. */
export async function superviseOnWindows(given: { config: string; root: string }, _io: Io): Promise<number> {
  const root = path.resolve(given.root);
  const manager = await windows.startedService(serviceName);
  const clock = systemClock;
  await mkdir(path.join(root, 'state'), { recursive: true });
  const file = windows.openLog(path.join(root, agentLog));
  const log = createLog({ name: 'keeper', clock, level: 'info', sink: file.sink });
  try {
    await using _lock = await lockFolder(path.join(root, 'state', 'keeper.lock'));
    manager.tell('running');
    const args = ['run', '--root', root, '--config', path.resolve(given.config)];
    const watchdogMs = supervisionLimits.watchdog;
    await superviseAgent(
      {
        files: system.files(root),
        start: (program, notify) =>
          startChild(
            path.join(root, program),
            args,
            { cwd: root, watchdogMs, output: file.forChild(), createJob: windows.createJob },
            notify,
          ),
        limits: supervisionLimits,
        boot: randomUUID(), // it starts with the machine, and lives as long
        clock,
        log,
        publish: ({ at }) => void (at === 'stopping' && manager.tell('stopping', supervisionLimits.stop)),
      },
      manager.stopped,
    );
  } catch (error) {
    log.error('the supervisor ends', { error });
    throw error;
  }
  manager.tell('stopped');
  await clock.sleep(lastWordMs); // the manager still checks a process that has reported its end
  return exitCodes.done;
}
