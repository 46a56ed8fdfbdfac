import { PlatformError } from '@platform/contract/errors/errors';
import { Cell, converge } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Attempts } from '../src/attempts.ts';
import type { MachineConfig, ResourceSpec } from '../src/machine-config.ts';
import { emptyConfig } from '../src/machine-config.ts';
import { maxImageBytes } from '../src/images/image.ts';
import type { InstalledPackage, RunnableSpec, Want } from '../src/plans/resources.ts';
import { folderCamera, httpCamera } from '../src/resources/cameras.ts';
import { followGoal, resourceReconciler, resourceStatus } from '../src/resources/reconciler.ts';
import type { Progress } from '../src/resources/reconciler.ts';
import { RunningResources } from '../src/resources/running.ts';
import { repeat } from '../src/resources/task.ts';
import { LogQueue } from '../src/cloud/log-upload.ts';
import { statusReader } from '../src/status.ts';
import { colourImage } from './colour-images.ts';

const never = new AbortController().signal;

test('a folder camera returns image by image, by time or by call', async () => {
  await using folder = await tempFolder();
  const jpeg = await colourImage('red');
  await writeFile(folder.file('b.JPG'), jpeg);
  await writeFile(folder.file('a.png'), await colourImage('red', { format: 'png' }));
  await writeFile(folder.file('notes.txt'), 'x');
  const clock = new FakeClock();
  const byTime = folderCamera({ name: 'c', folder: folder.path, intervalMs: 2000, clock });
  const seen: string[] = [];
  for (let second = 0; second < 6; second++) {
    seen.push((await byTime.image(never)).source);
    await clock.advance(1000);
  }
  assert.deepEqual(seen, ['a.png', 'a.png', 'b.JPG', 'b.JPG', 'a.png', 'a.png']);
  const byLook = folderCamera({ name: 'c', folder: folder.path, intervalMs: 0, clock });
  const looks = [await byLook.image(never), await byLook.image(never), await byLook.image(never)];
  assert.deepEqual(
    looks.map(({ source, format }) => `${source} ${format}`),
    ['a.png png', 'b.JPG jpeg', 'a.png png'],
  );
  assert.deepEqual(looks[1]?.bytes, jpeg);
});

const failsWith = (message: RegExp) => (error: Error) => {
  assert.ok(error instanceof PlatformError && error.code === 'CAMERA_FAILED', String(error));
  assert.match(error.message, message);
  return true;
};

const folderAt = (path: string) => folderCamera({ name: 'c', folder: path, intervalMs: 0, clock: new FakeClock() });

test('a folder without an image is refused with the reason', async () => {
  await using folder = await tempFolder();
  await assert.rejects(folderAt(folder.path).image(never), failsWith(/has no \.jpg or \.png/));
  await assert.rejects(
    folderAt(folder.file('none')).image(never),
    failsWith(/^CAMERA_FAILED: The camera "c" gives no image: the folder \S+none does not exist on the machine/),
  );
  await writeFile(folder.file('a.jpg'), 'not an image');
  await assert.rejects(folderAt(folder.path).image(never), failsWith(/a\.jpg is neither JPEG nor PNG/));
  await writeFile(folder.file('a.jpg'), Buffer.alloc(maxImageBytes + 1));
  await assert.rejects(folderAt(folder.path).image(never), failsWith(/limit is/));
});

test('an HTTP camera returns the image of its URL, or its failure', async () => {
  const jpeg = await colourImage('blue');
  const answers: Record<string, RequestListener> = {
    '/good.jpg': (_, response) => response.end(jpeg),
    '/gone': (_, response) => response.writeHead(404).end(),
    '/page': (_, response) => response.end('<html>'),
    '/large': (_, response) => {
      response.write(jpeg);
      response.end(Buffer.alloc(maxImageBytes));
    },
    '/silent': () => {},
  };
  const server = createServer((request, response) => answers[request.url ?? '']?.(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = new FakeClock();
  const image = (path: string) => httpCamera({ name: 'c', url: base + path, clock }).image(never);
  const { bytes, format, source } = await image('/good.jpg');
  assert.deepEqual([Buffer.from(bytes), format, source], [jpeg, 'jpeg', 'good.jpg']);
  await assert.rejects(image('/gone'), failsWith(/status 404/));
  await assert.rejects(image('/page'), failsWith(/page is neither/));
  await assert.rejects(image('/large'), failsWith(/more than 16777216 bytes/));
  const silent = assert.rejects(image('/silent'), failsWith(/longer than 10000 ms/));
  await clock.advance(10_000);
  await silent;
  server.closeAllConnections();
  server.close();
});

test('a repeated task logs the beginning and the end of a failure, not each turn', async () => {
  const clock = new FakeClock();
  const { log, text } = captureLog(clock);
  const turns = ['ok', 'dark', 'dark', 'dark', 'cold', 'ok', 'ok'];
  const task = repeat(1000, { clock, log }, async () => {
    const turn = turns.shift() ?? 'ok';
    if (turn !== 'ok') throw new Error(turn);
  });
  await clock.advance(10_000);
  await task.stop();
  assert.deepEqual(
    text()
      .split('\n')
      .map((line) => line.replace(/,?"everyMs":1000,?/, '')),
    [
      'warn test failed, will try again {"error":"dark"}',
      'warn test failed, will try again {"error":"cold"}',
      'info test works again',
    ],
  );
  assert.equal(clock.pending, 0);
});

const camera = (name: string, folder = '/a'): ResourceSpec => ({ is: 'folder camera', name, folder, intervalMs: 0 });
const net: ResourceSpec = { is: 'model', name: 'net', modelPath: '${packages.m}/m', labelPath: '${packages.m}/l' };
const at = (version: string): ReadonlyMap<string, InstalledPackage> =>
  new Map([['m', { name: 'm', id: 'o/m', version, folder: `/${version}` }]]);

/** Runs the resource loop; `bad` lists folders and package versions that make a resource fail to start. */
function running(bad: Set<string>) {
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock);
  const events: string[] = [];
  const config = new Cell<MachineConfig>(emptyConfig);
  const installed = new Cell<ReadonlyMap<string, InstalledPackage>>(new Map());
  const goal = new Cell<Want>({ revision: 0, configSha256: '', resources: [], packages: new Map() });
  const progress = new Cell<Progress>({ revision: 0, configSha256: '', isChanging: false });
  const resources = new RunningResources();
  const attempts = new Attempts(clock);
  const start = async (spec: RunnableSpec) => {
    const what = spec.is === 'folder camera' ? spec.folder : (spec.origin?.version ?? '');
    assert.ok(progress.get().isChanging);
    if (bad.has(what)) throw new Error(`${what} is bad`);
    events.push(`+${spec.name} ${what}`);
    const stop = async () => void events.push(`-${spec.name} ${what}`);
    return { offer: { is: 'task' as const }, stop };
  };
  const end = new AbortController();
  const done = Promise.all([
    converge(
      resourceReconciler({ running: resources, start, attempts, progress, log }),
      goal,
      { clock, log },
      end.signal,
    ),
    followGoal({ config, installed }, goal, end.signal),
  ]);
  return {
    clock,
    lines,
    events,
    installed,
    bad,
    set: async (revision: number, ...specs: ResourceSpec[]) => {
      config.set({ ...emptyConfig, revision, resources: specs });
      await clock.advance(0);
    },
    revision: () => progress.get().revision,
    states: () =>
      resourceStatus(goal.get(), resources, attempts).map(({ name, state, problem }) => [name, state, problem]),
    end: async () => {
      end.abort();
      await done;
      assert.deepEqual([clock.pending, goal.listeners, config.listeners, installed.listeners], [0, 0, 0, 0]);
    },
  };
}

test('resources come, change and go with the configuration; the new one is there before the old one ends', async () => {
  const it = running(new Set());
  await it.set(1, camera('a', '/1'), camera('b', '/1'));
  await it.set(2, camera('a', '/2'), camera('b', '/1'));
  await it.set(3, camera('b', '/1'));
  assert.deepEqual(it.events, ['+a /1', '+b /1', '+a /2', '-a /1', '-a /2']);
  assert.equal(it.revision(), 3);
  await it.end();
});

test('one that does not start leaves the rest and its predecessor alone, and is tried again', async () => {
  const it = running(new Set(['/bad', '2']));
  await it.set(1, camera('a', '/bad'), camera('b', '/1'), net);
  assert.deepEqual([it.events, it.revision()], [['+b /1'], 1]);
  assert.deepEqual(it.states(), [
    ['a', 'failed', '/bad is bad'],
    ['b', 'running', undefined],
    ['net', 'waiting', 'package "m" is not there yet'],
  ]);
  it.installed.set(at('1'));
  await it.clock.advance(0);
  it.installed.set(at('2'));
  await it.clock.advance(0);
  assert.deepEqual(it.events, ['+b /1', '+net 1']);
  assert.deepEqual(it.states()[2], ['net', 'running', '2 is bad']);
  it.bad.clear();
  await it.clock.advance(10_000);
  assert.deepEqual(it.events.slice(2).toSorted(), ['+a /bad', '+net 2', '-net 1']);
  assert.deepEqual(
    it.states().map(([, state]) => state),
    ['running', 'running', 'running'],
  );
  await it.end();
});

test('restart status: not while a configuration is put in effect, not without the sensor, nor when it hangs', async () => {
  const clock = new FakeClock();
  const wanted = new Cell<MachineConfig>({ ...emptyConfig, revision: 2 });
  const progress = new Cell<Progress>({ revision: 1, configSha256: '', isChanging: false });
  const sensors = new RunningResources();
  const contact = new Cell({ isOnline: true });
  const programFile = { isReplaced: async () => true };
  const reporter = { read: () => ({ report: { revision: 2, resources: [] }, etag: 'e1' }) };
  const deps = { wanted, progress, contact, running: sensors, reporter, queue: new LogQueue(), programFile, clock };
  const { readRestartStatus } = statusReader(deps);
  await clock.advance(1234);
  assert.deepEqual(await readRestartStatus(), {
    restartAllowed: false,
    doesNotHandleNeedsRestart: true,
    version: '0.1.0',
    uptimeSeconds: 1.2,
    reconfiguring: true,
    revision: 1,
    restartNeeded: true,
    resourceStatusEtag: 'e1',
  });
  const isAllowed = async () => (await readRestartStatus()).restartAllowed;
  progress.set({ revision: 2, configSha256: '', isChanging: true });
  assert.equal(await isAllowed(), false);
  progress.set({ revision: 2, configSha256: '', isChanging: false });
  assert.equal(await isAllowed(), true);

  wanted.set({ ...wanted.get(), maintenance: { sensor: 'hatch', key: 'closed' } });
  assert.equal(await isAllowed(), true);
  const sensor = async (readings: () => Promise<Record<string, unknown>>) =>
    sensors.put('hatch', 'k', { offer: { is: 'sensor', sensor: { readings } }, stop: async () => {} });
  await sensor(async () => ({ closed: true }));
  assert.equal(await isAllowed(), true);
  await sensor(() => Promise.reject(new Error('unplugged')));
  assert.equal(await isAllowed(), false);
  await sensor(() => new Promise(() => {}));
  const hanging = readRestartStatus();
  await clock.advance(5000);
  assert.match((await hanging).maintenance?.reading ?? '', /longer than 5000 ms/);
  assert.equal(clock.pending, 0);
});
