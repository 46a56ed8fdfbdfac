// Writes what this version promises that later ones read: npm run fixtures:compat. Once for each release.
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloudAt } from '../src/cloud-process.ts';
import {
  agentOf,
  answersOf,
  backupOf,
  compatibilityFolder,
  type Kept,
  machineState,
  pack,
  untilMachine,
} from './compatibility.ts';
import { endState } from '../src/end-state.ts';
import { jsonCli, startSourceAgent } from '../src/script-server.ts';
import { linesOf } from '../src/server-processes.ts';
import { makeModel } from '../src/small-model.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';

/** A machine server that counts. It runs wherever a `node` is. */
const countingServer = (version: string): string => `#!/usr/bin/env node
const server = require('node:http').createServer((request, answer) => {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ restart_allowed: true }));
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '${version}', url, pid: process.pid, revision: 0 }));
  let count = 0;
  setInterval(() => console.error('count ' + count++ + ' of ' + process.pid), 250);
});
`;

const settings = { agent: { advanced_settings: { platform_server_start_timeout_minutes: 3 } } };
/** Bytes of all files of a version. */
const mostBytes = 2 * 2 ** 20;

const { version } = JSON.parse(await readFile(path.join(checkout, 'package.json'), 'utf8')) as { version: string };
const fixture = path.join(compatibilityFolder, version);
await using folder = await dataFolder();

async function publish(json: ReturnType<typeof jsonCli>, of: string): Promise<void> {
  const file = folder.file(`server-${of}`);
  await writeFile(file, countingServer(of));
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  await writeFile(`${file}.json`, JSON.stringify({ name: 'platform-server', version: of, platform }));
  await json('release', 'publish', file, '--channel', 'stable');
}

/** What waits in the spool of a stopped agent. */
async function waitingLines(stored: readonly string[]): Promise<string[]> {
  const files = globSync('agent/**/*', { cwd: folder.path }).map((name) => folder.file(name));
  const texts: string[] = [];
  for (const file of files) if ((await stat(file)).isFile()) texts.push(await readFile(file, 'latin1'));
  const counted = new Set(texts.join('\n').match(/count \d+ of \d+/g));
  return [...counted].filter((text) => !stored.some((line) => line.includes(`"${text}"`)));
}

await using cloud = await startCloudAt({ checkout, dataDir: folder.file('cloud'), port: 0 });
const { ready } = cloud;
const json = jsonCli({
  PLATFORM_URL: ready.url,
  PLATFORM_API_KEY_ID: ready.api_key_id,
  PLATFORM_API_KEY: ready.api_key,
  PLATFORM_RELEASE_KEYS: folder.file('keys'),
});
const client = clientOf(ready);
await json('release', 'keys', 'init', folder.file('keys'));
await publish(json, '1.0.0');
const { credentials, machine_id: machineId, part_id: partId } = await json('machine', 'create', 'press');
await client.fleetClient.saveConfig({ partId: String(partId), configJson: JSON.stringify(settings) });
await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
await using running = await startSourceAgent(folder.path);
const until = (what: string, isSo: Parameters<typeof untilMachine>[2]) =>
  untilMachine(client, { id: String(machineId), since: 0, what, log: running.log }, isSo);
await until('the first version', ({ report }) => report?.server?.runningVersion === '1.0.0');
await publish(json, '1.1.0');
const machine = await until(
  'the second version',
  ({ report }) => report?.server?.installedVersion === '1.1.0' && report.receivedSha256.length > 0,
);
await makeModel(client, ready);
while (!(await linesOf(folder.path)).some((line) => line.includes('"count 1 of '))) await systemClock.sleep(100);
const [rows, answers] = [await endState(folder.path), await answersOf(client, ready.org_id)];
const lines = await linesOf(folder.path);
await cloud[Symbol.asyncDispose]();
// A few lines more, which no server takes.
await systemClock.sleep(3_000);
await running[Symbol.asyncDispose]();

await rm(fixture, { recursive: true, force: true });
await mkdir(fixture, { recursive: true });
const backup = ['admin', 'backup', backupOf(fixture), '--data-dir', folder.file('cloud')];
const { code, stderr } = await runCli({}, ...backup);
if (code !== 0) throw new Error(stderr);
const names = globSync('agent/**/*', { cwd: folder.path, withFileTypes: true })
  .filter((entry) => entry.isFile() || entry.isSymbolicLink())
  .map((entry) => path.relative(folder.path, path.join(entry.parentPath, entry.name)));
await pack(folder.path, agentOf(fixture), names);
const kept: Kept = {
  apiKey: { id: ready.api_key_id, key: ready.api_key },
  orgId: ready.org_id,
  machineId: String(machineId),
  credentials: credentials as Kept['credentials'],
  rows,
  lines: lines.filter((line) => line.includes('"count ')),
  waiting: await waitingLines(lines),
  answers,
  machine: machineState(machine),
};
await writeFile(path.join(fixture, 'state.json'), `${JSON.stringify(kept, null, 1)}\n`);
const files = globSync('**/*', { cwd: fixture }).map((name) => path.join(fixture, name));
const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
const bytes = sizes.reduce((sum, size) => sum + size, 0);
if (bytes > mostBytes) throw new Error(`${fixture} has ${bytes} bytes; the limit is ${mostBytes}.`);
process.stdout.write(`Wrote ${path.relative(checkout, fixture)} (${Math.ceil(bytes / 1024)} KiB).\n`);
