// Live views: a page asks, the machine server learns it from its long poll and sends, and the page gets the image.
import assert from 'node:assert/strict';
import test from 'node:test';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationFromMs, durationMs, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  ConfigRequestSchema,
  ConfigResponseSchema,
  RobotService,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import { LiveService, ViewState } from '@platform/contract/gen/platform/live/v1/live_pb';
import sharp from 'sharp';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';

const wait = durationFromMs(20_000);
const shortWait = durationFromMs(1);
const image = (width = 64) =>
  sharp({ create: { width, height: 48, channels: 3, background: 'rgb(10, 120, 40)' } })
    .jpeg()
    .toBuffer();

async function openWorld(on: TestServer, isKey = false) {
  const { partId, machineId, part } = await on.machine('press');
  const credentials = isKey ? on.owner : part;
  const robot = await on.client(RobotService, credentials);
  const { config } = await robot.config({ id: partId });
  return {
    partId,
    machineId,
    robot,
    part,
    machine: await on.client(LiveService, credentials),
    page: await on.client(LiveService),
    known: { id: partId, knownRevision: config?.revision ?? '', wait },
  };
}

for (const isKey of [false, true])
  test(`a long poll ends when a page looks at a camera, with ${isKey ? 'an API key' : 'the secret of the part'}`, async () => {
    await using on = await testServer();
    const { partId, robot, machine, page, known } = await openWorld(on, isKey);
    const camera = 'front';
    assert.equal((await page.getView({ partId, isLook: true })).state, ViewState.NOT_SUPPORTED);

    const held = robot.config({ ...known, knownViews: '' });
    // The check of the machine is here: the server knows that it knows live views.
    while ((await page.getView({ partId, isLook: true })).state !== ViewState.WAITING);
    assert.equal((await page.getView({ partId, camera })).state, ViewState.WAITING);
    const answer = await held;
    assert.deepEqual([answer.notModified, answer.config, answer.desiredViews?.cameras], [true, undefined, [camera]]);

    const knownViews = answer.desiredViews?.state ?? '';
    const again = await robot.config({ ...known, knownViews, wait: shortWait });
    assert.equal(again.desiredViews, undefined, 'it is held while nothing changes');
    const old = await robot.config({ ...known, wait: shortWait });
    assert.equal(old.desiredViews, undefined, 'a machine server that does not know them gets none');
    const fresh = await robot.config({ id: partId, knownViews: '' });
    assert.deepEqual([fresh.config?.revision, fresh.desiredViews?.cameras], [known.knownRevision, [camera]]);

    const waiting = page.getView({ partId, camera, wait });
    const jpeg = await image();
    const cow = { label: 'cow', confidence: 0.93, xMin: 0.1, yMin: 0.2, xMax: 0.5, yMax: 0.75 };
    const takenOn = timestampFromMs(1_700_000_000_000);
    const sent = await machine.sendView({ partId, camera, jpeg, takenOn, boxes: [cow] });
    const count = BigInt(jpeg.length + 49);
    assert.deepEqual([sent.isWanted, sent.bytesLeft], [true, 200_000_000n - count]);
    const first = await waiting;
    assert.equal(first.state, ViewState.IMAGE);
    assert.deepEqual(Buffer.from(first.jpeg), jpeg);
    assert.equal(timestampMs(first.takenOn!), 1_700_000_000_000);
    assert.ok(durationMs(first.age!) < 5_000);
    assert.deepEqual([first.bytesToday, first.bytesPerDay], [count, 200_000_000n]);
    assert.partialDeepStrictEqual(first.boxes, [cow]);
    const same = await page.getView({ partId, camera, knownSequence: first.sequence, wait: shortWait });
    assert.deepEqual([same.state, same.sequence, same.jpeg.length], [ViewState.IMAGE, first.sequence, 0]);
    assert.deepEqual(same.boxes, [], 'boxes come with their image only');

    const problem = { code: 'CAMERA_FAILED', message: 'The camera "front" gives no image.', remedy: 'Plug it in.' };
    await machine.sendView({ partId, camera, problem });
    const failed = await page.getView({ partId, camera, knownSequence: first.sequence, wait });
    assert.deepEqual([failed.state, failed.problem?.message, failed.jpeg.length], [2, problem.message, 0]);

    const other = await machine.sendView({ partId, camera: 'back', jpeg });
    assert.equal(other.isWanted, false, 'no page looks at it');
  });

test('the check of a machine server that its memory answers has live views, too', async () => {
  await using on = await testServer();
  const { partId, page, known, part } = await openWorld(on);
  const token = await on.token(part);
  const check = async (request: MessageInitShape<typeof ConfigRequestSchema>) => {
    const response = await fetch(`${on.url}/${RobotService.typeName}/Config`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto', authorization: `Bearer ${token}` },
      body: toBinary(ConfigRequestSchema, create(ConfigRequestSchema, request)),
    });
    const answer = fromBinary(ConfigResponseSchema, new Uint8Array(await response.arrayBuffer()));
    return { answer, isFast: response.headers.get('cache-status') === 'platform; hit' };
  };
  const held = check({ ...known, knownViews: '' });
  const old = check({ ...known, wait: durationFromMs(1_000) });
  while ((await page.getView({ partId, isLook: true })).state !== ViewState.WAITING);
  await page.getView({ partId, camera: 'front' });
  const { desiredViews, config } = (await held).answer;
  assert.deepEqual([desiredViews?.cameras, config], [['front'], undefined]);
  assert.equal((await old).answer.desiredViews, undefined);
  const knownViews = desiredViews?.state ?? '';
  const same = await check({ ...known, knownViews, wait: shortWait });
  assert.deepEqual([same.answer.desiredViews, same.answer.notModified, same.isFast], [undefined, true, true]);
  const later = await check({ ...known, knownViews: 'of another server', wait });
  assert.deepEqual(later.answer.desiredViews?.state, knownViews, 'it is not held');
});

test('an image that is not a small JPEG is refused, and so are more than two a second', async () => {
  await using on = await testServer();
  const { partId, machine, page } = await openWorld(on);
  const camera = 'front';
  await page.getView({ partId, camera });
  const send = async (jpeg: Uint8Array<ArrayBuffer>) => failure(machine.sendView({ partId, camera, jpeg }));
  for (const jpeg of [Buffer.alloc(0), Buffer.from('text'), Buffer.alloc(60_001), await image(641)])
    assert.equal(await send(Buffer.from(jpeg)), 'InvalidArgument INVALID_ARGUMENT');
  const jpeg = await image();
  const boxes = [{ label: 'cow', confidence: 0.9, xMin: 0.5, yMin: 0, xMax: 0.1, yMax: 1 }];
  assert.equal(await failure(machine.sendView({ partId, camera, jpeg, boxes })), 'InvalidArgument INVALID_ARGUMENT');
  const sent = Array.from({ length: 10 }, () => send(jpeg));
  const refused = (await Promise.all(sent)).filter((code) => code === 'ResourceExhausted TOO_MANY_REQUESTS');
  assert.ok(refused.length >= 6, `${refused.length} of ten at once are refused`);
});

test('a machine sends for itself alone, and a fifth camera waits until one is left', async () => {
  await using on = await testServer();
  const { partId, machine, page } = await openWorld(on);
  const other = await on.machine('saw');
  const jpeg = await image();
  assert.equal(await failure(machine.sendView({ partId: other.partId, camera: 'a', jpeg })), 'NotFound PART_NOT_FOUND');
  assert.match(await failure(machine.getView({ partId, camera: 'a' })), /^PermissionDenied/);
  for (const camera of ['a', 'b', 'c', 'd']) await page.getView({ partId, camera });
  assert.equal(await failure(page.getView({ partId, camera: 'e' })), 'ResourceExhausted TOO_MANY_REQUESTS');
  assert.equal(await failure(page.getView({ partId, camera: '' })), 'InvalidArgument INVALID_ARGUMENT');
});

test('a key that is deleted while its call waits gets no image', async () => {
  await using on = await testServer();
  const { partId, machineId, machine, page } = await openWorld(on);
  const app = await on.client(AppService);
  const { id, key } = await app.createKey({
    name: 'viewer',
    authorizations: [
      {
        authorizationType: 'role',
        authorizationId: 'robot_operator',
        resourceType: 'robot',
        resourceId: machineId,
        organizationId: on.orgId,
        identityId: '',
      },
    ],
  });
  const viewer = await on.client(LiveService, { type: 'api-key', entity: id, payload: key });
  const camera = 'front';
  await page.getView({ partId, camera });
  const jpeg = await image();
  await machine.sendView({ partId, camera, jpeg });
  const first = await viewer.getView({ partId, camera });
  assert.equal(first.state, ViewState.IMAGE);
  const held = viewer.getView({ partId, camera, knownSequence: first.sequence, wait });
  // A wait that begins later than the deletion is refused at its start.
  await app.deleteKey({ id });
  while ((await failure(machine.sendView({ partId, camera, jpeg }))) !== 'no failure');
  const found = await held.then(
    ({ jpeg: bytes }) => bytes.length,
    () => 0,
  );
  assert.equal(found, 0);
  assert.match(await failure(viewer.getView({ partId, camera })), /^Unauthenticated/);
});

test('bytes of a day end the view', async () => {
  await using on = await testServer(['--live-mb-per-day', '0']);
  const { partId, machine, page, robot, known } = await openWorld(on);
  const answer = await page.getView({ partId, camera: 'front' });
  assert.deepEqual([answer.state, answer.bytesPerDay], [ViewState.LIMIT_REACHED, 0n]);
  const { desiredViews } = await robot.config({ ...known, knownViews: '', wait: shortWait });
  assert.equal(desiredViews, undefined);
  const sent = await machine.sendView({ partId, camera: 'front', jpeg: await image() });
  assert.equal(sent.isWanted, false);
});
