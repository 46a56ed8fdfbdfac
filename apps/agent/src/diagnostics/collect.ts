import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { secretsIn } from '@platform/contract/config/secrets';
import { agentOf } from '@platform/contract/config/device-structs';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { errorText, type Clock, type Log } from '@platform/kit';
import { lastLinesOf } from '../logs/tail.ts';
import { statusOnDisk } from '../control/status-on-disk.ts';
import { controlOf } from '../control/client.ts';
import { observe } from '../doctor/observe.ts';
import { checkResults } from '../doctor/checks.ts';
import type { System } from '../os/ports.ts';
import { stderrFile, stdoutFile } from '../server/watch.ts';
import { fileDisk } from '../os/file-disk.ts';
import { readChecked } from '../storage/checked-file.ts';
import { cachedAnswer, cacheFile } from '../config/config-receiver.ts';
import { Mask } from '../logs/mask.ts';
import { agentUnit, serverUnit, unitEnvironmentFile } from '../install/unit.ts';
import { pinsFile, statePath } from '../versions/layout.ts';
import { programStore } from '../versions/program-store.ts';
import { version } from '../versions/own-version.ts';

export interface CollectParts {
  root: string;
  credentialsFile: string;
  defaultsFile: string;
  env: Readonly<Record<string, string | undefined>>;
  system: System;
  clock: Clock;
  log: Log;
}

const journalLines = 3000;
const serverLines = 2000;

/**
 * Collects the diagnostics for remote support, by file name. Secrets of the credentials, the configuration, its
 * defaults and the proxies are masked in every text. A file that cannot be read holds the error instead.
 */
export async function collect(parts: CollectParts): Promise<Map<string, string>> {
  const { root, credentialsFile, system, clock } = parts;
  const files = new Map<string, string>();
  const { mask, config } = await readSecrets(parts);
  const add: Add = async (name, work) => {
    const found = await work().catch((error: unknown) => `could not be had: ${errorText(error)}`);
    files.set(name, maskedText(mask, typeof found === 'string' ? found : JSON.stringify(found, null, 2)));
  };
  const outputOf =
    (program: string, ...args: string[]) =>
    async () =>
      (await system.run(program, ...args)).text;
  const tail = (file: string) => async () => tailOf(path.join(root, file));
  const state = (file: string) => async () => readFile(path.join(root, file), 'utf8');

  await add('about.json', async () => ({ version, made: new Date(clock.wall()).toISOString(), root }));
  await add('status.json', () =>
    controlOf(root, clock)
      .status()
      .catch(() =>
        statusOnDisk({ root, files: system.files(root), disk: fileDisk(system.files(root)), clock, credentialsFile }),
      ),
  );
  await add('doctor.json', async () => checkResults(await observe(parts, parts)));
  await add('configuration.json', async () => config ?? 'none is kept');
  await add('versions.json', async () => ({
    agent: await programStore(system.files(root), 'agent', parts).list(),
    server: await programStore(system.files(root), 'server', parts).list(),
  }));
  for (const program of ['agent', 'server'] as const) {
    for (const what of ['previous', 'trial', 'bad', 'damaged'] as const) {
      await add(`state/${program}.${what}`, state(statePath(program, what)));
    }
  }
  await add('state/pins.json', state(pinsFile));
  await add('state/server.json', state('state/server.json'));
  await add('units/agent.txt', outputOf('systemctl', 'cat', agentUnit));
  await add('units/agent-state.txt', outputOf('systemctl', 'show', agentUnit));
  await add('units/server-state.txt', outputOf('systemctl', 'show', serverUnit));
  await add(
    'logs/agent.txt',
    outputOf('journalctl', '--no-pager', '-o', 'short-iso', '-u', agentUnit, '-n', `${journalLines}`),
  );
  await add('logs/server-stderr.txt', tail(stderrFile));
  await add('logs/server-stdout.txt', tail(stdoutFile));
  await addSystem(add, outputOf);
  return files;
}

type Add = (name: string, work: () => Promise<unknown>) => Promise<void>;

async function addSystem(
  add: Add,
  outputOf: (program: string, ...args: string[]) => () => Promise<string>,
): Promise<void> {
  await add('system/os-release.txt', async () => readFile('/etc/os-release', 'utf8'));
  await add('system/machine.json', async () => ({
    kernel: os.release(),
    machine: os.machine(),
    processors: os.cpus().length,
    memory_bytes: os.totalmem(),
    free_memory_bytes: os.freemem(),
    uptime_s: os.uptime(),
    load: os.loadavg(),
  }));
  await add('system/disks.txt', outputOf('df', '-hT'));
  await add('system/time.txt', outputOf('timedatectl'));
  await add('system/network.txt', outputOf('ip', '-brief', 'address'));
  await add('system/failed-units.txt', outputOf('systemctl', '--failed', '--no-legend'));
}

async function tailOf(file: string): Promise<string> {
  const found = await lastLinesOf(file, serverLines);
  if (!found) throw new Error(`There is no log ${file} yet.`);
  return found.lines.join('\n');
}

/** Masks line by line: a name and a value on different lines must not be taken for a pair. */
const maskedText = (mask: Mask, text: string): string =>
  text
    .split('\n')
    .map((line) => mask.text(line))
    .join('\n');

/** Finds all secrets, and the configuration, which contains some of them. */
async function readSecrets(parts: CollectParts): Promise<{ mask: Mask; config: unknown }> {
  const { root, credentialsFile, defaultsFile, env, system } = parts;
  const text = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
  const { value } = await readChecked(fileDisk(system.files(root)), cacheFile, cachedAnswer).catch(() => ({
    value: undefined,
  }));
  const kept = [credentialsFile, `${credentialsFile}.old`, path.join(root, 'state/credentials.last-good')];
  const credentials = (await Promise.all(kept.map(text))).map(parseCredentials);
  const proxies = `${await text(path.join(root, unitEnvironmentFile))}\n${Object.values(env).join('\n')}`;
  const words = [
    ...credentials.flatMap((found) => (found.ok ? [found.value.payload] : [])),
    ...[...proxies.matchAll(/:\/\/[^/\s:@"]*:([^@/\s"]+)@/g)].map((found) => found[1] ?? ''),
    ...secretsIn(value && agentOf(value.answer), json(await text(defaultsFile))),
  ];
  const mask = new Mask();
  mask.hide(words.filter(({ length }) => length > 3).toSorted((a, b) => b.length - a.length));
  return { mask, config: value && toJson(DeviceAgentConfigResponseSchema, value.answer) };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
