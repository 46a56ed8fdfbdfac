import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createLog, type Sink } from '@platform/kit';
import { formatLine, lockFolder, systemClock } from '@platform/kit/node';
import { startChild } from '../supervisor/child.ts';
import { eventIds, warningsAsEvents } from '../supervisor/event-log.ts';
import { superviseAgent } from '../supervisor/supervise.ts';
import { supervisionLimits } from '../supervisor/limits.ts';
import { agentLog, serviceName } from '../install/windows-places.ts';
import { system } from '../composition/system.ts';
import { windows } from '../composition/windows-calls.ts';
import type { WindowsEvent } from '../os/windows-ports.ts';
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
  const events = eventLog();
  const toEvents = warningsAsEvents(events.write, { format: (line) => formatLine(line, 'text'), clock });
  const sink: Sink = (line) => {
    file.sink(line);
    toEvents(line);
  };
  const log = createLog({ name: 'keeper', clock, level: 'info', sink });
  try {
    await using _lock = await lockFolder(path.join(root, 'state', 'keeper.lock'));
    manager.tell('running');
    events.write({ type: 'info', id: eventIds.started, text: `The service has started in ${root}.` });
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
        boot: randomUUID(), // a power cut ends this process and its agent; so does what kills this process
        clock,
        log,
        publish: ({ at }) => void (at === 'stopping' && manager.tell('stopping', supervisionLimits.stop)),
      },
      manager.stopped,
    );
  } catch (error) {
    log.error('the supervisor ends', { error });
    await events.flushed();
    throw error;
  }
  events.write({ type: 'info', id: eventIds.stopped, text: 'The service has stopped.' });
  await events.flushed();
  manager.tell('stopped');
  await clock.sleep(lastWordMs); // the manager still checks a process that has reported its end
  return exitCodes.done;
}

/** Writes to the event log one entry after the other. A failure is ignored: the log file has the same lines. */
function eventLog() {
  let last: Promise<unknown> = Promise.resolve();
  return {
    write(event: WindowsEvent): void {
      last = last.then(() => windows.reportEvent(serviceName, event)).catch(() => undefined);
    },
    flushed: () => last,
  };
}
