import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { AgentSilent, controlOf, NoAgentRuns } from '../control/client.ts';
import { readChanges } from '../install/changes.ts';
import { sayGoodbye } from '../install/goodbye.ts';
import { removeAll } from '../install/remove.ts';
import { system } from '../composition/system.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';

interface Given {
  config: string;
  root: string;
  keepCredentials: boolean;
  yes: boolean;
  json: boolean;
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

export async function uninstall(given: Given, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  if (process.platform === 'win32') {
    if (!given.yes) await agreed(root, given.keepCredentials ? undefined : path.resolve(given.config), io);
    return (await import('./windows-install.ts')).uninstallHere(given, io);
  }
  const changes = await readChanges(root);
  const credentialsFile = changes?.credentialsFile ?? path.resolve(given.config);
  if (!changes && !(await isThere(path.join(root, 'versions')))) {
    const nothing = `platform-agent is not installed in ${root}.`;
    io.out(given.json ? JSON.stringify({ is_changed: false, done: [], left: [] }) : nothing);
    return exitCodes.nothingToDo;
  }
  await access(root, constants.W_OK); // fail first: a user without write access would remove only a part
  const usesSystemd = await isThere('/run/systemd/system');
  await refuseWhileRunning(root, usesSystemd && changes !== undefined, io);
  if (!given.yes) await agreed(root, given.keepCredentials ? undefined : credentialsFile, io);

  const { done, left, isServerNotified } = await removeAll(
    {
      root,
      credentialsFile: given.keepCredentials ? undefined : credentialsFile,
      usesSystemd,
      sayGoodbye: () => sayGoodbye({ root, credentialsFile }, { system, clock: io.clock }),
    },
    system,
  );
  if (given.json) {
    io.out(JSON.stringify({ is_changed: done.length > 0, done, left, is_server_told: isServerNotified }));
  } else {
    for (const line of done) io.out(`  ${line}`);
    for (const line of left) io.note(line);
    if (!isServerNotified) io.note(serverNotNotified);
    io.out(
      left.length === 0 ? 'platform-agent is gone. Its lines in the journal stay.' : 'Something is left, see above.',
    );
  }
  return left.length === 0 ? exitCodes.done : exitCodes.failed;
}

export const serverNotNotified =
  'The management server could not be notified: the app shows this machine as offline until it is deleted there.';

/** An agent that systemd does not stop would create its folders again. */
async function refuseWhileRunning(root: string, isStoppedBySystemd: boolean, io: Io): Promise<void> {
  const status = await controlOf(root, io.clock)
    .status()
    .catch((error: unknown) => {
      if (error instanceof NoAgentRuns || error instanceof AgentSilent) return undefined;
      throw error;
    });
  if (!status || (isStoppedBySystemd && status.agent.is_supervised_by_systemd)) return;
  throw new Ended(exitCodes.refused, {
    code: 'AGENT_RUNNING',
    what: `An agent that systemd does not know of runs for ${root}, process ${status.agent.pid}.`,
    remedy: 'Stop it first.',
  });
}

async function agreed(root: string, credentialsFile: string | undefined, io: Io): Promise<void> {
  const also = credentialsFile === undefined ? '' : `, and its credentials ${credentialsFile}`;
  const question = `Remove platform-agent, the machine server with its data in ${root}${also}? [y/N] `;
  const answer = await io.ask(question);
  if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return;
  throw new Ended(exitCodes.refused, {
    code: 'NOT_CONFIRMED',
    what: answer === undefined ? 'There is no terminal to confirm on.' : 'Nothing was removed.',
    remedy: answer === undefined ? 'Use --yes.' : '',
  });
}
