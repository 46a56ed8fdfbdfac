// How the agent finds processes that it did not start: the simulated machine behaves like the real one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, chmod, copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { processStartTime, spawnGroup, systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { exitReason } from '../src/state/exit-reason.ts';
import { linuxProcesses } from '../src/os/linux/kernel/processes.ts';
import type { Processes } from '../src/os/ports.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { SimProcesses } from '../src/os/sim/processes.ts';

interface Fixture extends AsyncDisposable {
  processes: Processes;
  /** Installs a long-running program in place of an older one. `more` changes the bytes of the program. */
  put(file: string, more: string): Promise<void>;
  /** Starts a foreign process of that program, which listens on the returned port. */
  startForeign(program: string): Promise<{ pid: number; port: number }>;
}

const isReady = async (processes: Processes, pid: number, program: string): Promise<void> => {
  while (!(await processes.foreignProcesses(program)).some((s) => s.pid === pid)) await systemClock.sleep(10);
};

async function linux(): Promise<Fixture> {
  const folder = await tempFolder();
  await mkdir(folder.file('log'));
  const processes = linuxProcesses(folder.path, { name: 'TEST_MARK', value: folder.path }, systemClock);
  const ends: (() => Promise<unknown>)[] = [];
  return {
    processes,
    async put(file, more) {
      const fresh = folder.file('fresh');
      await copyFile('/bin/sleep', fresh);
      await appendFile(fresh, more);
      await chmod(fresh, 0o755);
      await rename(fresh, folder.file(file));
    },
    async startForeign(program) {
      await mkdir(folder.file('elsewhere'));
      const file = folder.file('elsewhere', program);
      await copyFile(process.execPath, file);
      const code =
        "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
      await writeFile(folder.file('listen.cjs'), code);
      const group = await spawnGroup({ command: file, args: [folder.file('listen.cjs')], clock: systemClock });
      ends.push(() => group.stop({ termMs: 1_000 }));
      const [line] = (await once(group.stdout!, 'data')) as [Buffer];
      await isReady(processes, group.pid, program);
      return { pid: group.pid, port: Number(line.toString()) };
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function sim(): Promise<Fixture> {
  const clock = new FakeClock();
  const files = new SimFiles();
  const machine = new SimProcesses(clock, files);
  return {
    processes: machine.port(),
    async put(file, more) {
      files.put(file, Buffer.from(`sleep 1000\n${more}`));
    },
    async startForeign(program) {
      machine.foreign = [{ pid: 7, port: 8080, program, command: `/usr/local/bin/${program} listen.cjs` }];
      return { pid: 7, port: 8080 };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

const out = { stdoutFile: 'log/out', stderrFile: 'log/err' };

for (const [kind, make] of [
  ['linux', linux],
  ['sim', sim],
] as const) {
  test(`${kind}: a program is replaced when another lies in its place, not when its equal does`, async () => {
    await using on = await make();
    await on.put('server', '');
    const { id, exited, signal } = await on.processes.start({ program: 'server', args: ['1000'], env: {}, ...out });
    const seen = [await on.processes.isReplaced(id, 'server')];
    await on.put('server', '');
    seen.push(await on.processes.isReplaced(id, 'server'));
    await on.put('server', 'newer\n');
    seen.push(await on.processes.isReplaced(id, 'server'), await on.processes.isReplaced(id, 'server'));
    await on.put('server', '');
    seen.push(await on.processes.isReplaced(id, 'server'));
    signal('KILL');
    await exited;
    assert.deepEqual(seen, [false, false, true, true, false]);
    assert.equal(await on.processes.isReplaced(id, 'gone'), false);
  });

  test(`${kind}: a foreign process of the same name is reported, our own is not; and who has a port`, async () => {
    await using on = await make();
    const program = `odd-${process.pid}`;
    await on.put(program, '');
    const own = await on.processes.start({ program: program, args: ['1000'], env: {}, ...out });
    assert.deepEqual(await on.processes.foreignProcesses(program), []);
    const { pid, port } = await on.startForeign(program);
    const [found, ...more] = await on.processes.foreignProcesses(program);
    assert.deepEqual([found?.pid, more], [pid, []]);
    assert.match(found?.command ?? '', /odd-\d+ .*listen\.cjs$/);
    assert.equal((await on.processes.listener(port))?.pid, pid);
    own.signal('KILL');
    await own.exited;
  });
}

test('a port without a listener has no owner', async () => {
  await using on = await linux();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  assert.equal((await on.processes.listener(address.port))?.pid, process.pid);
  server.close();
  await once(server, 'close');
  assert.equal(await on.processes.listener(address.port), undefined);
});

test('a program that goes into the background is seen as one, and what left its process group is ended', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('log'));
  const processes = linuxProcesses(folder.path, { name: 'TEST_MARK', value: folder.path }, systemClock);
  // Until its background process has become sleep, it is another copy of the shell.
  const becomesSleep = 'until grep -qx sleep /proc/$!/comm; do :; done';
  const script = `#!/bin/sh\nsetsid sleep 1000 >/dev/null 2>&1 &\necho $! > pid\n${becomesSleep}\nexit 0\n`;
  await writeFile(folder.file('daemon'), script, { mode: 0o755 });
  const { exited } = await processes.start({ program: 'daemon', args: [], env: {}, ...out });
  const exit = await exited;
  assert.match(exitReason(exit), /^it went into the background: .* process \d+ \(sleep 1000\) went on and was ended$/);
  const [left] = exit.leftBehind ?? [];
  while (processStartTime(left?.pid ?? 0) !== undefined) await systemClock.sleep(10);
});
