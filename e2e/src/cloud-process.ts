import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { checkout, cleanEnv, dataFolder } from './up-process.ts';

const program = path.join(checkout, 'apps', 'cloud', 'src', 'main.ts');

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

export interface CloudProcess extends AsyncDisposable {
  readonly ready: CloudReady;
}

/**
 * Starts only the management server, as a process with its own data folder; disposing stops it and removes the folder.
 */
export async function startCloud(...flags: string[]): Promise<CloudProcess> {
  const folder = await dataFolder();
  const web = path.join(checkout, 'apps', 'web', 'dist');
  const group = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      program,
      '--data-dir',
      folder.path,
      '--port',
      '0',
      '--web-dir',
      web,
      '--json',
      ...flags,
    ],
    env: cleanEnv(),
    cwd: checkout,
  });
  const { stdout, stderr } = group;
  if (!stdout || !stderr) throw new Error('the output of the server was not piped');
  const said = text(stderr);
  const line = await new Promise<string | undefined>((resolve) => {
    const lines = createInterface({ input: stdout });
    lines.once('line', resolve);
    lines.once('close', () => resolve(undefined));
  });
  if (line === undefined) throw new Error(`the server ended before it was ready:\n${await said}`);
  return {
    ready: readyOf(line),
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
      await folder[Symbol.asyncDispose]();
    },
  };
}
