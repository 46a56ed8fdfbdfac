import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { liveLimits, LiveViews, type SentView } from './live-views.ts';

const imageOf = (bytes: number): SentView => ({
  jpeg: new Uint8Array(bytes),
  takenOn: undefined,
  problem: undefined,
  boxes: [],
});
const failed: SentView = {
  boxes: [],
  jpeg: new Uint8Array(),
  takenOn: undefined,
  problem: { code: 'CAMERA_FAILED', message: 'The camera gives no image.', remedy: '' },
};
const dayMs = 24 * 3_600_000;

function world({ dayBytes = 1e9, memoryBytes }: { dayBytes?: number; memoryBytes?: number } = {}) {
  const clock = new FakeClock();
  const views = new LiveViews({ dayBytes, first: 100, ...(memoryBytes !== undefined && { memoryBytes }) });
  const time = () => ({ now: clock.now(), day: Math.floor(clock.wall() / dayMs) });
  return {
    views,
    pass: (ms: number) => clock.advance(ms),
    want: (camera = 'front', part = 'p') => views.want(part, camera, time()),
    desired: (part = 'p') => views.desired(part, time()),
    send: (camera = 'front', view = imageOf(1_000), part = 'p') => views.take(part, camera, view, time()),
    today: (part = 'p') => views.bytesToday(part, time()),
    isLimitReached: () => views.isLimitReached('p', time()),
    sweep: () => views.sweep(time()),
  };
}

test('a request of a page asks for ten seconds; a later one asks the machine again', async () => {
  const on = world();
  assert.deepEqual(on.desired(), { state: '', cameras: [] });
  assert.equal(on.want(), 'asked');
  const first = on.desired();
  assert.deepEqual(first.cameras, ['front']);
  await on.pass(9_000);
  assert.equal(on.want(), 'known');
  await on.pass(9_000);
  assert.deepEqual(on.desired(), first);
  await on.pass(1_000);
  assert.deepEqual(on.desired(), { state: '', cameras: [] });
  assert.equal(on.want(), 'asked');
  assert.notEqual(on.desired().state, first.state, 'the machine has stopped: the same state would not wake it');
});

test('a machine that sends nothing receives another request every twenty seconds, and one that sends is not', async () => {
  const on = world();
  const asked = { silent: 0, sending: 0 };
  on.want();
  for (let s = 0; s < 100; s += 5) {
    await on.pass(5_000);
    if (on.want() === 'asked') asked.silent++;
  }
  for (let s = 0; s < 100; s += 5) {
    on.send();
    await on.pass(5_000);
    if (on.want() === 'asked') asked.sending++;
  }
  assert.deepEqual(asked, { silent: 5, sending: 0 });
});

test('an image is kept while its camera is looked at, and only the newest', async () => {
  const on = world();
  assert.deepEqual(on.send(), { isWanted: false, bytesLeft: 1e9 });
  assert.equal(on.views.newest('p', 'front'), undefined);
  on.want();
  assert.deepEqual(on.send(), { isWanted: true, bytesLeft: 1e9 - 1_000 });
  const first = on.views.newest('p', 'front')!;
  await on.pass(500);
  on.send('front', imageOf(2_000));
  const second = on.views.newest('p', 'front')!;
  assert.ok(second.sequence > first.sequence);
  assert.deepEqual([second.jpeg.length, on.views.bytes, on.today()], [2_000, 2_000, 3_000]);
  assert.equal(on.views.newest('p', 'back'), undefined);
  assert.equal(on.views.newest('q', 'front'), undefined);
  await on.pass(10_000);
  assert.deepEqual(on.send(), { isWanted: false, bytesLeft: 1e9 - 3_000 });
  on.sweep();
  assert.notEqual(on.views.newest('p', 'front'), undefined);
  await on.pass(20_000);
  on.sweep();
  assert.deepEqual([on.views.newest('p', 'front'), on.views.bytes], [undefined, 0]);
});

test('a failure takes the place of the image', () => {
  const on = world();
  on.want();
  on.send();
  assert.deepEqual(on.send('front', failed), { isWanted: true, bytesLeft: 1e9 - 1_000 });
  assert.deepEqual(on.views.newest('p', 'front')?.problem, failed.problem);
  assert.equal(on.views.bytes, 0);
});

test('more than two a second of one camera are refused', async () => {
  const on = world();
  on.want('front');
  on.want('back');
  const taken = { front: 0, back: 0 };
  for (let ms = 0; ms < 10_000; ms += 100) {
    on.want('front');
    on.want('back');
    if (on.send('front') !== 'too often') taken.front++;
    if (ms % 500 === 0 && on.send('back') !== 'too often') taken.back++;
    await on.pass(100);
  }
  assert.ok(taken.front <= 22, `${taken.front} of one camera in ten seconds`);
  assert.equal(taken.back, 20);
});

test('four cameras of a machine are requested at once; others when one of them is left', async () => {
  const on = world();
  for (const camera of ['a', 'b', 'c', 'd']) assert.equal(on.want(camera), 'asked');
  assert.equal(on.want('e'), 'full');
  assert.equal(on.want('e', 'q'), 'asked', 'of another machine');
  assert.equal(on.want('a'), 'known');
  const before = on.desired();
  assert.deepEqual(before.cameras, ['a', 'b', 'c', 'd']);
  await on.pass(8_000);
  for (const camera of ['a', 'b', 'c']) on.want(camera);
  await on.pass(2_000);
  assert.equal(on.want('e'), 'asked');
  assert.deepEqual(on.desired().cameras, ['a', 'b', 'c', 'e']);
  assert.notEqual(on.desired().state, before.state);
});

test('a machine sends the bytes of its day, and the next day begins at midnight UTC', async () => {
  const on = world({ dayBytes: 2 * liveLimits.imageBytes });
  on.want();
  assert.deepEqual(on.send('front', imageOf(60_000)), { isWanted: true, bytesLeft: 60_000 });
  await on.pass(500);
  assert.deepEqual(on.send('front', imageOf(60_000)), { isWanted: false, bytesLeft: 0 });
  assert.equal(on.isLimitReached(), true);
  assert.deepEqual([on.desired().state, on.want()], ['', 'known']);
  assert.deepEqual(on.send(), { isWanted: false, bytesLeft: 0 });
  await on.pass(dayMs);
  assert.deepEqual([on.today(), on.isLimitReached(), on.want()], [0, false, 'asked']);
  on.sweep();
  assert.deepEqual(on.send('front', imageOf(60_000)), { isWanted: true, bytesLeft: 60_000 });
});

test('no bytes are left after a last image of the day that has many boxes', () => {
  const box = { label: 'x'.repeat(liveLimits.label), confidence: 1, xMin: 0, yMin: 0, xMax: 1, yMax: 1 };
  const full = { ...imageOf(liveLimits.imageBytes), boxes: Array.from({ length: liveLimits.boxes }, () => box) };
  const on = world({ dayBytes: liveLimits.imageBytes });
  on.want();
  assert.deepEqual(on.send('front', full), { isWanted: false, bytesLeft: 0 });
  assert.equal(on.isLimitReached(), true);
});

test('without bytes there are no live views', () => {
  const on = world({ dayBytes: 0 });
  assert.deepEqual([on.want(), on.desired().state, on.isLimitReached()], ['known', '', true]);
});

test('all images together have a limit, and the oldest go first', () => {
  const on = world({ memoryBytes: 2_500 });
  for (const part of ['p', 'q', 'r']) {
    on.want('front', part);
    on.send('front', imageOf(1_000), part);
  }
  assert.equal(on.views.bytes, 2_000);
  assert.deepEqual(
    ['p', 'q', 'r'].map((part) => on.views.newest(part, 'front') !== undefined),
    [false, true, true],
  );
});
