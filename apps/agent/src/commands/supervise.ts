import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { shortestSecret } from '@platform/contract/config/secrets';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { createLog } from '@platform/kit';
import { lockFolder, onSignals, readText, spareLock, stderrSink, systemClock } from '@platform/kit/node';
import { candidateOf } from '../install/look.ts';
import { placeSelf } from '../install/place-self.ts';
import { startChild } from '../supervisor/child.ts';
import { superviseAgent } from '../supervisor/supervise.ts';
import { supervisionLimits } from '../supervisor/limits.ts';
import { machineBootId } from '../os/boot-id.ts';
import { system } from '../composition/system.ts';
import { windows } from '../composition/windows-calls.ts';
import { thisHost } from '../os/host.ts';
import { Mask } from '../logs/mask.ts';
import { programStore } from '../versions/program-store.ts';
import type { Io } from './command.ts';
import { checkExecutable } from './exec-check.ts';
import { exitCodes } from './exit-codes.ts';

interface Given {
  config: string;
  root: string;
}

/** Without systemd, as in a container: keeps the agent running and rolls failed versions back, until a signal. */
export async function supervise(given: Given, _io: Io): Promise<number> {
  const root = path.resolve(given.root);
  const clock = systemClock;
  const log = createLog({ name: 'keeper', clock, level: 'info', sink: stderrSink('text') });
  await checkExecutable(root);
  await mkdir(path.join(root, 'state'), { recursive: true });
  await using _lock = await lockFolder(path.join(root, 'state', 'keeper.lock'), {
    spare: await spareLock(root, 'keeper'),
  });
  const files = system.files(root);
  if ((await programStore(files, 'agent', { clock, log }).linked()) === null) {
    const source = system.files(path.dirname(process.execPath));
    const candidate = await candidateOf(process.execPath, thisHost().platform, system);
    const id = await placeSelf(candidate, { source, files, clock, log });
    log.info('this program was installed as the first version', { id });
  }
  const createJob = process.platform === 'win32' ? windows.createJob : undefined;
  const args = ['run', '--root', root, '--config', path.resolve(given.config)];
  await superviseAgent(
    {
      files,
      start: async (program, notify) => {
        await checkExecutable(root); // it may have been mounted again since
        const of = { cwd: root, watchdogMs: supervisionLimits.watchdog, output: 'inherit', createJob } as const;
        return startChild(path.join(root, program), args, of, notify);
      },
      mask: () => maskOf(path.resolve(given.config)),
      limits: supervisionLimits,
      boot: machineBootId(),
      clock,
      log,
    },
    onSignals(),
  );
  return exitCodes.done;
}

/** The agent does not mask what a crash writes. */
async function maskOf(credentialsFile: string): Promise<(text: string) => string> {
  const mask = new Mask();
  const credentials = parseCredentials(await readText(credentialsFile).catch(() => ''));
  if (credentials.ok && credentials.value.payload.length >= shortestSecret) mask.hide([credentials.value.payload]);
  return (text) => mask.text(text);
}
