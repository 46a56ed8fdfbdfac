// A disk that hangs must not block the program that prints.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { relayEnvironment } from '../src/install/unit.ts';
import { linesFile, relayFolder, relayPlaces } from '../src/os/relay-places.ts';

const main = path.join(import.meta.dirname, '..', 'src', 'main.ts');
/** Much more than the pipe, the relay's queue and its budget hold. */
const printedBytes = 16 * 2 ** 20;
const printer = `
  const fs = require('node:fs');
  const line = Buffer.from('x'.repeat(1023) + '\\n');
  for (const fd of [1, 2]) for (let n = 0; n < ${printedBytes}; n += line.length) fs.writeSync(fd, line);
`;

test('a program prints on while every file of its relay hangs on the disk', { timeout: 60_000 }, async () => {
  await using folder = await tempFolder();
  const root = folder.file('platform');
  const places = relayPlaces(await relayFolder(root));
  for (const made of [path.join(root, 'log'), path.dirname(places.stdout)]) mkdirSync(made, { recursive: true });
  execFileSync('mkfifo', [places.stdout, places.stderr]);
  const outputs = [places.stdout, places.stderr].map((pipe) => openSync(pipe, 'r+'));
  const relay = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'relay', '--root', root], {
    env: plainEnvironment({ ...relayEnvironment }),
    stdio: 'inherit',
  });
  try {
    const socket = await connected(places.socket);
    // Opening a pipe without a reader blocks, like a disk that hangs.
    const files = ['log/platform-server.stdout.log', 'log/platform-server.stderr.log', linesFile];
    execFileSync(
      'mkfifo',
      files.map((file) => path.join(root, file)),
    );
    socket.write(`${JSON.stringify({ log_socket: 1, boot_id: 'one' })}\n`);
    socket.write(`${JSON.stringify({ sequence: 1, time: 1, level: 'info', logger: 'x', message: 'handed over' })}\n`);
    const program = spawn(process.execPath, ['-e', printer], {
      env: plainEnvironment(),
      stdio: ['ignore', ...outputs],
    });
    assert.deepEqual(await once(program, 'exit'), [0, null]);
    socket.destroy();
  } finally {
    relay.kill('SIGKILL');
    await once(relay, 'exit');
    for (const file of outputs) closeSync(file);
  }
});

async function connected(file: string): Promise<import('node:net').Socket> {
  for (;;) {
    const socket = connect(file);
    try {
      await once(socket, 'connect');
      return socket;
    } catch {
      await systemClock.sleep(20);
    }
  }
}
