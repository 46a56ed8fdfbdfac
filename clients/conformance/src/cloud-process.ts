import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

const main = path.resolve(import.meta.dirname, '../../../apps/cloud/src/main.ts');

/** A management server as a process, with its own data folder, which is removed with it. */
export interface CloudProcess extends AsyncDisposable {
  readonly url: string;
  readonly orgId: string;
  readonly keyId: string;
  readonly key: string;
}

interface ReadyLine {
  readonly url: string;
  readonly org_id: string;
  readonly credentials_file: string;
}

const isOurs = (name: string): boolean =>
  name.startsWith('PLATFORM_') || name === 'DATABASE_URL' || name === 'NODE_TEST_CONTEXT';

/** Starts a server on a free port and waits until it is ready. */
export async function startCloud(): Promise<CloudProcess> {
  const folder = await tempFolder();
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)));
  const group = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      main,
      '--data-dir',
      path.join(folder.path, 'data'),
      '--port',
      '0',
      '--log-level',
      'error',
    ],
    env,
  });
  const end = async (): Promise<void> => {
    await group.stop({ termMs: 20_000 });
    await folder[Symbol.asyncDispose]();
  };
  try {
    const ready = await readyLine(group);
    const keys = JSON.parse(await readFile(ready.credentials_file, 'utf8')) as Record<'api_key_id' | 'api_key', string>;
    return {
      url: ready.url,
      orgId: ready.org_id,
      keyId: keys.api_key_id,
      key: keys.api_key,
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function readyLine({ stdout, stderr, exited }: ProcessGroup): Promise<ReadyLine> {
  if (!stdout || !stderr) throw new Error('the output of the server was not piped');
  let output = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4000);
    // Shows the server's unexpected errors beside a failed test.
    process.stderr.write(text);
  });
  const line = new Promise<string>((resolve) => createInterface({ input: stdout }).once('line', resolve));
  const first = await Promise.race([line, exited]);
  if (typeof first !== 'string')
    throw new Error(`the server ended (exit ${first.code}, signal ${first.signal}) before it was ready:\n${output}`);
  return JSON.parse(first) as ReadyLine;
}
