import { spawn } from 'node:child_process';
import path from 'node:path';
import { onSignals, Usage } from '@platform/kit/node';
import { stderrFile, stdoutFile } from '../server/watch.ts';
import { system } from '../composition/system.ts';
import { agentUnit } from '../install/unit.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import { lastLinesOf } from '../logs/tail.ts';
import { printable } from './terminal-text.ts';
import type { OptionValues } from '@platform/kit/node';
import type { logsOptions } from './option-tables.ts';

type Given = OptionValues<typeof logsOptions>;

const lookMs = 500;

export async function logs(given: Given, io: Io): Promise<number> {
  if (given.stdout && !given.server) throw new Usage('--stdout belongs to --server.', 2);
  if (!given.server) return journal(given);
  const root = path.resolve(given.root);
  const file = given.stdout ? stdoutFile : stderrFile;
  const say = (line: string): void => io.out(given.json ? JSON.stringify({ message: line }) : printable(line));
  const found = await lastLinesOf(path.join(root, file), given.lines);
  if (!found) {
    throw new Ended(exitCodes.nothingToDo, {
      code: 'NO_LOG',
      what: `There is no log ${path.join(root, file)} yet.`,
      remedy: 'The log begins when the machine server starts.',
    });
  }
  const { lines, position } = found;
  for (const line of lines) say(line);
  if (!given.follow) return exitCodes.done;
  const stop = AbortSignal.any([onSignals(), io.gone]);
  const reader = system.lines(root);
  let from = { ...(await reader.end(file)), offset: position.offset };
  while (!stop.aborted) {
    const more = await reader.read(file, from);
    from = more.position;
    for (const line of more.lines) say(line);
    if (more.lines.length === 0) await io.clock.sleep(lookMs, stop);
  }
  return exitCodes.done;
}

/** The agent's lines are in the journal of systemd. */
function journal({ follow, lines, json }: Given): Promise<number> {
  const args = ['--no-pager', `--unit=${agentUnit}`, `--lines=${lines}`, `--output=${json ? 'json' : 'short-iso'}`];
  const child = spawn('journalctl', [...args, ...(follow ? ['--follow'] : [])], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.on('SIGINT', () => {}); // journalctl gets it, too; this process ends with journalctl
  return new Promise((resolve, reject) => {
    child.on('error', () =>
      reject(
        new Ended(exitCodes.failed, {
          code: 'NO_JOURNAL',
          what: 'There is no journal on this machine.',
          remedy:
            'Without systemd, the agent writes its log to the stderr of the process that started it. --server shows the log of the machine server.',
        }),
      ),
    );
    child.on('exit', (code, signal) => resolve(code === 0 || signal !== null ? exitCodes.done : exitCodes.failed));
  });
}
