import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { createLog } from '@platform/kit';
import { stderrSink } from '@platform/kit/node';
import { fetchCredentials, findCredentials, foundCredentials, type ApiKey } from '../install/fetch-credentials.ts';
import { sayGoodbye } from '../install/goodbye.ts';
import { candidateOf } from '../install/look.ts';
import { withReports } from '../install/report-steps.ts';
import { installOnWindows, uninstallOnWindows } from '../install/install-on-windows.ts';
import { system } from '../composition/system.ts';
import { windows } from '../composition/windows-calls.ts';
import { thisHost } from '../os/host.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import type { OptionValues } from '@platform/kit/node';
import type { installOptions } from './option-tables.ts';

type Given = Pick<
  OptionValues<typeof installOptions>,
  'config' | 'root' | 'binary' | 'noStart' | 'noCredentials' | 'json'
>;

interface Asked {
  url: string;
  partId: string;
  apiKey: ApiKey;
}

/** The Windows form of `install`; `asked`: credentials to fetch. */
export function installHere(given: Given, asked: Asked | undefined, io: Io, send: typeof fetch): Promise<number> {
  // This process may use a one-time key again after a failure only if it names itself.
  const named = asked && {
    ...asked,
    apiKey: { ...asked.apiKey, installer: asked.apiKey.installer ?? randomBytes(16).toString('hex') },
  };
  const of = {
    send,
    clock: io.clock,
    platform: thisHost().platform,
    done: given.noStart ? 'platform-agent is installed, and not started' : 'platform-agent is installed as a service',
  };
  return withReports(named, of, () => installNow(given, named, io, send));
}

/** A one-time key that was used before: a machine that has its credentials keeps them. */
async function fetchedOrKept(asked: Asked, file: string, io: Io, send: typeof fetch): Promise<string | undefined> {
  try {
    return (await fetchCredentials(asked, io.clock, send)).text;
  } catch (error) {
    const isUsed = error instanceof PlatformError && error.code === 'INSTALL_KEY_INVALID';
    const own = isUsed ? await findCredentials(file) : undefined;
    if (own?.at !== 'usable' || own.partId !== asked.partId) throw error;
    io.note('The one-time key no longer works. This machine already has its credentials and keeps them.');
    return undefined;
  }
}

async function installNow(given: Given, asked: Asked | undefined, io: Io, send: typeof fetch): Promise<number> {
  const { clock } = io;
  const log = createLog({ name: 'install', clock, level: 'warn', sink: stderrSink('text') });
  const root = path.resolve(given.root);
  const credentialsFile = path.resolve(given.config);
  const steps: string[] = [];
  const report = (text: string): void => {
    steps.push(text);
    if (!given.json) io.out(`  ${text}`);
  };
  const credentials = asked ? await fetchedOrKept(asked, credentialsFile, io, send) : undefined;
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
