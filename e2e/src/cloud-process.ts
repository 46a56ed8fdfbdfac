import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createPlatformClient, type PlatformClient, type PlatformClientOptions } from '@platform/client';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { memoryFolder } from '@platform/kit/testing';
import { checkout } from './up-process.ts';

/** The fields of the server's ready line and credentials file. */
export interface CloudReady {
  readonly url: string;
  /** On loopback, without TLS. */
  readonly local_url: string;
  readonly port: number;
  readonly install_script_command: string;
  readonly org_id: string;
  readonly api_key_id: string;
  readonly api_key: string;
  readonly runner_key_id: string;
  readonly runner_key: string;
  readonly sign_in_url: string;
}

/** Combines the line that the server prints with its credentials file. */
export function readyOf(line: string): CloudReady {
  const ready = JSON.parse(line) as { credentials_file?: string };
  const file = ready.credentials_file;
  return { ...ready, ...(file !== undefined && (JSON.parse(readFileSync(file, 'utf8')) as object)) } as CloudReady;
}

/** Connects as the owner of the organization. */
export const clientOf = (
  { url, api_key_id: authEntity, api_key: payload }: CloudReady,
  options: PlatformClientOptions = {},
): PlatformClient =>
  createPlatformClient({ baseUrl: url, credentials: { type: 'api-key', authEntity, payload }, ...options });

export interface CloudProcess extends AsyncDisposable {
  readonly ready: CloudReady;
}

/** Where a management server runs: its program, its data, its port. */
export interface CloudPlace {
  /** Folder of the project, built. */
  readonly checkout: string;
  readonly dataDir: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Starts only the management server, as a process; its output must be read. */
const spawnCloudAt = ({ checkout: from, dataDir, port }: CloudPlace, ...flags: string[]): Promise<ProcessGroup> =>
  spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(from, 'apps', 'cloud', 'src', 'main.ts'),
      '--data-dir',
      dataDir,
      '--port',
      String(port),
      '--web-dir',
      path.join(from, 'apps', 'web', 'dist'),
      '--json',
      ...flags,
    ],
    env: plainEnvironment(),
    cwd: from,
  });

/** The same, ready; disposing stops it and leaves its data folder. */
export async function startCloudAt(place: CloudPlace, ...flags: string[]): Promise<CloudProcess> {
  const group = await spawnCloudAt(place, ...flags);
  const { stdout, stderr } = group;
  if (!stdout || !stderr) throw new Error('the output of the server was not piped');
  const logged = text(stderr);
  const line = await new Promise<string | undefined>((resolve) => {
    const lines = createInterface({ input: stdout });
    lines.once('line', resolve);
    lines.once('close', () => resolve(undefined));
  });
  if (line === undefined) throw new Error(`the server ended before it was ready:\n${await logged}`);
  return {
    ready: readyOf(line),
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
    },
  };
}

/** Starts the management server in a data folder of its own; disposing stops it and removes the folder. */
export async function startCloud(...flags: string[]): Promise<CloudProcess> {
  const folder = await memoryFolder();
  const cloud = await startCloudAt({ checkout, dataDir: folder.path, port: 0 }, ...flags);
  return {
    ready: cloud.ready,
    async [Symbol.asyncDispose]() {
      await cloud[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
