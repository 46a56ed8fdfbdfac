// A machine server that is a script, its signed releases, and the real agent that runs it: updates without a build.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { checkout, runCli } from './up-process.ts';

export type Json = Record<string, unknown>;

const ballast = randomBytes(150_000).toString('base64');
/** Most of its bytes stay the same between versions. It prints one line at its start. */
export const scriptServer = (version: string): string => `#!${process.execPath}
// ${ballast}
const server = require('node:http').createServer((request, answer) => {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ restart_allowed: true, does_not_handle_needs_restart: true }));
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '${version}', url, pid: process.pid, revision: 0 }));
  console.error('script server ${version} began');
});
`;

/** The command line with these variables. @returns its JSON output. */
export const jsonCli =
  (env: Record<string, string>) =>
  async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    if (code !== 0) throw new Error(`platform ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as Json;
  };

/** Publishes a version of the script, signed. */
export async function publishScriptServer(
  json: ReturnType<typeof jsonCli>,
  folder: string,
  { version, channel }: { version: string; channel: 'stable' | 'dev' },
): Promise<void> {
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  const file = path.join(folder, `server-${version}`);
  await writeFile(file, scriptServer(version));
  await writeFile(`${file}.json`, JSON.stringify({ name: 'platform-server', version, platform }));
  await json('release', 'publish', file, '--channel', channel);
}

export interface SourceAgent extends AsyncDisposable {
  readonly group: ProcessGroup;
  log(): Promise<string>;
}

/** The agent from source, with `platform.json` of this folder as its credentials. Programs that it starts find this Node. */
export async function startSourceAgent(folder: string): Promise<SourceAgent> {
  const logFile = path.join(folder, 'agent.log');
  const group = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(checkout, 'apps', 'agent', 'src', 'main.ts'),
      'run',
      '--config',
      path.join(folder, 'platform.json'),
      '--root',
      path.join(folder, 'agent'),
      '--debug',
    ],
    env: plainEnvironment({ PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}` }),
    logFile,
  });
  return {
    group,
    log: () => readFile(logFile, 'utf8'),
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
    },
  };
}
