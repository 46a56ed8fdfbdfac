import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import test from 'node:test';
import { create } from '@bufbuild/protobuf';
import { durationFromMs, durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import {
  ConfigProblemsSchema,
  FleetService,
  OnlineState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('a machine is created, configured, seen and restarted', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { machineId, partId, part } = await on.machine('kitchen');
  const agent = await on.client(AgentDeviceService, part);
  const robot = await on.client(RobotService, part);

  const before = await fleet.getMachine({ id: machineId });
  assert.equal(before.machine?.onlineState, OnlineState.AWAITING_SETUP);
  assert.equal(await failure(on.machine('kitchen')), 'AlreadyExists NAME_TAKEN');

  const config = JSON.stringify({
    zebra: 1,
    agent: { version_control: { 'platform-server': 'stable' }, advanced_settings: { debug: true }, future: { x: 1 } },
    components: [
      { name: 'cam', api: 'rdk:component:camera', model: 'folder', attributes: { path: '/images' } },
      { name: 'gate', type: 'sensor', model: 'fake' },
    ],
    packages: [{ name: 'm', package: 'org/m', version: '3', type: 'ml_model' }],
    maintenance: { sensor_name: 'gate', maintenance_allowed_key: 'ok' },
  });
  const saved = await fleet.saveConfig({ partId, configJson: config });
  assert.equal(saved.revision, 1n);
  assert.deepEqual(
    saved.problems.filter(({ severity }) => severity !== Severity.NOTE).map(({ path }) => path),
    ['packages[0].package'],
  );

  const answer = await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', distro: 'debian:12', tags: ['platform-agent'] },
    report: { appliedRevision: 1n, os: 'Debian 12' },
  });
  assert.deepEqual(
    [answer.revision, answer.advancedSettings, answer.agent?.['future']],
    [1n, { debug: true }, { x: 1 }],
  );
  const same = await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
    knownFingerprint: answer.fingerprint,
  });
  assert.deepEqual([same.notModified, same.fingerprint, same.agent], [true, answer.fingerprint, undefined]);

  const now = await fleet.getMachine({ id: partId });
  assert.deepEqual(
    [now.machine?.id, now.machine?.onlineState, now.machine?.wantedRevision, now.machine?.report?.appliedRevision],
    [machineId, OnlineState.ONLINE, 1n, 1n],
  );
  const { config: forServer } = await robot.config({ id: partId });
  assert.deepEqual(
    [
      forServer?.components[0]?.attributes,
      forServer?.packages[0]?.version,
      forServer?.maintenance?.sensorName?.name,
      forServer?.other,
      forServer?.revisionNumber,
    ],
    [{ path: '/images' }, '3', 'gate', { zebra: 1 }, 1n],
  );
  assert.deepEqual(
    [forServer?.cloud?.id, forServer?.cloud?.machineId, forServer?.cloud?.signalingInsecure],
    [partId, machineId, true],
  );

  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, false);
  await fleet.restartPart({ partId });
  assert.ok((await fleet.getMachine({ id: machineId })).machine?.restartRequestedOn);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, true);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, false);
  assert.equal((await fleet.getMachine({ id: machineId })).machine?.restartRequestedOn, undefined);

  assert.deepEqual(JSON.parse((await fleet.getCredentials({ partId })).credentialsJson), {
    cloud: { app_address: on.url, id: partId, secret: part.payload },
  });
  await robot.log({ id: partId, logs: [{ message: 'a final line' }] });
  const linesLeft = () => on.db.selectFrom('partLog').select('message').where('partId', '=', partId).execute();
  assert.equal((await linesLeft()).length, 1);
  await fleet.deleteMachine({ id: machineId });
  assert.equal((await linesLeft()).length, 0);
  assert.equal(await failure(fleet.getMachine({ id: machineId })), 'NotFound MACHINE_NOT_FOUND');
  assert.equal(await failure(agent.deviceAgentConfig({ id: partId })), 'Unauthenticated TOKEN_EXPIRED');
});

test('a held check is answered the moment the configuration changes, and after its time without a change', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const { fingerprint } = await agent.deviceAgentConfig({ id: partId });
  const held = agent.deviceAgentConfig({ id: partId, knownFingerprint: fingerprint, wait: durationFromMs(20_000) });
  await fleet.saveConfig({ partId, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
  const answer = await held;
  assert.deepEqual([answer.notModified, answer.revision], [false, 1n]);
  const quiet = await agent.deviceAgentConfig({
    id: partId,
    knownFingerprint: answer.fingerprint,
    wait: durationFromMs(30),
  });
  assert.equal(quiet.notModified, true);
});

test('a held check is answered when a restart is wanted; who holds one is online and need not ask for restarts', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, machineId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const robot = await on.client(RobotService, part);
  const { fingerprint } = await agent.deviceAgentConfig({ id: partId });
  const askMs = async () => durationMs((await robot.needsRestart({ id: partId })).restartCheckInterval!);
  assert.equal(await askMs(), 2_000);
  const isDone = { held: false };
  const held = agent
    .deviceAgentConfig({ id: partId, knownFingerprint: fingerprint, wait: durationFromMs(20_000) })
    .finally(() => (isDone.held = true));
  while ((await askMs()) !== 120_000) assert.equal(isDone.held, false);
  assert.equal((await fleet.getMachine({ id: machineId })).machine?.onlineState, OnlineState.ONLINE);
  await fleet.restartPart({ partId });
  assert.equal((await held).notModified, true);
  assert.equal((await robot.needsRestart({ id: partId })).mustRestart, true);
});

test('configurations: immutable revisions, byte for byte; a bad one is refused whole; a stale one conflicts', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const app = await on.client(AppService);
  const { partId } = await on.machine('m');
  assert.deepEqual(
    [(await fleet.getConfig({ partId })).configJson, (await fleet.getConfig({ partId })).revision],
    ['{}', 0n],
  );

  const odd = '{"b": 1,  "a": {"agent":"ü"},\n\n "agent": {"advanced_settings": {"debug": false}}}';
  await fleet.saveConfig({ partId, configJson: odd, expectedRevision: 0n });
  assert.equal((await fleet.getConfig({ partId })).configJson, odd);
  assert.equal(
    await failure(fleet.saveConfig({ partId, configJson: '{}', expectedRevision: 0n })),
    'FailedPrecondition CONFIG_CONFLICT',
  );

  const bad =
    '{"agent": {"advanced_settings": {"debug": "yes"}, "network_configuration": {"hotspot_password": "short"}}}';
  const error = ConnectError.from(await fleet.saveConfig({ partId, configJson: bad }).catch((found: unknown) => found));
  const problems = error.findDetails(ConfigProblemsSchema)[0]?.problems ?? [];
  assert.deepEqual(
    problems.filter((problem) => problem.severity === Severity.ERROR).map((problem) => problem.path),
    ['agent.advanced_settings.debug', 'agent.network_configuration.hotspot_password'],
  );
  assert.match(error.message, /INVALID_CONFIG/);
  assert.equal(await failure(fleet.saveConfig({ partId, configJson: '{"agent": ' })), 'InvalidArgument INVALID_CONFIG');
  assert.deepEqual((await fleet.checkConfig({ configJson: bad })).problems.length, problems.length);
  assert.equal((await fleet.getConfig({ partId })).revision, 1n);

  const seen = (await app.getRobotPart({ id: partId })).part;
  assert.equal(seen?.robotConfigJson, odd);
  const update = await app.updateRobotPart({
    id: partId,
    name: '',
    robotConfig: { x: 1 },
    lastKnownUpdate: seen.lastUpdated!,
  });
  assert.deepEqual(update.part?.robotConfig, { x: 1 });
  assert.equal(
    await failure(
      app.updateRobotPart({ id: partId, name: '', robotConfigJson: '{}', lastKnownUpdate: seen.lastUpdated! }),
    ),
    'FailedPrecondition CONFIG_CONFLICT',
  );
  const { revisions } = await fleet.listConfigRevisions({ partId });
  assert.deepEqual(
    revisions.map((row) => [row.revision, row.savedBy.split(' (')[0]]),
    [
      [2n, 'api_key first key'],
      [1n, 'api_key first key'],
    ],
  );
  assert.equal(revisions[1]?.sha256, createHash('sha256').update(odd).digest('hex'));
  assert.equal((await fleet.getConfig({ partId, revision: 1n })).configJson, odd);
  assert.equal((await app.getRobotPartHistory({ id: partId })).history[0]?.old?.robotConfigJson, odd);

  const racing = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) => fleet.saveConfig({ partId, configJson: `{"n":${n}}`, expectedRevision: 2n })),
  );
  assert.equal(racing.filter((one) => one.status === 'fulfilled').length, 1);
});

test('log lines are stored exactly once under fifty concurrent repeats, and shown page by page', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const robot = await on.client(RobotService, part);
  const app = await on.client(AppService);
  const bootId = randomUUID();
  const line = (n: number) =>
    create(LogEntrySchema, {
      bootId,
      sequence: BigInt(n),
      time: timestampFromMs(1_700_000_000_000 + n),
      level: n % 10 === 0 ? 'error' : 'info',
      loggerName: 'agent',
      message: `line ${n}`,
      fields: [{ n, nul: 'a\u0000b' }],
    });
  const batch = Array.from({ length: 100 }, (_, n) => line(n + 1));
  await Promise.all(Array.from({ length: 50 }, (_, n) => robot.log({ id: partId, logs: batch.slice(n) })));

  const pages: string[][] = [];
  for (let pageToken = ''; ;) {
    const page = await app.getRobotPartLogs({ id: partId, limit: 30n, order: LogOrder.ASCENDING, pageToken });
    pages.push(page.logs.map((entry) => entry.message));
    if (page.nextPageToken === '') break;
    pageToken = page.nextPageToken;
  }
  assert.deepEqual(
    pages.map((page) => page.length),
    [30, 30, 30, 10, 0],
  );
  assert.deepEqual(new Set(pages.flat()), new Set(batch.map((entry) => entry.message)));
  const errors = await app.getRobotPartLogs({ id: partId, levels: ['error'], filter: 'LINE 1' });
  assert.deepEqual(errors.logs.map((entry) => entry.message).toSorted(), ['line 10', 'line 100']);
  const [found] = errors.logs;
  assert.deepEqual([found?.time?.nanos, found?.bootId], [Number(found?.sequence) * 1_000_000, bootId]);
  assert.deepEqual(found?.fields, [{ n: Number(found?.sequence), nul: 'a\ufffdb' }]);
  assert.equal(
    await failure(app.getRobotPartLogs({ id: partId, pageToken: 'bad' })),
    'InvalidArgument INVALID_ARGUMENT',
  );
  // Unmodified clients send no sequence numbers: each of their lines counts.
  await robot.log({ id: partId, logs: [{ message: 'plain', level: 'WARN' }] });
  await robot.log({ id: partId, logs: [{ message: 'plain', level: 'warn' }] });
  assert.equal((await app.getRobotPartLogs({ id: partId, levels: ['warn'] })).logs.length, 2);
});

test('a tail shows what comes in, in order, and ends when the reader goes', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const robot = await on.client(RobotService, part);
  const app = await on.client(AppService);
  await robot.log({ id: partId, logs: [{ message: 'before' }] });
  const stop = new AbortController();
  const seen: string[] = [];
  const tail = (async () => {
    for await (const { logs } of app.tailRobotPartLogs({ id: partId, filter: 'live' }, { signal: stop.signal })) {
      if (logs.length === 0) void robot.log({ id: partId, logs: [{ message: 'live 1' }, { message: 'quiet' }] });
      seen.push(...logs.map((entry) => entry.message));
      if (seen.length === 1) void robot.log({ id: partId, logs: [{ message: 'live 2' }] });
      if (seen.length === 2) stop.abort();
    }
  })();
  await assert.rejects(tail, /canceled|aborted/);
  assert.deepEqual(seen, ['live 1', 'live 2']);
});
