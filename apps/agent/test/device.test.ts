// One contract test for every device: the simulated device behaves like the real one.
import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { processStartTime, systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { linuxDevice } from '../src/os/linux/device.ts';
import type { Device, Position, RunningProcess } from '../src/os/ports.ts';
import { SimDevice } from '../src/os/sim/device.ts';

interface Fixture extends AsyncDisposable {
  device: Device;
  /** The same machine as a later agent process sees it. */
  again(): Device;
  program(name: string, script: string): Promise<string>;
  isAlive(pid: number): boolean;
  /** Advances time by a small step. */
  tick(): Promise<void>;
}

async function linux(): Promise<Fixture> {
  const folder = await tempFolder();
  const root = folder.path;
  const make = (): Device => linuxDevice({ root, mark: { name: 'TEST_MARK', value: root }, clock: systemClock });
  return {
    device: make(),
    again: make,
    async program(name, script) {
      await mkdir(folder.file('programs'), { recursive: true });
      await writeFile(folder.file('programs', name), script);
      await chmod(folder.file('programs', name), 0o755);
      return `programs/${name}`;
    },
    isAlive: (pid) => processStartTime(pid) !== undefined,
    tick: () => systemClock.sleep(20),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function sim(): Promise<Fixture> {
  const clock = new FakeClock();
  const machine = new SimDevice(clock);
  return {
    device: machine.session().device,
    again: () => machine.session().device,
    async program(name, script) {
      machine.files.put(`programs/${name}`, Buffer.from(script));
      return `programs/${name}`;
    },
    isAlive: (pid) => machine.processes.isAlive(pid),
    tick: () => clock.advance(1_100),
    [Symbol.asyncDispose]: async () => {},
  };
}

const out = { stdoutFile: 'log/out', stderrFile: 'log/err' };

for (const [kind, make] of [
  ['linux', linux],
  ['sim', sim],
] as const) {
  const on = (name: string, f: (fixture: Fixture) => Promise<void>): void => {
    void test(`${kind}: ${name}`, async () => {
      await using fixture = await make();
      await fixture.device.lines.end(out.stdoutFile); // creates the folder
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
  on('a process writes to its files and its exit is reported', async (f) => {
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
    p.signal('KILL'); // Kills remaining children; signalling an exited process succeeds.
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
}
