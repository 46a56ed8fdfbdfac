import { readFile, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { isAlive, readJson, Usage } from '@platform/kit/node';
import { places, units } from '../installation/places.ts';
import { readServerOptions, type ServerOptions } from '../installation/server-options.ts';
import { currentVersion } from '../installation/state.ts';
import { attempt } from '../installation/system.ts';
import type { FoundServer } from './observations.ts';

/** What the user says of a server that cannot be asked. */
export interface ServerHints {
  readonly localUrl: string | undefined;
  readonly publicUrl: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/** The server of a data folder: its own, or that of `npm start`, which has it in `cloud`. @throws Usage */
export async function findServer(dataDir: string, known: ServerHints): Promise<FoundServer> {
  const dataFolder = await serverFolder(path.resolve(dataDir));
  const isInstalled = dataFolder === path.join(places.data, 'cloud') && currentVersion() !== undefined;
  const pid = (await runningPid(dataFolder)) ?? (isInstalled ? servicePid() : undefined);
  const started = pid === undefined ? {} : await optionsOf(pid);
  const options: ServerOptions = {
    ...(isInstalled ? await readServerOptions() : started),
    ...(known.tlsCert !== undefined && { tls_cert: path.resolve(known.tlsCert) }),
    ...(known.tlsKey !== undefined && { tls_key: path.resolve(known.tlsKey) }),
  };
  const url = await ownUrl(dataFolder);
  const { local_url: saved } = ((await read(path.join(path.dirname(dataFolder), 'connection.json'))) ?? {}) as {
    local_url?: string;
  };
  const { port = 8080 } = options;
  const ofPort = port === 0 ? undefined : `http://127.0.0.1:${port}`;
  const serverUrl = ofPort ?? saved ?? (isOfThisHost(url) ? url : undefined);
  return {
    dataFolder,
    isInstalled,
    pid,
    options,
    localUrl: known.localUrl ?? (pid === undefined ? undefined : serverUrl),
    publicUrl: known.publicUrl ?? options.public_url ?? (isOfThisHost(url) ? undefined : url),
  };
}

const read = (file: string): Promise<unknown> => readJson(file).catch(() => undefined);

const isOfThisHost = (url: string | undefined): boolean =>
  url !== undefined && /^http:\/\/(127\.|localhost|\[::1\])/.test(url);

/** The URL that the server gave itself at its last start: of its public URL, its certificate or its port. */
async function ownUrl(dataFolder: string): Promise<string | undefined> {
  const { sign_in_url: link = '' } = ((await read(path.join(dataFolder, 'first-run.json'))) ?? {}) as {
    sign_in_url?: string;
  };
  return URL.canParse(link) ? new URL(link).origin : undefined;
}

/** @throws Usage if there is no server's data, or they are closed to this user. */
async function serverFolder(dataDir: string): Promise<string> {
  for (const folder of [dataDir, path.join(dataDir, 'cloud')]) {
    try {
      await stat(path.join(folder, 'secrets.json'));
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES')
        throw new Usage(`${folder} is closed to you. Run the doctor as root, or as the user of the server.`, 2);
    }
  }
  throw new Usage(`${dataDir} holds no data of a server. Name its data folder with --data-dir.`, 2);
}

/** What systemd says of an installed server. */
function servicePid(): number | undefined {
  const pid = Number(attempt('systemctl', 'show', '-P', 'MainPID', units.server).text);
  return pid > 0 ? pid : undefined;
}

async function runningPid(dataFolder: string): Promise<number | undefined> {
  const owner = (await read(path.join(dataFolder, 'server.lock'))) as { pid: number; startTime: string } | undefined;
  return owner && isAlive(owner) ? owner.pid : undefined;
}

/** Paths among the options, which count from the folder that the server was started in. */
const paths = ['tls_cert', 'tls_key', 'tls_authority', 'tls_known_authority', 'backup_dir', 'options_file'];
const names = [...paths, 'host', 'port', 'public_url', 'database_url', 'backup_every_hours'];
const flagOf = (name: string): string => name.replaceAll('_', '-');

/** The options of a running server that matter here: flags, then environment, then its options file. */
async function optionsOf(pid: number): Promise<ServerOptions> {
  const parts = async (file: string): Promise<string[]> =>
    (await readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')).split('\0');
  const options = Object.fromEntries(names.map((name) => [flagOf(name), { type: 'string' } as const]));
  const { values } = parseArgs({ args: await parts('cmdline'), options, strict: false, allowPositionals: true });
  const env = new Map((await parts('environ')).map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => '/');
  const given = names.flatMap((name) => {
    const value = values[flagOf(name)] ?? env.get(`PLATFORM_${name.toUpperCase()}`);
    if (typeof value !== 'string' || value === '') return [];
    if (paths.includes(name)) return [[name, path.resolve(folder, value)]];
    return [[name, /^(port|backup_every_hours)$/.test(name) ? Number(value) : value]];
  });
  const databaseUrl = env.get('DATABASE_URL');
  const found = Object.fromEntries(given) as ServerOptions;
  const file = found['options_file'];
  const inFile = typeof file === 'string' ? ((await read(file)) as object | undefined) : {};
  return { ...(databaseUrl !== undefined && { database_url: databaseUrl }), ...inFile, ...found };
}
