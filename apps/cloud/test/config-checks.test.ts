// Checks a configuration before it is saved, against the report of its machine.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ConnectError } from '@connectrpc/connect';
import { actedOn } from '@platform/contract/config/effect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  ConfigProblemsSchema,
  FleetService,
  type Problem,
  SeveritySchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { packageProblems } from '../src/configs/package-problems.ts';
import { failure } from './failure.ts';
import { archiveOf, scriptEntries } from './script-archive.ts';
import { testServer } from './server.ts';

const camera = { name: 'yard', type: 'camera', model: 'folder', attributes: { path: '/images' } };
const capture = (attributes: object) => ({ name: 'keep', type: 'data_manager', attributes });
const webcam = { ...camera, model: 'webcam' };
const words = ({ severity, path }: Problem): string =>
  `${SeveritySchema.value[severity]?.localName.toLowerCase()} ${path}`;

test('references, unknown types and duplicate keys are refused whole; what nothing acts on is a warning', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const save = (config: unknown) =>
    fleet.saveConfig({ partId, configJson: typeof config === 'string' ? config : JSON.stringify(config) }).then(
      ({ problems }) => problems.map(words),
      (error: unknown) => ConnectError.from(error).findDetails(ConfigProblemsSchema)[0]?.problems.map(words),
    );
  const report = (version: string, more: object) =>
    agent.deviceAgentConfig({
      id: partId,
      hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
      versionInfo: { agentRunning: version },
      report: { server: { runningVersion: '0.1.0' }, ...more },
    });
  const retired = { agent: { network_configuration: { bluetooth_trust_all: true } } };
  const debug = { agent: { advanced_settings: { debug: true } } };
  const missing = { components: [camera], services: [capture({ camera: 'yrad' })] };

  // Before the first report, the reference server is assumed; unknown types are only warnings.
  assert.deepEqual(await save(retired), ['warning agent.network_configuration.bluetooth_trust_all']);
  assert.deepEqual(await save(missing), ['error services[0].attributes.camera']);
  assert.deepEqual(await save({ components: [webcam] }), ['warning components[0].model']);
  assert.deepEqual(await save('{"components": [], "components": [{"name": "x"}]}'), [
    'error components',
    'error components[0].type',
  ]);
  assert.deepEqual(await save({ components: [{ ...camera, attributes: 'path' }] }), ['error components[0]']);

  await report('0.1.0', { actsOn: actedOn('linux/amd64'), serverKnowledge: platformServerKnowledge });
  assert.deepEqual(await save(debug), []);
  assert.deepEqual(await save({ components: [webcam] }), ['error components[0].model']);
  assert.deepEqual(await save({ components: [webcam], agent: { version_control: { 'platform-server': '9.0.0' } } }), [
    'warning agent.version_control.platform-server',
    'warning components[0].model',
  ]);
  assert.deepEqual(await save({ ...missing, ...retired }), [
    'error services[0].attributes.camera',
    'warning agent.network_configuration.bluetooth_trust_all',
  ]);

  // A server without a report may support any type; an older agent supports fewer fields.
  await report('0.0.1', {});
  assert.deepEqual(await save({ components: [webcam] }), []);
  assert.deepEqual(await save(debug), ['warning agent.advanced_settings.debug']);
  const { revisions } = await fleet.listConfigRevisions({ partId });
  assert.equal(revisions.length, 6);
});

test('a package, or a version of it, that the registry does not have is a warning with its place', async () => {
  await using on = await testServer();
  const contents = await archiveOf(scriptEntries());
  const info = { organizationId: on.orgId, name: 'parts', version: '1', type: PackageType.ARCHIVE };
  const packages = await on.client(PackageService);
  await packages.createPackage(
    (async function* () {
      yield { package: { case: 'info' as const, value: info } };
      yield { package: { case: 'contents' as const, value: contents } };
    })(),
  );
  const fleet = await on.client(FleetService);
  const { partId } = await on.machine('m');
  const configOf = (...named: { package: string; version?: string }[]) => ({
    packages: named.map((one, n) => ({ name: `p${n}`, type: 'archive', ...one })),
  });
  const save = async (...named: { package: string; version?: string }[]) => {
    const { problems } = await fleet.saveConfig({ partId, configJson: JSON.stringify(configOf(...named)) });
    // Ignore the separate warning that this server installs models only.
    return problems.map((one) => `${words(one)} ${one.message}`).filter((text) => !text.includes('does not install'));
  };
  const parts = `${on.orgId}/parts`;
  assert.deepEqual(
    await save({ package: parts }, { package: parts, version: 'latest' }, { package: parts, version: '1' }),
    [],
  );
  assert.deepEqual(await save({ package: parts, version: '1' }, { package: parts, version: '2' }), [
    'warning packages[1].version is 2, and parts has no such version; the newest is 1.',
  ]);
  assert.deepEqual(await save({ package: `${on.orgId}/prats`, version: '1' }), [
    `warning packages[0].package is ${on.orgId}/prats, and the registry has no such package for this organization.`,
  ]);
  const model = { ...configOf({ package: parts }).packages[0], type: 'ml_model' };
  const { problems } = await fleet.saveConfig({ partId, configJson: JSON.stringify({ packages: [model] }) });
  assert.deepEqual(
    problems.map((one) => `${words(one)} ${one.message}`),
    ['warning packages[0].type is ml_model, and parts is archive.'],
  );
  // Other organizations see a private package as missing.
  const forOthers = async () =>
    (await packageProblems(on.db, randomUUID(), configOf({ package: parts, version: '1' }))).map(({ path }) => path);
  assert.deepEqual(await forOthers(), ['packages[0].package']);
  await on.db.updateTable('registryItem').set({ visibility: 'public' }).execute();
  assert.deepEqual(await forOthers(), []);
});

test('the management server itself names what an agent of before does not act on', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, machineId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const configJson = JSON.stringify({ agent: { network_configuration: { hotspot_password: 'long enough' } } });
  await fleet.saveConfig({ partId, configJson });
  const conditionsFor = async (report: object) => {
    await agent.deviceAgentConfig({
      id: partId,
      hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
      versionInfo: { agentRunning: '0.0.9' },
      report: { appliedRevision: 1n, ...report },
    });
    const { machine } = await fleet.getMachine({ id: machineId });
    return machine?.conditions.map(({ code, path, message }) => [code, path, message.split(': ')[0]]);
  };
  const path = 'agent.network_configuration.hotspot_password';
  // A machine that reports neither slices nor the fields that it applies.
  assert.deepEqual(await conditionsFor({}), [['NO_EFFECT_HERE', path, path]]);
  // A machine that reports the ineffective path itself.
  assert.deepEqual(await conditionsFor({ slices: [{ slice: 3, state: 3, ineffectivePaths: [path] }] }), []);
});

test('an entry saved under earlier rules does not block other changes', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const save = async (config: object) => fleet.saveConfig({ partId, configJson: JSON.stringify(config) });
  const broken = { components: [webcam], services: [capture({ camera: 'yard' })] };
  await save(broken);
  const agent = await on.client(AgentDeviceService, part);
  const reported: object = {
    server: { runningVersion: '0.1.0' },
    actsOn: actedOn('linux/amd64'),
    serverKnowledge: platformServerKnowledge,
  };
  await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
    report: { ...reported },
  });
  const debug = { agent: { advanced_settings: { debug: true } } };
  assert.deepEqual((await save({ ...broken, ...debug })).problems.map(words), ['warning components[0].model']);
  const { problems } = await fleet.checkConfig({ partId, configJson: JSON.stringify(broken) });
  assert.deepEqual(problems.map(words), ['warning components[0].model']);
  const worse = { ...broken, components: [{ ...webcam, model: 'other' }] };
  assert.match(await failure(save(worse)), /INVALID_CONFIG/);
  await save({ components: [camera] });
  assert.match(await failure(save(broken)), /INVALID_CONFIG/, 'corrected, it stays corrected');
});

test('an agent of another product gets no condition about effects', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  await agent.deviceAgentConfig({ id: partId, hostInfo: { platform: 'linux/amd64', tags: ['other'] } });
  const configJson = JSON.stringify({ agent: { network_configuration: { manufacturer: 'Acme' } } });
  assert.deepEqual((await fleet.saveConfig({ partId, configJson })).problems, []);
});

test('a configuration above the limit is refused by its own name, in bytes', async () => {
  await using on = await testServer();
  const [fleet, app] = [await on.client(FleetService), await on.client(AppService)];
  const { partId } = await on.machine('m');
  const ofSize = (sizeBytes: number): string => {
    const empty = JSON.stringify({ notes: '' });
    return JSON.stringify({ notes: 'ü'.repeat((sizeBytes - empty.length) / 2) });
  };
  const [most, tooMuch] = [ofSize(2 ** 20), ofSize(2 ** 20 + 2)];
  assert.equal(Buffer.byteLength(most), 2 ** 20);
  const refused = 'InvalidArgument CONFIG_TOO_LARGE';
  assert.equal(await failure(fleet.saveConfig({ partId, configJson: tooMuch })), refused);
  assert.equal(await failure(fleet.checkConfig({ partId, configJson: tooMuch })), refused);
  assert.equal(await failure(app.updateRobotPart({ id: partId, name: 'm-main', robotConfigJson: tooMuch })), refused);
  assert.equal(await failure(fleet.saveConfig({ partId, configJson: most })), 'no failure');
});

test('a configuration that a machine could not decode is refused, and the machine reads one of the most levels', async () => {
  await using on = await testServer();
  const [fleet, app] = [await on.client(FleetService), await on.client(AppService)];
  const { partId, part } = await on.machine('m');
  const ofLevels = (levels: number): string =>
    `{"components":[{"name":"a","api":"rdk:component:generic","model":"x:y:z","attributes":${'{"a":'.repeat(levels - 3)}1${'}'.repeat(levels - 3)}}]}`;
  const robot = await on.client(RobotService, part);
  for (const configJson of [ofLevels(41), ofLevels(60), ofLevels(50_000), '['.repeat(100_000)]) {
    const { problems } = await fleet.checkConfig({ partId, configJson });
    assert.match(problems[0]?.message ?? '', /more than 40 levels/);
    assert.equal(await failure(fleet.saveConfig({ partId, configJson })), 'InvalidArgument INVALID_CONFIG');
    const update = app.updateRobotPart({ id: partId, name: 'm-main', robotConfigJson: configJson });
    assert.equal(await failure(update), 'InvalidArgument INVALID_CONFIG');
  }
  await fleet.saveConfig({ partId, configJson: ofLevels(40) });
  assert.equal((await robot.config({ id: partId })).config?.components.length, 1);
});
