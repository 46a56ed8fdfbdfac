import path from 'node:path';
import { createLog } from '@platform/kit';
import { stderrSink } from '@platform/kit/node';
import { fetchCredentials, findCredentials, foundCredentials, type ApiKey } from '../install/credentials.ts';
import { sayGoodbye } from '../install/goodbye.ts';
import { candidateOf } from '../install/look.ts';
import { installOnWindows, uninstallOnWindows } from '../install/windows.ts';
import { system } from '../composition/system.ts';
import { windows } from '../composition/windows.ts';
import { thisHost } from '../os/host.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';

interface Given {
  config: string;
  root: string;
  binary: string | undefined;
  noStart: boolean;
  noCredentials: boolean;
  json: boolean;
}

/** The Windows form of `install`; `asked`: credentials to fetch. */
export async function installHere(
  given: Given,
  asked: { url: string; partId: string; apiKey: ApiKey } | undefined,
  io: Io,
  send: typeof fetch,
): Promise<number> {
  const { clock } = io;
  const log = createLog({ name: 'install', clock, level: 'warn', sink: stderrSink('text') });
  const root = path.resolve(given.root);
  const credentialsFile = path.resolve(given.config);
  const steps: string[] = [];
  const report = (text: string): void => {
    steps.push(text);
    if (!given.json) io.out(`  ${text}`);
  };
  const credentials = asked ? (await fetchCredentials(asked, clock, send)).text : undefined;
  const found = credentials === undefined ? await findCredentials(credentialsFile) : foundCredentials(credentials);
  if (found.at !== 'usable' && !(found.at === 'none' && given.noCredentials)) {
    throw new Ended(exitCodes.refused, {
      code: 'CREDENTIALS_MISSING',
      what: `${credentialsFile} ${found.at === 'none' ? 'is not there' : `cannot be used: ${found.problem}`}.`,
      remedy: 'Set PLATFORM_URL, PLATFORM_API_KEY_ID, PLATFORM_API_KEY and PLATFORM_PART_ID, or put the file there.',
    });
  }
  const { platform } = thisHost();
  const candidate = await candidateOf(path.resolve(given.binary ?? process.execPath), platform, system);
  const isStarted = !given.noStart;
  await installOnWindows({
    windows,
    root,
    credentialsFile,
    credentials,
    candidate,
    isStarted,
    system,
    clock,
    log,
    report,
  });
  if (given.json) io.out(JSON.stringify({ is_changed: true, version: candidate.version, steps }));
  return exitCodes.done;
}

export async function uninstallHere(
  given: { config: string; root: string; keepCredentials: boolean; json: boolean },
  io: Io,
): Promise<number> {
  const [root, file] = [path.resolve(given.root), path.resolve(given.config)];
  const { done, left, isServerNotified } = await uninstallOnWindows(
    {
      root,
      credentialsFile: given.keepCredentials ? undefined : file,
      sayGoodbye: () => sayGoodbye({ root, credentialsFile: file }, { system, clock: io.clock }),
    },
    { windows, system, clock: io.clock },
  );
  if (given.json) io.out(JSON.stringify({ is_changed: done.length > 0, done, left, is_server_told: isServerNotified }));
  else for (const line of done) io.out(`  ${line}`);
  for (const line of left) io.note(line);
  return left.length === 0 ? exitCodes.done : exitCodes.failed;
}
