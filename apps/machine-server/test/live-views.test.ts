import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { SendViewRequestSchema, SendViewResponseSchema } from '@platform/contract/gen/platform/live/v1/live_pb';
import type { SendViewRequest } from '@platform/contract/gen/platform/live/v1/live_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { liveImage } from '../src/live/live-image.ts';
import { PredictedImages } from '../src/resources/predicted-images.ts';
import { sendViews } from '../src/live/send-views.ts';
import { noViews } from '../src/cloud/desired-views.ts';
import type { DesiredViews } from '../src/cloud/desired-views.ts';
import type { CameraImage } from '../src/resources/resource.ts';
import { RunningResources } from '../src/resources/running.ts';
import { jpeg as codec } from './codecs.ts';

const small = await sharp({ create: { width: 8, height: 6, channels: 3, background: 'rgb(10, 120, 40)' } })
  .jpeg()
  .toBuffer();

// The codec is compiled at its first use, which takes longer than the clock of the tests waits.
await liveImage(small, 'a', codec);

/** The loop with one camera and a management server that answers as `isWanted` says. */
async function world() {
  const clock = new FakeClock();
  const desired = new Cell<DesiredViews>(noViews);
  const sent: { at: number; request: SendViewRequest }[] = [];
  const state: { isWanted: boolean; failure?: ConnectError; camera: () => Promise<CameraImage>; now: number } = {
    isWanted: true,
    camera: async () => ({ bytes: small, format: 'jpeg', source: 'a.jpg' }),
    now: 0,
  };
  const running = new RunningResources();
  const stop = async () => {};
  for (const name of ['front', 'back'])
    await running.put(name, name, { offer: { is: 'camera', camera: { image: () => state.camera() } }, stop });
  const end = new AbortController();
  const { log } = captureLog(clock);
  const live = {
    sendView: async (init: object) => {
      state.now++;
      assert.equal(state.now, 1, 'never two at once');
      await clock.sleep(50);
      state.now--;
      if (state.failure) throw state.failure;
      sent.push({ at: clock.now(), request: create(SendViewRequestSchema, init) });
      return create(SendViewResponseSchema, { isWanted: state.isWanted });
    },
  };
  const predicted = new PredictedImages();
  const done = sendViews({ live, partId: 'p', desired, running, predicted, jpeg: codec, clock, log }, end.signal);
  return {
    state,
    desired,
    sent,
    clock,
    predicted,
    /** @returns what was sent meanwhile. */
    async pass(ms: number) {
      const before = sent.length;
      for (let left = ms; left > 0; left -= 50) {
        await clock.advance(50);
        for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve));
      }
      return sent.slice(before).map(({ request }) => request);
    },
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
    },
  };
}

test('images of a desired camera are sent, at most two a second, until none is desired', async () => {
  await using w = await world();
  assert.deepEqual(await w.pass(60_000), []);
  w.desired.set({ state: '1', cameras: ['front'] });
  const images = await w.pass(10_000);
  assert.ok(images.length >= 15 && images.length <= 20, `${images.length} in ten seconds`);
  assert.ok(images.every(({ camera, jpeg }) => camera === 'front' && jpeg[0] === 0xff));
  assert.ok(images[0]?.takenOn);
  const gaps = w.sent.slice(1).map(({ at }, n) => at - (w.sent[n]?.at ?? 0));
  assert.ok(Math.min(...gaps) >= 500, `${Math.min(...gaps)} ms`);
  w.state.isWanted = false;
  assert.equal((await w.pass(2_000)).length, 1, 'the answer ends it');
  assert.deepEqual(await w.pass(60_000), []);
});

test('two cameras share the two images a second', async () => {
  await using w = await world();
  w.desired.set({ state: '1.2', cameras: ['front', 'back'] });
  const images = await w.pass(10_000);
  assert.ok(images.length <= 20);
  const front = images.filter(({ camera }) => camera === 'front').length;
  assert.ok(Math.abs(images.length - 2 * front) <= 1, `${front} of ${images.length}`);
  w.desired.set({ state: '2', cameras: ['back'] });
  assert.deepEqual(new Set((await w.pass(5_000)).map(({ camera }) => camera)), new Set(['back']));
});

test('it ends fifteen seconds after the last answer, and begins again at a new request', async () => {
  await using w = await world();
  w.desired.set({ state: '1', cameras: ['front'] });
  await w.pass(3_000);
  w.state.failure = new ConnectError('gone', Code.Unavailable);
  await w.pass(20_000);
  delete w.state.failure;
  assert.deepEqual(await w.pass(60_000), []);
  w.desired.set({ state: '2', cameras: ['front'] });
  assert.ok((await w.pass(3_000)).length >= 4);
});

test('a short failure of the server does not end it', async () => {
  await using w = await world();
  w.desired.set({ state: '1', cameras: ['front'] });
  await w.pass(3_000);
  w.state.failure = new ConnectError('gone', Code.Unavailable);
  await w.pass(8_000);
  delete w.state.failure;
  assert.ok((await w.pass(5_000)).length >= 5);
});

test('a camera that fails is reported every five seconds, and its image follows when it works', async () => {
  await using w = await world();
  const works = w.state.camera;
  w.state.camera = () => Promise.reject(new PlatformError('CAMERA_FAILED', { name: 'front', problem: 'no device' }));
  w.desired.set({ state: '1', cameras: ['front'] });
  const failed = await w.pass(21_000);
  assert.deepEqual(
    failed.map(({ problem, jpeg }) => [problem?.code, problem?.message, jpeg.length]),
    Array.from({ length: 5 }, () => ['CAMERA_FAILED', 'The camera "front" gives no image: no device.', 0]),
  );
  w.state.camera = works;
  await w.pass(5_000);
  assert.equal((await w.pass(1_000)).at(-1)?.problem, undefined);
  w.desired.set({ state: '2', cameras: ['no such camera'] });
  assert.equal((await w.pass(1_000)).at(-1)?.problem?.code, 'RESOURCE_NOT_FOUND');
  w.state.camera = async () => ({ bytes: Buffer.from([0xff, 0xd8, 0xff]), format: 'jpeg', source: 'b.jpg' });
  w.desired.set({ state: '3', cameras: ['front'] });
  assert.equal((await w.pass(1_000)).at(-1)?.problem?.code, 'INVALID_IMAGE');
});

const noise = (width: number, height: number) => {
  let seed = 1;
  const data = Buffer.alloc(width * height * 3);
  for (let at = 0; at < data.length; at++) data[at] = (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) >> 16;
  return sharp(data, { raw: { width, height, channels: 3 } });
};

for (const [what, make, width, height] of [
  ['a small image keeps its size', () => noise(100, 60).png(), 100, 60],
  ['a large one is reduced', () => noise(2000, 1000).blur(8).jpeg(), 640, 320],
  ['a high one, too', () => noise(500, 2000).blur(8).jpeg(), 160, 640],
  ['one that is turned is upright', () => noise(800, 400).blur(8).jpeg().withMetadata({ orientation: 6 }), 320, 640],
  ['noise has fewer pixels', () => noise(1280, 1280).jpeg({ quality: 100 }), undefined, undefined],
] as const)
  test(`a live image has at most 640 pixels a side and 60,000 bytes: ${what}`, async () => {
    const made = await liveImage(await make().toBuffer(), 'a', codec);
    const found = await sharp(made).metadata();
    assert.equal(found.format, 'jpeg');
    assert.ok(made.length <= 60_000, `${made.length} bytes`);
    assert.equal(found.exif, undefined);
    if (width !== undefined) assert.deepEqual([found.width, found.height], [width, height]);
    else assert.ok(found.width <= 640 && found.height <= 640);
  });

const box = (label: string) => ({
  label,
  score: 0.9,
  x_min_normalized: 0.1,
  y_min_normalized: 0.2,
  x_max_normalized: 0.5,
  y_max_normalized: 0.6,
});
const blue = await sharp({ create: { width: 9, height: 6, channels: 3, background: 'rgb(10, 20, 240)' } })
  .jpeg()
  .toBuffer();

test('boxes are sent with the image in which they were found, and an image of now without any', async () => {
  await using w = await world();
  const note = (label: string, agoMs = 0) =>
    w.predicted.note('front', {
      bytes: blue,
      source: 'b.jpg',
      takenAt: w.clock.now() - agoMs,
      boxes: label === '' ? [] : [box(label)],
    });
  note('before a view');
  assert.equal(w.predicted.newest('front'), undefined, 'nothing is kept without a view');
  w.desired.set({ state: '1', cameras: ['front'] });
  await w.pass(1_000);
  const widths = async (requests: readonly SendViewRequest[]) =>
    Promise.all(requests.map(async ({ jpeg }) => (await sharp(jpeg).metadata()).width));
  const labels = (requests: readonly SendViewRequest[]) => requests.map(({ boxes }) => boxes.map(({ label }) => label));

  note('cow');
  const taken = w.clock.wall();
  const [first, ...more] = await w.pass(900);
  assert.deepEqual(labels([first!, ...more]), [['cow']], 'it stays, in place of newer images without boxes');
  assert.deepEqual(await widths([first!]), [9]);
  assert.equal(timestampMs(first!.takenOn!), taken);
  const { label: _, $typeName: _type, ...found } = first!.boxes[0]!;
  assert.deepEqual(found, { confidence: 0.9, xMin: 0.1, yMin: 0.2, xMax: 0.5, yMax: 0.6 });

  const later = await w.pass(2_000);
  assert.ok(later.length >= 2);
  assert.deepEqual(labels(later).flat(), [], 'boxes of more than a second ago are of another moment');
  assert.deepEqual(new Set(await widths(later)), new Set([8]));

  note('slow', 1_000);
  assert.deepEqual(labels(await w.pass(2_000)).flat(), [], 'its model took too long');
  note('new');
  note('old', 500);
  assert.equal(w.predicted.newest('front')?.boxes[0]?.label, 'new');
  w.desired.set(noViews);
  await w.pass(1_000);
  assert.equal(w.predicted.newest('front'), undefined);
});

test('a detector that is fast enough sets the pace, and all its images have boxes', async () => {
  await using w = await world();
  w.desired.set({ state: '1', cameras: ['front'] });
  await w.pass(1_000);
  const sent: SendViewRequest[] = [];
  for (let n = 0; n < 10; n++) {
    w.predicted.note('front', { bytes: blue, source: 'b.jpg', takenAt: w.clock.now(), boxes: [box(`${n}`)] });
    sent.push(...(await w.pass(800)));
  }
  assert.ok(sent.length >= 9 && sent.length <= 11, `${sent.length} images`);
  assert.ok(sent.every(({ boxes }) => boxes.length === 1));
});
