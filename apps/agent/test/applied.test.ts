// On the simulated device, the agent reports the applied revision, not the last received revision.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DescEnum } from '@bufbuild/protobuf';
import { ConfigSliceSchema, SliceStateSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ResourceState } from '@platform/contract/machine-server/resource-report';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { answerValidMs } from '../src/server/watch.ts';
import { sha256Of } from './test-cloud.ts';
import { good, World } from './world.ts';

const schemasSha256 = 'ab'.repeat(32);
const nameOf = (of: DescEnum, value: number): string =>
  of.value[value]?.localName.toLowerCase().replace('_', ' ') ?? '';

/** The last report's applied slices, as "2: settings in effect, …". */
function applied(w: World): string {
  const report = w.cloud.report.get();
  const slices = report?.slices.map(
    ({ slice, state, appliedRevision }) =>
      `${nameOf(ConfigSliceSchema, slice)} ${nameOf(SliceStateSchema, state)} ${appliedRevision}`,
  );
  return `${report?.appliedRevision}: ${slices?.join(', ')}`;
}

/** The content that each slice reports: "saved", "none" or "other". */
const contents = (w: World): string =>
  (w.cloud.report.get()?.slices ?? [])
    .map(({ configSha256: sha }) => (sha.length === 0 ? 'none' : w.cloud.configSha256.equals(sha) ? 'saved' : 'other'))
    .join(' ');

/** Sets the response of the machine server, which uses the saved configuration of that revision. */
function serve(w: World, revision: number, ...resources: Omit<ResourceState, 'sinceWall'>[]): void {
  const all = resources.map((one) => ({ ...one, sinceWall: 0 }));
  const etag = JSON.stringify([revision, all]);
  const configSha256 = sha256Of(`revision ${revision}`).toString('hex');
  w.machine.status = {
    restartAllowed: true,
    doesNotHandleNeedsRestart: true,
    revision,
    configSha256,
    resourceStatusEtag: etag,
  };
  w.machine.resources = { revision, resources: all, knowledge: { ...platformServerKnowledge, schemasSha256 } };
}

test('each slice is applied when it has acted; a failed entry holds back until it is corrected, also after a restart', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 1;
  serve(w, 1, { name: 'cam', path: 'components[0]', state: 'ready' });
  const agent = w.start();
  await w.clock.advance(20_000);
  const rest = 'network no effect 0, system no effect 0';
  assert.equal(applied(w), `1: settings in effect 1, versions in effect 1, ${rest}, server in effect 1`);
  const report = w.cloud.report.get();
  assert.ok(report);
  assert.ok(
    report.actsOn.includes('advanced_settings.debug') && !report.actsOn.some((one) => one.startsWith('network')),
  );
  assert.equal(report.serverKnowledge?.models.length, platformServerKnowledge.models.length);
  assert.equal(report.serverKnowledge?.schemasSha256, schemasSha256, 'which schemas its server has');

  // The agent has only received revision 2; the machine server still runs revision 1.
  w.cloud.revision = 2;
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(500);
  assert.match(applied(w), /^0: settings in effect 2, versions in effect 2, .*server lagging 1$/);
  assert.equal(contents(w), 'saved saved none none other');

  const error = { code: 'RESOURCE_UNKNOWN', message: 'It runs no such camera.', remedy: 'Choose another.' };
  serve(w, 2, { name: 'cam', path: 'components[0]', state: 'failed', error });
  await w.clock.advance(2_000);
  assert.match(applied(w), /^0: .*server lagging 0$/, 'a part of it only is in effect');
  const found = w.cloud.report.get()?.conditions.find(({ path }) => path === 'components[0]');
  assert.deepEqual([found?.code, found?.message, found?.remedy], [error.code, error.message, error.remedy]);
  const lag = w.cloud.report.get()?.slices.at(-1);
  assert.deepEqual([lag?.code, lag?.reason], ['RESOURCE_UNKNOWN', 'components[0]: It runs no such camera']);

  agent.kill();
  const next = w.start();
  await w.clock.advance(120_000);
  assert.match(applied(w), /^0: .*server lagging 0$/, 'what was in effect before the crash is not claimed');
  assert.equal(
    w.cloud.report.get()?.slices.at(-1)?.since?.seconds,
    lag?.since?.seconds,
    'since when it is not in effect is known',
  );

  serve(w, 2, { name: 'cam', path: 'components[0]', state: 'ready' });
  await w.clock.advance(12_000);
  assert.match(applied(w), /^2: .*server in effect 2$/);
  assert.deepEqual(
    w.cloud.report.get()?.conditions.filter(({ path }) => path !== ''),
    [],
  );
  next.stop();
  await w.clock.advance(1_000);
  await next.done;
});

test('what nothing acts on is named, left out, and never hides what lags', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 1;
  w.cloud.agentConfig.set({
    network_configuration: { hotspot_password: 'long enough', device_reboot_after_offline_minutes: 60 },
    additional_networks: [{ type: 'wifi', ssid: 'home', psk: '12345678' }],
    system_configuration: { os_auto_upgrade_type: 'all' },
    advanced_settings: { disable_network_configuration: true },
  });
  serve(w, 1);
  const agent = w.start();
  await w.clock.advance(20_000);
  assert.match(applied(w), /^1: settings in effect 1, .*network no effect 0, system no effect 0/);
  assert.deepEqual(
    w.cloud.report.get()?.slices.map(({ ineffectivePaths }) => ineffectivePaths),
    [
      ['agent.advanced_settings.disable_network_configuration'],
      [],
      [
        'agent.network_configuration.device_reboot_after_offline_minutes',
        'agent.network_configuration.hotspot_password',
        'agent.additional_networks[0]',
      ],
      ['agent.system_configuration.os_auto_upgrade_type'],
      [],
    ],
  );
  const ineffective = w.cloud.report.get()?.conditions.filter(({ code }) => code === 'NO_EFFECT_HERE') ?? [];
  assert.equal(ineffective.length, 4);
  assert.ok(ineffective.every(({ message, path }) => path !== '' && !message.includes('long enough')));
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('a version that cannot be had, a server that does not report, an environment that waits for a restart', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 1;
  const agent = w.start();
  await w.clock.advance(20_000);
  assert.match(applied(w), /^1: .*server not reported 0$/);
  assert.equal(contents(w), 'saved saved none none none');

  w.cloud.revision = 2;
  w.publish('2.0.0', good('2.0.0'), 'other bytes');
  await w.clock.advance(20_000);
  assert.match(applied(w), /^0: settings in effect 2, versions lagging 1/, 'the programs of revision 1 run');
  assert.equal(w.cloud.report.get()?.slices[1]?.code, 'DOWNLOAD_CORRUPT');

  w.cloud.revision = 3;
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.agentConfig.set({ advanced_settings: { platform_server_env: { A: '1' } } });
  await w.clock.advance(20_000);
  assert.match(applied(w), /^0: settings lagging 0, versions in effect 3/);
  assert.ok(w.cloud.report.get()?.conditions.some(({ code }) => code === 'RESTART_NEEDED'));
  w.cloud.askForRestart();
  await w.clock.advance(20_000);
  assert.match(applied(w), /^3: settings in effect 3, versions in effect 3/);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('after a restored backup a number comes again: nothing of the lost content is claimed', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 5;
  serve(w, 5);
  const agent = w.start();
  await w.clock.advance(20_000);
  assert.match(applied(w), /^5: .*server in effect 5$/);

  // The server is restored, and another content is saved as revision 5; the machine server still has the lost one.
  w.cloud.content = 'saved after the restore';
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(2_000);
  assert.match(applied(w), /^0: settings in effect 5, .*server lagging 5$/);
  assert.equal(contents(w), 'saved saved none none other');
  assert.match(w.cloud.report.get()?.slices.at(-1)?.reason ?? '', /uses another content of revision 5/);

  // A machine server that reports the number only cannot say which of the two it uses, also after a crash of the agent.
  w.machine.status = { restartAllowed: true, doesNotHandleNeedsRestart: true, revision: 5 };
  await w.clock.advance(15_000);
  assert.match(applied(w), /^5: .*server not reported 0$/);
  agent.kill();
  const next = w.start();
  await w.clock.advance(120_000);
  assert.match(applied(w), /^5: .*server not reported 0$/);

  w.machine.status = { ...w.machine.status, configSha256: w.cloud.configSha256.toString('hex') };
  await w.clock.advance(15_000);
  assert.equal(contents(w), 'saved saved none none saved');
  next.stop();
  await w.clock.advance(1_000);
  await next.done;
});

test('the same content under a new number is in effect at once, and a report follows', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.content = 'the same text';
  w.cloud.revision = 1;
  const agent = w.start();
  await w.clock.advance(20_000);
  const reports = w.cloud.calls.get('report') ?? 0;
  w.cloud.revision = 2;
  w.cloud.clearance.set(1); // wakes the long poll
  await w.clock.advance(2_000);
  assert.match(applied(w), /^2: settings in effect 2, versions in effect 2/);
  assert.ok((w.cloud.calls.get('report') ?? 0) > reports);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('the last answer of a machine server holds for a minute, then nothing is claimed', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 1;
  serve(w, 1);
  const agent = w.start();
  await w.clock.advance(20_000);
  assert.match(applied(w), /^1: .*server in effect 1$/);
  w.machine.status = undefined;
  await w.clock.advance(30_000);
  assert.match(applied(w), /^1: .*server in effect 1$/, 'a busy server misses questions');
  await w.clock.advance(60_000);
  assert.match(applied(w), /^0: .*server lagging 0$/);
  assert.match(w.cloud.report.get()?.slices.at(-1)?.reason ?? '', /does not answer/);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('an entry that failed is not called failing by a machine server that answers no more', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.revision = 1;
  const error = { code: 'CAMERA_FAILED', message: 'It gives no image.', remedy: 'Look at its cable.' };
  serve(w, 1, { name: 'cam', path: 'components[0]', state: 'unhealthy', error });
  const agent = w.start();
  await w.clock.advance(20_000);
  const shown = () => {
    const report = w.cloud.report.get();
    return [report?.conditions.map(({ code }) => code) ?? [], report?.slices.at(-1)?.reason];
  };
  assert.deepEqual(shown(), [['CAMERA_FAILED'], '']);
  w.machine.status = undefined;
  await w.clock.advance(answerValidMs + 20_000);
  assert.deepEqual(shown(), [[], 'the machine server does not answer'], 'nothing is called good, either');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});
