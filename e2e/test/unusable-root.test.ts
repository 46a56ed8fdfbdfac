// The file system of the agent's folder, named as the cause: no inodes, mounted noexec.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { canUnshare, caseMachine, inNamespace, type CaseMachine } from '../src/case-machine.ts';

const skip = !canUnshare && 'no namespaces';
/** Runs a program with a file system of its own at the folder. */
const onMount = (options: string, folder: string): string[] => [
  ...inNamespace('-m'),
  'sh',
  '-c',
  `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`,
  folder,
];

const readyServer = `#!${process.execPath}
const server = require('node:http').createServer((request, answer) => answer.end('{"restart_allowed":true}'));
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '1.0.0', url, pid: process.pid, revision: 0 }));
});
`;

async function publishServer({ folder, json }: CaseMachine): Promise<void> {
  await json('release', 'keys', 'init', folder.file('keys'));
  const program = folder.file('server');
  await writeFile(program, readyServer);
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  await writeFile(`${program}.json`, JSON.stringify({ name: 'platform-server', version: '1.0.0', platform }));
  await json('release', 'publish', program, '--channel', 'stable');
}

async function startWithInodes(inodes: number): Promise<void> {
  await using machine = await caseMachine();
  await publishServer(machine);
  const at = machine.folder.file('disk');
  await mkdir(at);
  const before = onMount(`size=900m,nr_inodes=${inodes},mode=755`, at);
  const agent = await machine.agent(path.join(at, 'platform'), { before });
  try {
    const named = new RegExp(`inodes are free on the file system at ${at}\\b.*\\b${inodes}\\b`);
    await machine.until(`the inodes of ${inodes}`, async () => {
      const { conditions } = await machine.shown();
      assert.ok(!conditions.some(({ code }) => code === 'SERVER_CRASHES'));
      const full = conditions.filter(({ code }) => code === 'DISK_FULL').map(({ message }) => message);
      for (const message of full) assert.match(message, /inodes/);
      return full.some((message) => named.test(message));
    });
    if (inodes !== 26) return;
    const { conditions } = await machine.shown();
    const download = conditions.find(({ message }) => message.includes('platform-server 1.0.0'))?.message;
    assert.match(download ?? '', /: 0 of 26 inodes and \d+ MB are free/);
  } finally {
    await agent.stop({ termMs: 60_000 });
  }
}

// They mostly wait for checks of the disk, which are a minute apart.
describe('a root that cannot be used', { concurrency: true }, () => {
  test('no inodes: the disk is named, and the machine server is not called a crashing one', { skip }, async () => {
    await using machine = await caseMachine();
    await publishServer(machine);
    const at = machine.folder.file('disk');
    await mkdir(at);
    const root = path.join(at, 'platform');
    const agent = await machine.agent(root, { before: onMount('size=300m,nr_inodes=400,mode=755', at) });
    const shownCodes = async (): Promise<string[]> => (await machine.shown()).conditions.map(({ code }) => code);
    try {
      await machine.until('a running machine server', async () => (await machine.shown()).serverUrl !== '');
      const inside = path.join('/proc', String(agent.pid), 'root', at);
      const fillers: string[] = [];
      try {
        for (;;) {
          const file = path.join(inside, `filler-${fillers.length}`);
          writeFileSync(file, '');
          fillers.push(file);
        }
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      }
      await machine.until('DISK_FULL', async () => (await shownCodes()).includes('DISK_FULL'));
      const { conditions } = await machine.shown();
      const full = conditions.find(({ code }) => code === 'DISK_FULL');
      assert.ok(full?.message.startsWith(`No inodes are free on the file system at ${at}`), full?.message);
      assert.ok(!conditions.some(({ code }) => code === 'SERVER_CRASHES'));
      for (const file of fillers) rmSync(file);
      await machine.until('the end of DISK_FULL', async () => !(await shownCodes()).includes('DISK_FULL'));
    } finally {
      await agent.stop({ termMs: 60_000 });
    }
  });

  // With 40, the agent uses the last one for itself; with 32, the machine server gets no output; with 26, no download fits.
  test('few inodes from the start: their number is named, whatever fails first', { skip }, async () => {
    await Promise.all([26, 32, 40].map(startWithInodes));
  });

  test('noexec: run and supervise refuse at once, with the mount point and the remedy', { skip }, async () => {
    await using machine = await caseMachine();
    const at = machine.folder.file('disk');
    await mkdir(at);
    for (const command of ['run', 'supervise']) {
      const before = onMount('noexec,size=300m,mode=755', at);
      const agent = await machine.agent(path.join(at, 'platform'), { command, before });
      assert.deepEqual(await agent.exited, { code: 1, signal: null }, machine.logText());
      assert.match(machine.logText(), new RegExp(`${at}, which is mounted noexec.*\\n?.*remount,exec ${at}`));
    }
  });
});
