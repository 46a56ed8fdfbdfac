// An agent that starts with the credentials of another part: nothing of the earlier part reaches the other one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCloud } from './test-cloud.ts';
import { good, minute, World } from './world.ts';

const credentialsOf = (cloud: TestCloud, payload = cloud.secret) => ({
  appAddress: 'http://cloud',
  partId: cloud.partId,
  entity: cloud.partId,
  type: 'robot-secret' as const,
  payload,
});

/** Runs an agent that is online once, then offline until lines wait for the upload. */
async function leftBehind(): Promise<World> {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.agentConfig.set({ advanced_settings: { platform_server_env: { OWNER: 'first' } } });
  const first = w.start();
  await w.clock.advance(5_000);
  w.cloud.isUp = false;
  await w.clock.advance(minute);
  first.stop();
  await w.clock.advance(10_000);
  await first.done;
  w.takeLog();
  return w;
}

test('with another part, waiting lines and the cached configuration are dropped; with a new secret, they stay', async () => {
  for (const isSamePart of [false, true]) {
    const w = await leftBehind();
    const cloud = isSamePart ? w.cloud : new TestCloud(w.clock, 'ffffffff-bbbb-4ccc-8ddd-eeeeeeeeeeee');
    if (isSamePart) w.cloud.secret = 'rotated';
    const linesBefore = cloud.lines.get().length;
    cloud.isUp = true;
    const next = w.start({}, { transport: cloud.transport(), credentials: credentialsOf(cloud) });
    await w.clock.advance(5_000);
    const lines = cloud.lines.get().slice(linesBefore);
    const old = lines.filter(({ message }) => message === 'platform agent ends');
    assert.equal(old.length, isSamePart ? 1 : 0, lines.map(({ message }) => message).join('\n'));
    const log = w.takeLog();
    assert.equal(/the state of the earlier part is dropped/.test(log), !isSamePart);
    assert.equal(/starting from the cached configuration/.test(log), isSamePart);
    next.stop();
    await w.clock.advance(5_000);
    await next.done;
    const again = w.start({}, { transport: cloud.transport(), credentials: credentialsOf(cloud) });
    await w.clock.advance(5_000);
    assert.doesNotMatch(w.takeLog(), /is dropped/, 'once');
    again.stop();
    await w.clock.advance(5_000);
    await again.done;
  }
});

test('with another part, a quarantine that was cleared three times can be cleared by the first clearance again', async () => {
  const w = await leftBehind();
  const { files } = w.machine;
  const line = (clearance: number) => `0.9.0-0123456789ab ${clearance} 1 it crashed\n`;
  files.put('state/platform-server.bad', Buffer.from(line(3)));
  const cloud = new TestCloud(w.clock, 'ffffffff-bbbb-4ccc-8ddd-eeeeeeeeeeee');
  const next = w.start({}, { transport: cloud.transport(), credentials: credentialsOf(cloud) });
  await w.clock.advance(5_000);
  assert.equal(new TextDecoder().decode(files.get('state/platform-server.bad')?.bytes), line(0));
  next.stop();
  await w.clock.advance(5_000);
  await next.done;
});
