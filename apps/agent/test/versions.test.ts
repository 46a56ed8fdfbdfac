// Downloads, verifies and switches versions: in a real folder with a real server, and on the simulated device.
import assert from 'node:assert/strict';
import { readFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { linuxDevice } from '../src/os/linux/device.ts';
import type { Device, FileSystem } from '../src/os/ports.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import { idOf } from '../src/state/state.ts';
import { fetchRelease } from '../src/versions/fetch-release.ts';
import type { Program } from '../src/versions/layout.ts';
import type { Fetched, FetchTask, Patches } from '../src/versions/fetch-ports.ts';
import type { Trust } from '../src/versions/trust/trust.ts';
import { programStore, type ProgramStore } from '../src/versions/program-store.ts';
import { agentBytes, serverBytes } from './programs.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';

interface Fixture extends AsyncDisposable {
  device: Device;
  publish(name: string, bytes: Uint8Array): string;
  damage(file: string): Promise<void>;
  /** Sets the free disk space. */
  setFree(bytes: number): void;
  tick(): Promise<void>;
}

async function linux(): Promise<Fixture> {
  const folder = await tempFolder();
  const server = await listen(new TestCloud(systemClock));
  const root = folder.path;
  const free = { bytes: 1e12 };
  const device = linuxDevice({ root, mark: { name: 'TEST_MARK', value: root }, clock: systemClock });
  return {
    device: { ...device, files: { ...device.files, freeBytes: async () => free.bytes } },
    publish: (name, bytes) => server.publish(`/${name}`, { bytes: Buffer.from(bytes) }),
    damage: async (file) => {
      const whole = await readFile(path.join(root, file));
      await truncate(path.join(root, file), whole.length - 1);
    },
    setFree: (bytes) => void (free.bytes = bytes),
    tick: () => systemClock.sleep(5),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function sim(): Promise<Fixture> {
  const clock = new FakeClock();
  const machine = new SimDevice(clock);
  machine.files.capacityBytes = 1e12;
  return {
    device: machine.session().device,
    publish(name, bytes) {
      machine.releases.files.set(`https://sim/${name}`, bytes);
      return `https://sim/${name}`;
    },
    damage: async (name) => {
      const file = machine.files.get(name)!;
      file.bytes = file.bytes.slice(0, -1);
    },
    setFree: (bytes) => void (machine.files.capacityBytes = machine.files.usedBytes() + bytes),
    tick: () => clock.advance(1_100),
    [Symbol.asyncDispose]: async () => {},
  };
}

const none = new AbortController().signal;
const { log } = captureLog(new FakeClock());
const storeOn = ({ device }: Fixture, program: Program = 'server'): ProgramStore =>
  programStore(device.files, program, { clock: new FakeClock(), log });
const yes = { clearance: 0, needs: 'local' } as const;

async function passes<T>(f: Fixture, work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  void work.catch(() => {}).finally(() => (state.isDone = true));
  while (!state.isDone) await f.tick();
  return work;
}

async function download(
  f: Fixture,
  of: Partial<FetchTask> & { bytes: Uint8Array },
  { trust, patches }: { trust?: Trust; patches?: Patches } = {},
): Promise<Fetched> {
  const { bytes, program = 'server', version = '1.0.0', ...more } = of;
  const task: FetchTask = {
    program,
    platform: 'linux/amd64',
    version,
    url: more.url ?? f.publish(version, bytes),
    sha256: sha256Of(bytes).toString('hex'),
    sizeBytes: 0,
    target: '',
    isUnsigned: false,
    deltas: [],
    ...more,
  };
  const { files, web } = f.device;
  const clock = f.device.host.hostname() === 'sim' ? new FakeClock() : systemClock;
  const parts = { files, web, store: storeOn(f, program), trust, patches, boot: 'one', clock, log };
  return passes(
    f,
    fetchRelease(task, parts, () => {}, none),
  );
}

for (const [kind, make] of [
  ['linux', linux],
  ['sim', sim],
] as const) {
  const on = (name: string, f: (fixture: Fixture) => Promise<void>): void => {
    void test(`${kind}: ${name}`, async () => {
      await using fixture = await make();
      for (const folder of ['bin', 'state', 'versions', 'cache']) await fixture.device.files.mkdir(folder);
      await f(fixture);
    });
  };
  const [one, two, three] = ['1.0.0', '1.1.0', '1.2.0'].map((version) => serverBytes(version)) as [
    Buffer,
    Buffer,
    Buffer,
  ];

  on('a version that failed here is never the way back', async (f) => {
    const store = storeOn(f);
    const { id: a } = await download(f, { bytes: one });
    await store.activate(a, yes); // the first version: no previous version exists
    await store.quarantine(a, 'it did not start', 0);
    const { id: b } = await download(f, { bytes: two, version: '1.1.0' });
    await store.activate(b, yes);
    assert.equal((await store.trial())?.from, a, 'better than nothing');

    // The running version becomes the previous one for each later trial.
    const { id: c } = await download(f, { bytes: three, version: '1.2.0' });
    await store.activate(c, yes);
    assert.deepEqual([(await store.trial())?.from, (await store.trial())?.to], [b, c]);
    await store.revert('it crashed');
    assert.equal(await store.linked(), b);

    // The failed version itself is tried again, also on trial.
    await store.activate(c, yes);
    await store.activate(a, yes);
    assert.deepEqual([await store.linked(), (await store.trial())?.from], [a, b]);
    await store.revert('it did not start');
    assert.equal(await store.linked(), b);
  });

  on('a version that another process puts on trial while one passes the health check stays on trial', async (f) => {
    const store = storeOn(f);
    const { id: a } = await download(f, { bytes: one });
    await store.activate(a, yes);
    const { id: b } = await download(f, { bytes: two, version: '1.1.0' });
    const { id: c } = await download(f, { bytes: three, version: '1.2.0' });
    await store.activate(b, yes);
    const { files } = f.device;
    const late: FileSystem = {
      ...files,
      async rename(from, to) {
        await files.rename(from, to);
        if (to.endsWith('.previous')) await storeOn(f).activate(c, yes);
      },
    };
    await programStore(late, 'server', { clock: new FakeClock(), log }).confirm();
    const trial = await store.trial();
    assert.deepEqual([await store.linked(), trial?.to], [c, c]);
    await store.revert('it crashed');
    assert.equal(await store.linked(), trial?.from);
  });

  on('fetched, used, tried, proven, rolled back, removed', async (f) => {
    const store = storeOn(f);
    assert.deepEqual([await store.list(), await store.linked(), await store.previous()], [[], null, null]);
    const { id: a } = await download(f, { bytes: one });
    assert.equal(a, idOf('1.0.0', sha256Of(one).toString('hex')));
    assert.equal(await store.linked(), null);
    await store.activate(a, yes);
    assert.deepEqual([await store.linked(), await store.trial()], [a, undefined], 'nothing to go back to: no trial');
    assert.deepEqual(await store.beginStart(), { id: a, outcome: 'normal' });

    const { id: b } = await download(f, { bytes: two, version: '1.1.0' });
    await store.activate(b, { clearance: 3, needs: 'cloud' });
    const trial = await store.trial();
    assert.deepEqual([trial?.from, trial?.to, trial?.starts, trial?.clearance, trial?.needs], [a, b, 0, 3, 'cloud']);
    assert.deepEqual(await store.beginStart(), { id: b, outcome: 'trial' });
    assert.equal((await storeOn(f).trial())?.starts, 1);
    await store.confirm();
    assert.deepEqual([await store.linked(), await store.trial(), await store.previous()], [b, undefined, a]);

    const { id: c } = await download(f, { bytes: three, version: '1.2.0' });
    await store.activate(c, yes);
    await store.revert('it hurts');
    assert.deepEqual([await store.linked(), await store.trial(), await store.previous()], [b, undefined, a]);
    assert.deepEqual(
      (await store.bad()).map(({ id, reason }) => [id, reason]),
      [[c, 'it hurts']],
    );
    await store.remove(c);
    assert.deepEqual((await store.list()).map(({ id }) => id).toSorted(), [a, b]);
    assert.deepEqual(
      [await store.clearQuarantine(), await store.clearQuarantine(), await store.bad()],
      [true, false, []],
    );
  });

  on('a version that has not passed the health check is never the target of a rollback', async (f) => {
    const store = storeOn(f);
    const ids: string[] = [];
    for (const [i, bytes] of [one, two, three].entries()) {
      ids.push((await download(f, { bytes, version: `1.${i}.0` })).id);
      await store.activate(ids[i]!, yes);
    }
    assert.equal((await store.trial())?.from, ids[0]);
    await store.activate(ids[0]!, yes);
    assert.deepEqual([await store.linked(), await store.trial()], [ids[0], undefined]);
  });

  on('the same once more changes nothing', async (f) => {
    const { id } = await download(f, { bytes: one });
    const again = await download(f, { bytes: one });
    assert.equal(again.id, id);
    assert.deepEqual((await storeOn(f).list()).length, 1);
  });

  on('a stored version that was damaged is not used', async (f) => {
    const { id } = await download(f, { bytes: one });
    await storeOn(f).activate(id, yes);
    await f.damage(`versions/${id}/platform-server`);
    assert.equal(await storeOn(f).linked(), null);
    await assert.rejects(storeOn(f).activate(id, yes), { code: 'DOWNLOAD_CORRUPT' });
    assert.deepEqual(await storeOn(f).list(), []);
  });

  on('bad_hash, short_body, endless_body: refused, and nothing is kept', async (f) => {
    const left = async () => [await storeOn(f).list(), await storeOn(f).linked()];
    await assert.rejects(download(f, { bytes: one, sha256: 'a'.repeat(64) }), { code: 'DOWNLOAD_CORRUPT' });
    await assert.rejects(download(f, { bytes: one, sizeBytes: one.length + 1 }), { code: 'DOWNLOAD_FAILED' });
    await assert.rejects(download(f, { bytes: one, sizeBytes: one.length - 1 }), /larger than/);
    await assert.rejects(download(f, { bytes: one, url: 'http://127.0.0.1:9/x' }), { code: 'DOWNLOAD_FAILED' });
    assert.deepEqual(await left(), [[], null]);
  });

  on('disk_full_precheck: reported before anything is changed', async (f) => {
    f.setFree(2 * one.length + 50 * 2 ** 20 - 1);
    await assert.rejects(download(f, { bytes: one, sizeBytes: one.length }), { code: 'DISK_FULL' });
    await assert.rejects(download(f, { bytes: one }), { code: 'DISK_FULL' });
    assert.deepEqual(await storeOn(f).list(), []);
    f.setFree(2 * one.length + 50 * 2 ** 20);
    await download(f, { bytes: one, sizeBytes: one.length });
  });

  const agent = agentBytes('2.0.0');
  const wrong: [name: string, program: Program, bytes: Buffer, refusal: RegExp | undefined][] = [
    ['an agent', 'agent', agent, undefined],
    ['an agent as server', 'server', agent, /it is platform-agent and not platform-server/],
    ['a server as agent', 'agent', one, /it is platform-server and not platform-agent/],
    ['an agent for another machine', 'agent', agentBytes('2.0.0', 'linux/arm64'), /linux\/arm64, and this machine is/],
    ['an agent that does not say so', 'agent', agent.subarray(0, 64), /does not say that it is platform-agent/],
    ['an own server', 'server', agent.subarray(0, 64), undefined],
    ['an own server that is a script', 'server', Buffer.from('#!/bin/sh\n'), undefined],
    ['a script as agent', 'agent', Buffer.from('#!/bin/sh\n'), /does not say/],
    ['a web page', 'server', Buffer.from('<html>not found</html>'), /it is not a program/],
  ];
  for (const [name, program, bytes, refusal] of wrong) {
    on(`what a file is, is seen in it: ${name}`, async (f) => {
      const got = await download(f, { program, bytes });
      if (refusal) assert.match(got.refusal ?? '', refusal);
      else assert.equal(got.refusal, undefined);
      assert.equal((await storeOn(f, program).list()).length, refusal ? 0 : 1);
      assert.deepEqual(await f.device.files.readdir('cache/part'), []);
    });
  }

  on('only what a release key signed, or an owner consented to', async (f) => {
    const sha256 = sha256Of(one).toString('hex');
    const trust: Trust = {
      async check({ target }) {
        assert.equal(target, 'platform-server/1.0.0/linux-amd64');
        return { sha256, sizeBytes: one.length };
      },
      patch: async () => assert.fail(),
    };
    await assert.rejects(download(f, { bytes: one }, { trust }), { code: 'RELEASE_UNSIGNED' });
    const target = 'platform-server/1.0.0/linux-amd64';
    await assert.rejects(download(f, { bytes: two, target }, { trust }), { code: 'DOWNLOAD_CORRUPT' });
    await download(f, { bytes: one, target }, { trust });
    await download(f, { bytes: two, isUnsigned: true, version: 'customURL' }, { trust });
  });

  on('by a patch where there is one, else whole', async (f) => {
    await download(f, { bytes: one });
    const hash = (bytes: Uint8Array) => sha256Of(bytes).toString('hex');
    const patch = Buffer.from('append');
    const applied: string[] = [];
    const patches: Patches = {
      async apply({ source, patch: parts }, write) {
        let text = '';
        for await (const part of parts) text += new TextDecoder().decode(part);
        applied.push(`${source.split('/')[2]} ${text}`);
        await write(two.subarray(0, 10));
        await write(text === 'append' ? two.subarray(10) : one);
      },
    };
    const deltaOf = (bytes: Uint8Array, name: string) => ({
      fromSha256: hash(one),
      url: f.publish(name, bytes),
      sha256: hash(bytes),
      sizeBytes: bytes.length,
    });
    const by = await download(
      f,
      { bytes: two, version: '1.1.0', deltas: [deltaOf(patch, 'p')], url: 'https://none/x' },
      { patches },
    );
    assert.deepEqual([by.isByDelta, by.sha256, applied], [true, hash(two), ['platform-server append']]);
    await storeOn(f).remove(by.id);
    // A patch from another base and a damaged patch make the agent download the whole file.
    const bad = await download(
      f,
      { bytes: two, version: '1.1.0', deltas: [deltaOf(Buffer.from('other'), 'q')] },
      { patches },
    );
    assert.deepEqual([bad.isByDelta, bad.sha256], [false, hash(two)]);
    await storeOn(f).remove(bad.id);
    const lost = { ...deltaOf(patch, 'r'), sha256: 'b'.repeat(64) };
    assert.equal((await download(f, { bytes: two, version: '1.1.0', deltas: [lost] }, { patches })).isByDelta, false);
    assert.deepEqual(await f.device.files.readdir('cache/part'), []);
  });
}

test('linux: a download that ends when its signal says so', async () => {
  await using f = await linux();
  const { files, web } = f.device;
  const stop = new AbortController();
  const parts = {
    files,
    web,
    store: storeOn(f),
    trust: undefined,
    patches: undefined,
    boot: 'one',
    clock: systemClock,
    log,
  };
  const task: FetchTask = {
    program: 'server',
    platform: 'linux/amd64',
    version: '1.0.0',
    url: f.publish('x', serverBytes('1.0.0')),
    sha256: '',
    sizeBytes: 0,
    target: '',
    isUnsigned: false,
    deltas: [],
  };
  const work = fetchRelease(task, parts, () => {}, stop.signal);
  stop.abort();
  await assert.rejects(work, { name: 'AbortError' });
});
