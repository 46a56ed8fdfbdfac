// How version_control resolves for a machine: every form, for both programs; who may choose which; and rolled-back
// versions.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import {
  AgentDeviceService,
  PackageFormat,
  type UpdateInfo,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { ConfigProblemsSchema, FleetService, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { insertConfig } from '../src/configs/store/configs.ts';
import { insertRelease, setChannel, setTargets } from '../src/releases/store/releases.ts';
import { failure } from './failure.ts';
import { type Credentials, type TestServer, testServer } from './server.ts';

const sha = (text: string): Buffer => createHash('sha256').update(text).digest();
const hash = sha('a build of mine').toString('hex');

/** Published: 1.0.0 for two platforms, 1.1.0 for one; stable is 1.0.0, dev of the server 1.1.0. */
async function withReleases(): Promise<TestServer> {
  const on = await testServer();
  for (const name of ['platform-agent', 'platform-server']) {
    for (const [version, platform] of [
      ['1.0.0', 'linux/amd64'],
      ['1.0.0', 'linux/arm64'],
      ['1.1.0', 'linux/amd64'],
    ] as const) {
      const sha256 = sha(`${name} ${version} ${platform}`);
      await insertRelease(on.db, { name, version, platform, sha256, sizeBytes: 1000 });
    }
    await setChannel(on.db, name, 'stable', '1.0.0');
  }
  await setChannel(on.db, 'platform-server', 'dev', '1.1.0');
  return on;
}

async function operatorOf(on: TestServer): Promise<Credentials> {
  const { id, key } = await (
    await on.client(AppService)
  ).createKey({
    authorizations: [
      {
        authorizationType: 'role',
        authorizationId: 'organization_operator',
        resourceType: 'organization',
        resourceId: on.orgId,
      },
    ],
  });
  return { type: 'api-key', entity: id, payload: key };
}

const configOf = (versions: Record<string, string>): string => JSON.stringify({ agent: { version_control: versions } });

test('every form of version_control, for both programs', async () => {
  await using on = await withReleases();
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  const ask = async (platform: string, tags = ['platform-agent']) => {
    const answer = await agent.deviceAgentConfig({ id: partId, hostInfo: { platform, tags } });
    return [answer.agentUpdateInfo, answer.serverUpdateInfo];
  };
  const shownOf = (info: UpdateInfo | undefined) =>
    info && [info.version, info.url.replace(on.url, ''), info.desired, info.unsigned, Number(info.sizeBytes)];
  const published = (name: string, version: string, desired: string, arch = 'amd64') => [
    version,
    `/releases/${name}/${version}/linux-${arch}/${name}`,
    desired,
    false,
    1000,
  ];

  const rows: [desired: string | undefined, agentGets: unknown, serverGets: unknown][] = [
    [undefined, published('platform-agent', '1.0.0', 'stable'), published('platform-server', '1.0.0', 'stable')],
    ['stable', published('platform-agent', '1.0.0', 'stable'), published('platform-server', '1.0.0', 'stable')],
    ['dev', published('platform-agent', '1.0.0', 'dev'), published('platform-server', '1.1.0', 'dev')],
    ['1.1.0', published('platform-agent', '1.1.0', '1.1.0'), published('platform-server', '1.1.0', '1.1.0')],
    ['v1.1.0', published('platform-agent', '1.1.0', 'v1.1.0'), published('platform-server', '1.1.0', 'v1.1.0')],
    ['7.0.0', undefined, undefined],
    ...[
      ['https://builds.example/mine', 'https://builds.example/mine'],
      [`http://builds.example/mine#sha256=${hash}`, 'http://builds.example/mine'],
      ['http://127.0.0.1:9000/mine', 'http://127.0.0.1:9000/mine'],
      ['file:///opt/mine', 'file:///opt/mine'],
      [`file:///opt/mine#sha256=${hash.toUpperCase()}`, 'file:///opt/mine'],
    ].map(([desired = '', url]): [string, unknown, unknown] => {
      const pin = ['customURL', url, desired, true, 0];
      return [desired, pin, pin];
    }),
  ];
  for (const [desired, ...wanted] of rows) {
    await fleet.saveConfig({
      partId,
      configJson: desired === undefined ? '{}' : configOf({ agent: desired, 'platform-server': desired }),
    });
    const infos = await ask('linux/amd64');
    assert.deepEqual(infos.map(shownOf), wanted, desired);
    for (const [at, info] of infos.entries()) {
      if (!info) continue;
      assert.equal(info.format, PackageFormat.EXECUTABLE);
      assert.equal(info.filename, ['platform-agent', 'platform-server'][at]);
      const isHashKnown = !info.unsigned || info.desired.includes('#');
      assert.equal(info.sha256.length, isHashKnown ? 32 : 0, desired);
      if (info.unsigned && isHashKnown) assert.equal(Buffer.from(info.sha256).toString('hex'), hash);
    }
  }
  // The answer includes the signed targets and the patches that lead to a file.
  await setTargets(on.db, [
    {
      name: 'platform-server',
      version: '1.1.0',
      platform: 'linux/amd64',
      path: 'platform-server/1.1.0/linux-amd64',
      sha256: sha('platform-server 1.1.0 linux/amd64').toString('hex'),
    },
  ]);
  const patch = (from: string, size: number) => ({
    fromSha256: sha(from),
    toSha256: sha('platform-server 1.1.0 linux/amd64'),
    sha256: sha(`patch from ${from}`),
    sizeBytes: size,
  });
  await on.db
    .insertInto('releasePatch')
    .values([patch('far', 300), patch('near', 20)])
    .execute();
  await fleet.saveConfig({ partId, configJson: configOf({ 'platform-server': '1.1.0' }) });
  for (;;) {
    const [, info] = await ask('linux/amd64');
    // The notification of the changed targets may arrive a moment later.
    if (info?.target === '') continue;
    assert.equal(info?.target, 'platform-server/1.1.0/linux-amd64');
    assert.deepEqual(
      info?.deltas.map(({ fromSha256, url, sizeBytes }) => [Buffer.from(fromSha256), url, Number(sizeBytes)]),
      ['near', 'far'].map((from, at) => [
        sha(from),
        `${on.url}/releases/deltas/${sha(`patch from ${from}`).toString('hex')}`,
        [20, 300][at],
      ]),
    );
    break;
  }
  // A pin for one program does not affect the other; and each platform has its own file.
  await fleet.saveConfig({ partId, configJson: configOf({ 'viam-server': '1.1.0' }) });
  assert.deepEqual(
    (await ask('linux/amd64')).map((info) => info?.version),
    ['1.0.0', '1.1.0'],
  );
  assert.deepEqual((await ask('linux/arm64')).map(shownOf), [
    published('platform-agent', '1.0.0', 'stable', 'arm64'),
    undefined,
  ]);
  assert.deepEqual(await ask('windows/amd64'), [undefined, undefined]);
});

test('an unpublished version is reported at saving and on the machine, which keeps its version', async () => {
  await using on = await withReleases();
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  await agent.deviceAgentConfig({ id: partId, hostInfo: { platform: 'linux/arm64', tags: ['platform-agent'] } });
  const configJson = configOf({ agent: '9.9.9', 'platform-server': 'dev' });
  const { problems } = await fleet.saveConfig({ partId, configJson });
  assert.deepEqual(
    problems.map(({ path, severity, message }) => [path, severity, message]),
    [
      [
        'agent.version_control.agent',
        Severity.WARNING,
        'is 9.9.9, and no platform-agent of this version was published.',
      ],
      [
        'agent.version_control.platform-server',
        Severity.WARNING,
        'is dev, which is 1.1.0, and it was published for linux/amd64 only, while this machine is linux/arm64.',
      ],
    ],
  );
  assert.deepEqual((await fleet.checkConfig({ partId, configJson })).problems, problems);
  const shown = async () =>
    (await fleet.getMachine({ id: machineId })).machine?.conditions.map(({ code, severity }) => [code, severity]);
  const missing = ['VERSION_NOT_PUBLISHED', Severity.WARNING];
  assert.deepEqual(await shown(), [missing, missing]);
  // The problem disappears when the release exists.
  const sha256 = sha('late');
  await insertRelease(on.db, {
    name: 'platform-agent',
    version: '9.9.9',
    platform: 'linux/arm64',
    sha256,
    sizeBytes: 1,
  });
  await fleet.saveConfig({ partId, configJson: configOf({ agent: '9.9.9' }) });
  for (;;) if ((await shown())?.length === 0) break;
});

test('an unsigned file: an owner consents by saving it, which is recorded; an operator may not', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const owner = await on.client(FleetService);
  const operator = await on.client(FleetService, await operatorOf(on));
  const pin = (url: string) => ({ partId, configJson: configOf({ 'platform-server': url }) });

  assert.equal(
    await failure(operator.saveConfig(pin('https://evil.example/x'))),
    'PermissionDenied UNSIGNED_PIN_REFUSED',
  );
  assert.equal(await failure(operator.saveConfig(pin('0.1.0'))), 'no failure');
  const mine = 'https://mine.example/x';
  const { problems, revision } = await owner.saveConfig(pin(mine));
  assert.deepEqual(
    problems.map(({ path, severity, message }) => [path, severity, message]),
    [
      [
        'agent.version_control.platform-server',
        Severity.NOTE,
        'names a file that no release key signed: https://mine.example/x',
      ],
    ],
  );
  // What an owner has allowed stays allowed while others change the rest; for the other program it was not allowed.
  assert.equal(await failure(operator.saveConfig(pin(mine))), 'no failure');
  const forAgent = { partId, configJson: configOf({ 'platform-server': mine, agent: mine }) };
  assert.equal(await failure(operator.saveConfig(forAgent)), 'PermissionDenied UNSIGNED_PIN_REFUSED');
  const entries = await on.db
    .selectFrom('audit')
    .select(['actor', 'subject', 'details'])
    .where('action', '=', 'consent to unsigned programs')
    .execute();
  assert.deepEqual(entries, [
    {
      actor: `api_key first key (${on.owner.entity})`,
      subject: partId,
      details: { revision: Number(revision), pins: [mine] },
    },
  ]);

  // An owner removes it concurrently with an operator who saves it again.
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: isTaken, resolve: taken } = Promise.withResolvers<void>();
  const orgId = on.orgId;
  const without = { orgId, partId, text: '{}', config: {}, savedBy: 'owner' };
  const removal = on.db.transaction().execute(async (trx) => {
    await insertConfig(trx, without, {});
    taken();
    await held;
  });
  await isTaken;
  const late = failure(operator.saveConfig(pin(mine)));
  for (let i = 0; i < 5; i++) await operator.getConfig({ partId }); // time enough to read what was saved before
  letGo();
  await removal;
  assert.equal(await late, 'PermissionDenied UNSIGNED_PIN_REFUSED');

  const refused: [pin: string, says: RegExp][] = [
    ['http://mine.example/x', /without TLS/],
    ['http://127.0.0.1.evil.example/x', /without TLS/],
    ['https://mine.example/x#sha256=abc', /not a hash/],
    [`https://mine.example/x#md5=${hash}`, /not a hash/],
    ['https://user:secret@mine.example/x', /password/],
    ['file:///opt/builds/', /no file/],
    ['file://elsewhere/opt/x', /must be|no file/],
  ];
  for (const [url, says] of refused) {
    const error = ConnectError.from(await owner.saveConfig(pin(url)).catch((found: unknown) => found));
    const [problem] = error.findDetails(ConfigProblemsSchema)[0]?.problems ?? [];
    assert.equal(problem?.path, 'agent.version_control.platform-server', `${url}: ${error.message}`);
    assert.match(problem?.message ?? '', says, url);
    assert.notEqual(problem?.remedy, '', url);
  }
});

test('what a machine gave up is shown, and an operator lets it try again', async () => {
  await using on = await withReleases();
  const { machineId, partId, part } = await on.machine('m');
  const other = await on.machine('other');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService, await operatorOf(on));
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const quarantined = [
    { version: '1.1.0', sha256: sha('x'), reason: 'crashed at start', since: timestampFromMs(1_700_000_000_000) },
  ];
  const { quarantineClearance: before, fingerprint } = await agent.deviceAgentConfig({
    id: partId,
    hostInfo,
    report: { server: { runningVersion: '1.0.0', quarantined, why: '1.1.0 crashed at start' } },
  });
  assert.equal(before, 0n);
  const machine = async () => (await fleet.getMachine({ id: machineId })).machine;
  assert.deepEqual(
    (await machine())?.report?.server?.quarantined.map(({ version, reason }) => [version, reason]),
    [['1.1.0', 'crashed at start']],
  );

  const held = agent.deviceAgentConfig({
    id: partId,
    hostInfo,
    knownFingerprint: fingerprint,
    wait: { seconds: 20n, nanos: 0 },
  });
  await fleet.clearQuarantine({ partId });
  assert.deepEqual([(await held).quarantineClearance, (await held).notModified], [1n, false]);
  assert.ok((await machine())?.quarantineClearedOn, 'until the machine has reported again');
  await agent.deviceAgentConfig({ id: partId, hostInfo, report: { server: { runningVersion: '1.0.0' } } });
  assert.equal((await machine())?.quarantineClearedOn, undefined);
  await fleet.clearQuarantine({ partId });
  assert.equal((await agent.deviceAgentConfig({ id: partId, hostInfo })).quarantineClearance, 2n);

  const entries = await on.db
    .selectFrom('audit')
    .select(['subject', 'details'])
    .where('action', '=', 'clear quarantine')
    .orderBy('id')
    .execute();
  assert.deepEqual(entries, [
    { subject: partId, details: { versions: ['1.1.0'] } },
    { subject: partId, details: { versions: [] } },
  ]);
  assert.equal(
    await failure((await on.client(FleetService, other.part)).clearQuarantine({ partId })),
    'PermissionDenied PERMISSION_DENIED',
  );
});

test('an upgrade of the operating system is counted, ends a long poll, and waits until the machine reports', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('press');
  const fleet = await on.client(FleetService);
  const agent = await on.client(AgentDeviceService, part);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const first = await agent.deviceAgentConfig({ id: partId, hostInfo });
  assert.equal(first.systemUpgrades, 0n);
  const held = agent.deviceAgentConfig({
    id: partId,
    hostInfo,
    knownFingerprint: first.fingerprint,
    wait: { seconds: 20n, nanos: 0 },
  });
  await fleet.upgradeSystem({ partId });
  assert.deepEqual([(await held).systemUpgrades, (await held).notModified], [1n, false]);
  const machine = async () => (await fleet.getMachine({ id: machineId })).machine;
  assert.ok((await machine())?.systemUpgradeRequestedOn);
  const report = { system: { waitingCount: 3, securityCount: 1, task: 'upgrade the packages' } };
  await agent.deviceAgentConfig({ id: partId, hostInfo, report });
  assert.equal((await machine())?.systemUpgradeRequestedOn, undefined);
  assert.equal((await machine())?.report?.system?.waitingCount, 3);
});
