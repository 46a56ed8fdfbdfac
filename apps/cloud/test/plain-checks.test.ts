// One connection of a machine: checks, and other requests in between.
import assert from 'node:assert/strict';
import test from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type Answer, checkBytes, dial } from './plain-wire.ts';
import { testServer } from './server.ts';

const read = ({ body }: Answer) => fromBinary(DeviceAgentConfigResponseSchema, body);

test('a connection of checks: whole, in pieces, several at once, and with another call in between', async () => {
  await using on = await testServer();
  const { partId, part, machineId } = await on.machine('m');
  const token = await on.token(part);
  const fleet = await on.client(FleetService);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const wire = await dial(on.url);

  const check = (fingerprint = '', waitMs = 0) =>
    checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint, wait: durationFromMs(waitMs) });
  await wire.say(check());
  const first = await wire.answer();
  assert.deepEqual([first.status, first.headers.get('content-type')], [200, 'application/proto']);
  assert.match(first.headers.get('date') ?? '', /GMT$/, 'machines set their clocks by it');
  const { fingerprint } = read(first);
  assert.notEqual(fingerprint, '');

  for (const byte of check(fingerprint)) await wire.say(Buffer.from([byte]));
  assert.equal(read(await wire.answer()).notModified, true);

  // Sends the next check before the answer, which waits for a change.
  await wire.say(Buffer.concat([check(fingerprint, 20_000)]));
  await wire.say(check(fingerprint));
  await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
  const changed = read(await wire.answer());
  assert.equal(changed.revision, 1n);
  assert.equal(read(await wire.answer()).fingerprint, changed.fingerprint);

  // After another call, the server handles it as an ordinary connection.
  await wire.say(Buffer.from(`GET /livez HTTP/1.1\r\nhost: ${new URL(on.url).host}\r\n\r\n`));
  assert.equal((await wire.answer()).status, 200);
  await wire.say(check(changed.fingerprint));
  assert.equal(read(await wire.answer()).notModified, true);
  await wire.say(Buffer.from('BREW / HTCPCP/1.0\r\n\r\n'));
  await wire.ended();
  assert.equal((await fleet.getMachine({ id: machineId })).machine?.onlineState, OnlineState.ONLINE);
});

test('a refusal has the same form as an answer, and a closed connection is forgotten', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const other = await on.machine('other');
  const token = await on.token(part);
  const fleet = await on.client(FleetService);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const refusals: [token: string, id: string, status: number, code: string][] = [
    ['x.y.z', partId, 401, 'unauthenticated'],
    [token, other.partId, 404, 'not_found'],
    [`${token.slice(0, -6)}aaaaaa`, partId, 401, 'unauthenticated'],
  ];
  for (const [with_, id, status, code] of refusals) {
    const wire = await dial(on.url);
    await wire.say(checkBytes(on, with_, { id, hostInfo, knownFingerprint: 'x' }));
    const answer = await wire.answer();
    assert.deepEqual([answer.status, (JSON.parse(answer.body.toString()) as { code: string }).code], [status, code]);
    wire.close();
  }
  const wire = await dial(on.url);
  await wire.say(checkBytes(on, token, { id: partId, hostInfo }));
  const { fingerprint } = read(await wire.answer());
  await wire.say(
    checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint, wait: durationFromMs(20_000) }),
  );
  wire.close();
  // A deleted secret ends its token at the next check, even if everything was in memory.
  const again = await dial(on.url);
  await again.say(checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint }));
  assert.equal(read(await again.answer()).notModified, true);
  const { machine } = await fleet.getMachine({ id: partId });
  await fleet.deleteMachine({ id: machine?.id ?? '' });
  await again.say(checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint }));
  assert.equal((await again.answer()).status, 401);
  again.close();
});

test('stopping answers what is held and ends every connection', async () => {
  const on = await testServer();
  const { partId, part } = await on.machine('m');
  const token = await on.token(part);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const [held, resting] = [await dial(on.url), await dial(on.url)];
  await resting.say(checkBytes(on, token, { id: partId, hostInfo }));
  const { fingerprint } = read(await resting.answer());
  await held.say(
    checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint, wait: durationFromMs(20_000) }),
  );
  // The check is held once another connection receives the answer to a later request.
  const probe = await dial(on.url);
  await probe.say(checkBytes(on, token, { id: partId, hostInfo, knownFingerprint: fingerprint }));
  await probe.answer();
  const closed = on[Symbol.asyncDispose]();
  const answer = await held.answer();
  assert.deepEqual([read(answer).notModified, answer.headers.get('connection')], [true, 'close']);
  await Promise.all([held.ended(), resting.ended(), probe.ended()]);
  await closed;
});

test('a check on a connection that carried another call closes it, so that the next check uses a light connection', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const token = await on.token(part);
  const wire = await dial(on.url);
  await wire.say(Buffer.from(`GET /livez HTTP/1.1\r\nhost: ${new URL(on.url).host}\r\n\r\n`));
  assert.equal((await wire.answer()).status, 200);
  await wire.say(checkBytes(on, token, { id: partId }));
  const answer = await wire.answer();
  assert.deepEqual([answer.status, answer.headers.get('connection')], [200, 'close']);
  await wire.ended();
  const next = await dial(on.url);
  await next.say(checkBytes(on, token, { id: partId, knownFingerprint: read(answer).fingerprint }));
  const light = await next.answer();
  assert.deepEqual(
    [light.status, light.headers.has('connection'), light.headers.has('keep-alive')],
    [200, false, false],
  );
  next.close();
});
