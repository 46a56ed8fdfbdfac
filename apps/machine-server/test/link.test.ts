import { Code, ConnectError } from '@connectrpc/connect';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCloudLink } from '../src/cloud/link.ts';
import { fakeCloud } from './fake-cloud.ts';
import type { FakeCloud } from './fake-cloud.ts';

const linkTo = ({ url, partId, secret }: FakeCloud, payload = secret) =>
  createCloudLink({ appAddress: url, partId, entity: partId, type: 'robot-secret', payload });

test('calls at the same time share one token; a token that is no longer good is replaced within the call', async () => {
  await using cloud = await fakeCloud();
  const robot = linkTo(cloud).client(RobotService);
  const ask = () => robot.config({ id: cloud.partId });
  await Promise.all([ask(), ask(), ask()]);
  assert.equal(cloud.tokens, 1);
  cloud.validFrom = 2;
  await Promise.all([ask(), ask(), ask()]);
  assert.equal(cloud.tokens, 2);
});

const codeOf = (ask: Promise<unknown>) =>
  ask.then(
    () => 0,
    (error: unknown) => ConnectError.from(error).code,
  );

test('a wrong secret causes one sign-in a call, and being offline is reported as such', async () => {
  await using cloud = await fakeCloud();
  const robot = linkTo(cloud, 'wrong').client(RobotService);
  assert.equal(await codeOf(robot.config({ id: cloud.partId })), Code.Unauthenticated);
  cloud.goOffline();
  const code = await codeOf(robot.config({ id: cloud.partId }));
  assert.ok(code === Code.Unavailable || code === Code.Unknown);
  cloud.goOnline();
  // The correct secret works again at once: the client caches no failure.
  const right = linkTo(cloud).client(RobotService);
  cloud.goOffline();
  await codeOf(right.config({ id: cloud.partId }));
  cloud.goOnline();
  assert.equal((await right.config({ id: cloud.partId })).config?.cloud?.id, cloud.partId);
});

test('downloads carry what the credentials are', () => {
  const base = { appAddress: 'http://h', partId: 'p', payload: 'x' };
  const secret = createCloudLink({ ...base, entity: 'p', type: 'robot-secret' });
  assert.deepEqual(secret.downloadHeaders, { part_id: 'p', secret: 'x' });
  const key = createCloudLink({ ...base, entity: 'k', type: 'api-key' });
  assert.deepEqual(key.downloadHeaders, { key_id: 'k', key: 'x' });
});
