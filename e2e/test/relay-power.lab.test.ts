// The output of a machine server that ran without an agent, after a power cut: on a real file system that loses
// unflushed writes.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { build } from '../lab/builds.ts';
import { checkout } from '../src/up-process.ts';

const disk = (...args: string[]) =>
  promisify(execFile)(path.join(checkout, 'e2e/lab/volatile-disk.sh'), args, { timeout: 60_000 });
const logFile = (root: string): string => path.join(root, 'log', 'platform-server.stderr.log');

test('a power cut while no agent runs takes at most what was printed in the last seconds', async () => {
  const { file: program } = await build('platform-agent', '0.1.0');
  await using folder = await tempFolder();
  const place = folder.file('disk');
  await disk('on', place);
  try {
    const root = path.join(place, 'mnt', 'platform');
    mkdirSync(path.join(root, 'log'), { recursive: true });
    execFileSync('sync');
    await print(program, root);
    await disk('cut', place);
    await disk('off', place);
    await disk('on', place);
    const kept = readFileSync(logFile(root), 'utf8');
    assert.match(kept, /\nearly\n/);
    process.stdout.write(`# after the cut: ${JSON.stringify(kept)}\n`);
  } finally {
    await disk('off', place);
  }
});

/** Prints through a relay without an agent; then the power cut ends their processes. */
async function print(program: string, root: string): Promise<void> {
  // The folder that the relay chooses: its pipes must exist before it starts.
  const folder = JSON.parse(
    execFileSync(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      '-e',
      `import('${checkout}/apps/agent/src/os/relay-places.ts').then(async (m) => console.log(JSON.stringify(await m.relayFolder(${JSON.stringify(root)}))))`,
    ]).toString(),
  ) as string;
  mkdirSync(folder, { recursive: true });
  const pipes = ['stdout', 'stderr'].map((name) => path.join(folder, name));
  execFileSync('mkfifo', pipes);
  const outputs = pipes.map((pipe) => openSync(pipe, 'r+'));
  const relay = spawn(program, ['relay', '--root', root], { stdio: 'inherit', env: { UV_THREADPOOL_SIZE: '8' } });
  try {
    while (!existsSync(path.join(folder, 'lines.sock'))) await systemClock.sleep(20);
    writeSync(outputs[1] ?? -1, 'early\n');
    await systemClock.sleep(3_000); // a server with rare output; the flush comes within this time
    writeSync(outputs[1] ?? -1, 'late\n');
    while (!readFileSync(logFile(root), 'utf8').includes('late')) await systemClock.sleep(5);
  } finally {
    relay.kill('SIGKILL');
    await once(relay, 'exit');
    for (const file of outputs) closeSync(file);
    execFileSync('rm', ['-rf', folder]);
  }
}
