// Long polls of a machine: its configuration, as agent and machine server read it, and a restart that a user requests.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RestartRequest, FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { at } from '../src/database/database.ts';
import { systemClock } from '@platform/kit/node';
import { failure } from './failure.ts';
import { archiveOf, scriptEntries } from './script-archive.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';

const wait = durationFromMs(20_000);

/** Calls as machines do: one message with its content length. Counts the answers from memory alone. */
async function machineClient(on: TestServer, credentials: Credentials) {
  const token = await on.token(credentials);
  const counts = { fast: 0 };
  const method =
    <I extends DescMessage, O extends DescMessage>({ parent, name, input, output }: DescMethodUnary<I, O>) =>
    async (request: MessageInitShape<I>): Promise<MessageShape<O>> => {
      const response = await fetch(`${on.url}/${parent.typeName}/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/proto', authorization: `Bearer ${token}` },
        body: toBinary(input, create(input, request)),
      });
      const body = new Uint8Array(await response.arrayBuffer());
      const failed = new ConnectError('it failed', Code.Unknown);
      if (!response.ok) throw errorFromJsonBytes(body, undefined, failed);
      if (response.headers.get('cache-status') === 'platform; hit') counts.fast++;
      return fromBinary(output, body);
    };
  const { config, needsRestart } = RobotService.method;
  return {
    agent: { deviceAgentConfig: method(AgentDeviceService.method.deviceAgentConfig) },
    robot: { config: method(config), needsRestart: method(needsRestart) },
    counts,
  };
}

async function publish(on: TestServer, version: string): Promise<void> {
  const contents = await archiveOf(scriptEntries());
  const info = {
    organizationId: on.orgId,
    name: 'script',
    version,
    type: PackageType.ML_TRAINING,
    files: [{ name: 'setup.py', size: 3n }],
    metadata: { model_framework: 'onnx', draft: true },
  };
  await (
    await on.client(PackageService)
  ).createPackage(
    (async function* all() {
      yield { package: { case: 'info' as const, value: info } };
      yield await Promise.resolve({ package: { case: 'contents' as const, value: contents } });
    })(),
  );
}

for (const [name, isKey] of [
  ['with the secret of the part', false],
  ['with an API key', true],
] as const) {
  test(`the check of a machine server is held until its configuration changes: ${name}`, async () => {
    await using on = await testServer();
    const fleet = await on.client(FleetService);
    const { partId, machineId, part } = await on.machine('m');
    const { robot, counts } = await machineClient(on, isKey ? on.owner : part);
    const save = (config: object) => fleet.saveConfig({ partId, configJson: JSON.stringify(config) });

    await publish(on, '1');
    const named = { name: 'p', package: `${on.orgId}/script`, type: 'ml_model', version: 'latest' };
    await save({ packages: [named] });
    const first = await robot.config({ id: partId, wait });
    assert.equal(first.config?.packages[0]?.version, '1', 'a caller without a revision gets the answer at once');
    const known = first.config?.revision ?? '';
    const same = await robot.config({ id: partId, knownRevision: known });
    assert.deepEqual([same.notModified, same.config], [true, undefined]);
    const held = await robot.config({ id: partId, knownRevision: known, wait: durationFromMs(30) });
    assert.deepEqual([held.notModified, held.config], [true, undefined]);
    // The change is notified twice, directly and by the database; the second notification may arrive now.
    for (let n = isKey ? 100 : 0; n < 100 && counts.fast === 0; n++)
      await robot.config({ id: partId, knownRevision: known });
    assert.equal(counts.fast > 0, !isKey, 'who has a token of its own costs next to nothing');
    assert.equal((await robot.config({ id: partId, knownRevision: 'x', wait })).config?.revision, known);

    const waiting = robot.config({ id: partId, knownRevision: known, wait });
    // A waiting machine server counts as online, but only agents receive restarts.
    const online = async () => (await fleet.getMachine({ id: machineId })).machine?.onlineState;
    assert.equal(await online(), OnlineState.ONLINE);
    assert.equal(durationMs((await robot.needsRestart({ id: partId })).restartCheckInterval!), 2_000);
    await publish(on, '2');
    const second = await waiting;
    assert.equal(second.config?.packages[0]?.version, '2', 'a newer package is news');

    const again = robot.config({ id: partId, knownRevision: second.config?.revision ?? '', wait });
    await save({ packages: [named], components: [{ name: 'cam', type: 'camera', model: 'folder' }] });
    const third = await again;
    assert.deepEqual([third.config?.components[0]?.name, third.config?.revisionNumber], ['cam', 2n]);

    const last = failure(robot.config({ id: partId, knownRevision: third.config?.revision ?? '', wait }));
    await fleet.deleteMachine({ id: machineId });
    assert.match(await last, /PART_NOT_FOUND|TOKEN_EXPIRED/);
  });

  test(`every answer to an agent says whether a restart is wanted, and none is held while one is: ${name}`, async () => {
    await using on = await testServer();
    const fleet = await on.client(FleetService);
    const { partId, part } = await on.machine('m');
    const { agent, robot } = await machineClient(on, isKey ? on.owner : part);
    const first = await agent.deviceAgentConfig({ id: partId });
    const check = (wait_ = wait) =>
      agent.deviceAgentConfig({ id: partId, knownFingerprint: first.fingerprint, wait: wait_ });
    assert.equal(first.restart, RestartRequest.NONE);
    assert.equal((await check(durationFromMs(20))).restart, RestartRequest.NONE);

    const held = check();
    await fleet.restartPart({ partId });
    for (const answer of [await held, await check(), await check()])
      assert.deepEqual([answer.notModified, answer.restart], [true, RestartRequest.WAITING]);
    assert.equal((await agent.deviceAgentConfig({ id: partId })).restart, RestartRequest.WAITING);
    await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
    const changed = await check();
    assert.deepEqual([changed.notModified, changed.restart], [false, RestartRequest.WAITING]);
    assert.equal((await robot.needsRestart({ id: partId })).mustRestart, true);
    const after = await agent.deviceAgentConfig({
      id: partId,
      knownFingerprint: changed.fingerprint,
      wait: durationFromMs(20),
    });
    assert.deepEqual([after.notModified, after.restart], [true, RestartRequest.NONE]);
  });
}

test('a restart request is given out once, with its age, and not at all after an hour', async () => {
  await using on = await testServer();
  const { partId, machineId, part } = await on.machine('m');
  const fleet = await on.client(FleetService);
  const { agent, robot } = await machineClient(on, part);
  const askedAgo = (minutes: number) =>
    on.db
      .updateTable('part')
      .set({ restartRequestedOn: at(systemClock.wall() - minutes * 60_000) })
      .where('id', '=', partId)
      .execute();
  await askedAgo(59);
  assert.ok((await fleet.getMachine({ id: machineId })).machine?.restartRequestedOn);
  const given = await robot.needsRestart({ id: partId });
  assert.ok(given.mustRestart && Math.abs(durationMs(given.requestedAgo!) - 59 * 60_000) < 30_000);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, false);
  await fleet.restartPart({ partId });
  await askedAgo(61);
  assert.equal((await fleet.getMachine({ id: machineId })).machine?.restartRequestedOn, undefined);
  assert.equal((await agent.deviceAgentConfig({ id: partId })).restart, RestartRequest.NONE);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, false);
  const left = await on.db.selectFrom('part').select('restartRequestedOn').where('id', '=', partId).execute();
  assert.deepEqual(left, [{ restartRequestedOn: null }]);
});

test('the first answer after a start reports a restart that was requested before', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const { agent, robot } = await machineClient(on, part);
  // Simulates a write of another process: the memory of this one does not contain it.
  await on.db
    .updateTable('part')
    .set({ restartRequestedOn: at(systemClock.wall()) })
    .where('id', '=', partId)
    .execute();
  assert.equal((await agent.deviceAgentConfig({ id: partId })).restart, RestartRequest.WAITING);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, true);
  assert.equal((await agent.deviceAgentConfig({ id: partId })).restart, RestartRequest.NONE);
});
