// What is checked before a configuration is saved, against what its machine has reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '@connectrpc/connect';
import { actedOn } from '@platform/contract/config-effect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import {
  ConfigProblemsSchema,
  FleetService,
  type Problem,
  SeveritySchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { platformServerKnowledge } from '@platform/contract/server-resources';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const camera = { name: 'yard', type: 'camera', model: 'folder', attributes: { path: '/pictures' } };
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
  const hotspot = { agent: { network_configuration: { hotspot_password: 'long enough' } } };
  const debug = { agent: { advanced_settings: { debug: true } } };
  const missing = { components: [camera], services: [capture({ camera: 'yrad' })] };

  // Before any report: the reference server is assumed, and its unknown types are only doubted.
  assert.deepEqual(await save(hotspot), ['warning agent.network_configuration.hotspot_password']);
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
  assert.deepEqual(await save({ ...missing, ...hotspot }), [
    'error services[0].attributes.camera',
    'warning agent.network_configuration.hotspot_password',
  ]);

  // A server that reports nothing may know anything; an older agent acts on less.
  await report('0.0.1', {});
  assert.deepEqual(await save({ components: [webcam] }), []);
  assert.deepEqual(await save(debug), ['warning agent.advanced_settings.debug']);
  const { revisions } = await fleet.listConfigRevisions({ partId });
  assert.equal(revisions.length, 6);
});

test('what was saved by earlier rules keeps nobody from changing something else', async () => {
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

test('of an agent of another product nothing is said about effects', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  await agent.deviceAgentConfig({ id: partId, hostInfo: { platform: 'linux/amd64', tags: ['other'] } });
  const configJson = JSON.stringify({ agent: { network_configuration: { manufacturer: 'Acme' } } });
  assert.deepEqual((await fleet.saveConfig({ partId, configJson })).problems, []);
});
