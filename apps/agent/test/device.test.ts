// One contract for every device: what a real machine does, the simulated one does, too.
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { processStartTime, systemClock } from '@platform/kit/node';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { linuxDevice } from '../src/os/linux/device.ts';
import { linuxVersions } from '../src/os/linux/versions.ts';
import type { Device, Position, RunningProcess, Wanting } from '../src/os/ports.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import { idOf } from '../src/state.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';

interface Fixture extends AsyncDisposable {
  device: Device;
  /** The same machine as a later agent sees it. */
  again(): Device;
  program(name: string, script: string): Promise<string>;
  publish(name: string, bytes: string): string;
  fillDisk(): void;
  damage(file: string): Promise<void>;
  isAlive(pid: number): boolean;
  /** Lets a little time pass. */
  tick(): Promise<void>;
}

async function linux(): Promise<Fixture> {
  const folder = await tempFolder();
  const server = await listen(new TestCloud(systemClock));
  const { log } = captureLog(systemClock);
  const root = folder.path;
  const free = { bytes: Infinity };
  const make = (): Device => ({
    ...linuxDevice({
      root,
      program: 'platform-server',
      mark: { name: 'TEST_MARK', value: root },
      idOf,
      clock: systemClock,
      log,
    }),
    versions: linuxVersions(root, 'platform-server', idOf, {
      clock: systemClock,
      log,
      freeBytes: async () => free.bytes,
    }),
  });
  return {
    device: make(),
    again: make,
    async program(name, script) {
      await mkdir(folder.file('programs'), { recursive: true });
      await writeFile(folder.file('programs', name), script);
      await chmod(folder.file('programs', name), 0o755);
      return `programs/${name}`;
    },
    publish: (name, bytes) => server.publish(`/${name}`, { bytes: Buffer.from(bytes) }),
    fillDisk: () => void (free.bytes = 1000),
    damage: async (file) => {
      const whole = await readFile(path.join(root, file));
      await truncate(path.join(root, file), whole.length - 1);
    },
    isAlive: (pid) => processStartTime(pid) !== undefined,
    tick: () => systemClock.sleep(20),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function sim(): Promise<Fixture> {
  const clock = new FakeClock();
  const machine = new SimDevice(clock, idOf);
  return {
    device: machine.session().device,
    again: () => machine.session().device,
    async program(name, script) {
      machine.files.put(`programs/${name}`, Buffer.from(script));
      return `programs/${name}`;
    },
    publish(name, bytes) {
      machine.releases.files.set(`http://sim/${name}`, Buffer.from(bytes));
      return `http://sim/${name}`;
    },
    fillDisk: () => void (machine.releases.freeBytes = 10),
    damage: async (file) => machine.files.put(file, machine.files.get(file)!.bytes.slice(0, -1)),
    isAlive: (pid) => machine.processes.isAlive(pid),
    tick: () => clock.advance(1_100),
    [Symbol.asyncDispose]: async () => {},
  };
}

const out = { stdoutFile: 'log/out', stderrFile: 'log/err' };
const none = new AbortController().signal;

for (const [kind, make] of [
  ['linux', linux],
  ['sim', sim],
] as const) {
  const on = (name: string, f: (fixture: Fixture) => Promise<void>): void => {
    void test(`${kind}: ${name}`, async () => {
      await using fixture = await make();
      await fixture.device.lines.end(out.stdoutFile); // makes the folder
      await f(fixture);
    });
  };
  const start = async ({ device, program }: Fixture, ...script: string[]): Promise<RunningProcess> =>
    device.processes.start({
      program: await program('p', `#!/bin/sh\n${script.join('\n')}\n`),
      args: [],
      env: {},
      ...out,
    });
  const lines = async (f: Fixture, file: string, count: number): Promise<string[]> => {
    for (;;) {
      const { lines: got } = await f.device.lines.read(file, undefined);
      if (got.length >= count) return got;
      await f.tick();
    }
  };
  const passes = async <T>(f: Fixture, work: Promise<T>): Promise<T> => {
    const state = { isDone: false };
    void work.catch(() => {}).finally(() => (state.isDone = true));
    while (!state.isDone) await f.tick();
    return work;
  };
  const release = (f: Fixture, version: string, text: string, more: Partial<Wanting> = {}): Wanting => ({
    version,
    url: f.publish(version, text),
    sha256: sha256Of(text).toString('hex'),
    ...more,
  });

  on('a process writes to its files and its exit is told', async (f) => {
    const p = await start(f, 'echo one', 'echo two >&2', 'exit 3');
    assert.deepEqual(await passes(f, p.exited), { code: 3, signal: null });
    assert.deepEqual([await lines(f, out.stdoutFile, 1), await lines(f, out.stderrFile, 1)], [['one'], ['two']]);
  });

  on('a program that is not there is an error', async ({ device }) => {
    await assert.rejects(device.processes.start({ program: 'programs/none', args: [], env: {}, ...out }), {
      code: 'ENOENT',
    });
  });

  on('TERM ends a willing process', async (f) => {
    const p = await start(f, 'echo up', 'sleep 100000');
    await lines(f, out.stdoutFile, 1);
    p.signal('TERM');
    assert.deepEqual(await passes(f, p.exited), { code: null, signal: 'SIGTERM' });
    p.signal('KILL'); // what it left; and a process that is gone is no error
  });

  on('an unwilling process stays at TERM and goes at KILL, with what it started', async (f) => {
    const p = await start(f, "trap '' TERM", 'sleep 100000 &', 'echo $!', 'sleep 100000');
    const child = Number((await lines(f, out.stdoutFile, 1))[0]);
    p.signal('TERM');
    await f.tick();
    assert.deepEqual([f.isAlive(p.id.pid), f.isAlive(child)], [true, true]);
    p.signal('KILL');
    assert.deepEqual(await passes(f, p.exited), { code: null, signal: 'SIGKILL' });
    while (f.isAlive(child)) await f.tick();
  });

  on('a later agent adopts by pid and start time, and sees the end', async (f) => {
    const p = await start(f, 'echo up', 'sleep 100000');
    await lines(f, out.stdoutFile, 1);
    const later = f.again().processes;
    assert.equal(later.adopt({ ...p.id, startTime: 'another' }), undefined);
    const found = await later.find();
    assert.deepEqual(found, [p.id]);
    const adopted = later.adopt(found[0]!)!;
    adopted.signal('TERM');
    const exit = await passes(f, adopted.exited);
    assert.deepEqual(exit, { code: null, signal: null });
    adopted.signal('KILL');
    assert.equal(later.adopt(p.id), undefined);
  });

  on('a growing file is read by whole lines from where one stood', async (f) => {
    const { lines: reader } = f.device;
    const p = await start(f, 'echo one', 'echo two');
    await passes(f, p.exited);
    const first = await reader.read(out.stdoutFile, undefined);
    assert.deepEqual(first.lines, ['one', 'two']);
    assert.deepEqual((await reader.read(out.stdoutFile, first.position)).lines, []);
    assert.deepEqual(await reader.end(out.stdoutFile), first.position);
    await passes(f, (await start(f, 'echo three')).exited);
    const second = await reader.read(out.stdoutFile, first.position);
    assert.deepEqual(second.lines, ['three']);
    const elsewhere: Position = { ...first.position, file: 'another' };
    assert.deepEqual((await reader.read(out.stdoutFile, elsewhere)).lines, ['one', 'two', 'three']);
    assert.deepEqual(await reader.trim(out.stdoutFile, second.position, 1000), second.position, 'small enough');
    assert.deepEqual(await reader.trim(out.stdoutFile, first.position, 3), first.position, 'not all was seen');
    const cut = await reader.trim(out.stdoutFile, second.position, 3);
    assert.deepEqual(cut, { ...second.position, offset: 0 });
    await passes(f, (await start(f, 'echo four')).exited);
    assert.deepEqual((await reader.read(out.stdoutFile, cut)).lines, ['four']);
    assert.deepEqual((await reader.read('log/none', undefined)).lines, []);
  });

  on('small files: written whole, appended, listed, removed', async ({ device: { disk } }) => {
    const text = async (file: string) => new TextDecoder().decode(await disk.read(file));
    assert.equal(await disk.read('state/a'), undefined);
    assert.deepEqual(await disk.list('none'), []);
    await disk.write('state/a', Buffer.from('1'));
    await disk.write('state/a', Buffer.from('2'));
    await disk.append('state/b', Buffer.from('x'));
    await disk.append('state/b', Buffer.from('y'));
    assert.deepEqual([await text('state/a'), await text('state/b'), await disk.list('state')], ['2', 'xy', ['a', 'b']]);
    await disk.remove('state/a');
    await disk.remove('state/a');
    assert.deepEqual(await disk.list('state'), ['b']);
  });

  on('a version is fetched, linked, replaced in one step and removed', async (f) => {
    const { versions } = f.device;
    assert.deepEqual([await versions.list(), await versions.linked()], [[], null]);
    const a = await passes(f, versions.download(release(f, '1.0.0', '#!/bin/sh\nexit 7\n'), none));
    assert.equal(a, idOf('1.0.0', sha256Of('#!/bin/sh\nexit 7\n').toString('hex')));
    assert.equal(await versions.linked(), null);
    await versions.link(a);
    assert.equal(await versions.linked(), a);
    const p = await f.device.processes.start({ program: `versions/${a}/platform-server`, args: [], env: {}, ...out });
    assert.deepEqual(await passes(f, p.exited), { code: 7, signal: null });
    const b = await passes(f, versions.download(release(f, '1.1.0', '#!/bin/sh\nexit 8\n'), none));
    await versions.link(b);
    assert.equal(await f.again().versions.linked(), b);
    assert.deepEqual((await versions.list()).toSorted(), [a, b]);
    await versions.remove(a);
    assert.deepEqual(await versions.list(), [b]);
  });

  on('a download that is not what it should be is refused and leaves nothing', async (f) => {
    const { versions } = f.device;
    const wrong = release(f, '1.0.0', '#!/bin/sh\n', { sha256: 'a'.repeat(64) });
    await assert.rejects(passes(f, versions.download(wrong, none)), { code: 'DOWNLOAD_CORRUPT' });
    const page = release(f, 'custom', '<html>not found</html>', { sha256: '' });
    await assert.rejects(passes(f, versions.download(page, none)), { code: 'DOWNLOAD_FAILED' });
    const gone = { ...release(f, '1.0.0', 'x'), url: 'http://127.0.0.1:9/x' };
    await assert.rejects(passes(f, versions.download(gone, none)), { code: 'DOWNLOAD_FAILED' });
    assert.deepEqual([await versions.list(), await versions.linked()], [[], null]);
  });

  on('a full disk is said before anything is changed', async (f) => {
    const wanted = release(f, '1.0.0', '#!/bin/sh\necho something\n');
    f.fillDisk();
    await assert.rejects(passes(f, f.device.versions.download(wanted, none)), { code: 'DISK_FULL' });
    assert.deepEqual(await f.device.versions.list(), []);
  });

  on('a stored version that was damaged is not used', async (f) => {
    const id = await passes(f, f.device.versions.download(release(f, '1.0.0', '#!/bin/sh\necho fine\n'), none));
    await f.device.versions.link(id);
    await f.damage(`versions/${id}/platform-server`);
    const later = f.again().versions;
    assert.equal(await later.linked(), null);
    await assert.rejects(later.link(id), { code: 'DOWNLOAD_CORRUPT' });
    assert.deepEqual(await later.list(), []);
  });

  on('an own build is known by its URL until its source changes', async (f) => {
    const { versions } = f.device;
    const own = release(f, 'custom', '#!/bin/sh\necho 1\n', { sha256: '' });
    assert.equal(await versions.known(own.url, none), null);
    const id = await passes(f, versions.download(own, none));
    assert.equal(await versions.known(own.url, none), id);
    f.publish('custom', '#!/bin/sh\necho 2\n');
    assert.equal(await passes(f, f.again().versions.known(own.url, none)), null);
  });

  on('a download ends when its signal says so', async (f) => {
    const stop = new AbortController();
    const work = f.device.versions.download(release(f, '1.0.0', '#!/bin/sh\n'), stop.signal);
    stop.abort();
    await assert.rejects(passes(f, work), { name: 'AbortError' });
  });
}
