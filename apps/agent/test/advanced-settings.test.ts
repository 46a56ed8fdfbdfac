// Each switch of advanced_settings on a running agent: what changes, what comes back when it is switched back, and what
// the agent undoes and leaves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@bufbuild/protobuf';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { Cell } from '@platform/kit';
import { keepSystem } from '../src/composition/system-configuration.ts';
import { settingsOf } from '../src/state/settings.ts';
import { wantedBefore } from '../src/config/config-receiver.ts';
import type { Wanted } from '../src/state/state.ts';
import type { SystemApplied } from '../src/system/keep.ts';
import type { SystemStatus } from '../src/system/system-status.ts';
import { journaldFile } from '../src/system/journald.ts';
import { NetworkWorld } from './network-world.ts';
import { systemMachine } from './system-machine.ts';
import { good, minute, World, type RunningAgent } from './world.ts';

async function started(script = good('1.0.0')): Promise<{ w: World; agent: RunningAgent }> {
  const w = new World();
  w.publish('1.0.0', script);
  const agent = w.start();
  await w.clock.advance(5_000);
  return { w, agent };
}
async function stop(w: World, agent: RunningAgent): Promise<void> {
  agent.stop();
  await w.clock.advance(130_000);
  await agent.done;
}
async function set(w: World, advanced_settings: JsonObject, ms = minute): Promise<string> {
  w.takeLog();
  w.cloud.agentConfig.set({ advanced_settings });
  await w.clock.advance(ms);
  return w.takeLog();
}
const running = (w: World): string => w.cloud.report.get()?.server?.runningVersion ?? '';

/** Starts of a machine server that never becomes ready, in the next minutes. */
async function startsIn(w: World, minutes: number): Promise<number> {
  w.takeLog();
  await w.clock.advance(minutes * minute);
  return w.takeLog('agent.server').match(/was started/g)?.length ?? 0;
}

/** A story for each field, but those whose stories are elsewhere. */
const stories: Readonly<Record<string, () => Promise<void>>> = {
  async debug() {
    const { w, agent } = await started();
    assert.doesNotMatch(await set(w, {}), / agent\S* pass$/m);
    assert.match(await set(w, { debug: true }), / agent\S* pass$/m);
    await set(w, { debug: false });
    assert.doesNotMatch(await set(w, { debug: false }), / agent\S* pass$/m);
    await stop(w, agent);
  },

  async disable_platform_server() {
    const { w, agent } = await started();
    assert.equal(running(w), '1.0.0');
    assert.match(await set(w, { disable_platform_server: true }), /stopping → disabled/);
    assert.equal(running(w), '');
    w.publish('1.1.0', good('1.1.0'));
    await w.clock.advance(5 * minute);
    assert.equal(running(w), '', 'nor does a new version start it');
    const seen = w.cloud.report.get();
    assert.equal(seen?.server?.installedVersion, '1.0.0', 'nothing is downloaded for it');
    assert.match(
      seen?.server?.why ?? '',
      /1\.1\.0.* is wanted, and not downloaded while disable_platform_server is true/,
    );
    assert.deepEqual(
      seen?.conditions?.map(({ code }) => code),
      [],
      'and nothing complains',
    );
    await set(w, {});
    assert.equal(
      w.cloud.report.get()?.server?.installedVersion,
      '1.1.0',
      'it is downloaded when the field is set back',
    );
    assert.notEqual(running(w), '');
    await stop(w, agent);
  },

  async platform_server_start_timeout_minutes() {
    const { w, agent } = await started('#!/bin/sh\nsleep 1000000\n');
    assert.equal(await startsIn(w, 5), 0, 'the default is ten minutes');
    await set(w, { platform_server_start_timeout_minutes: 1 }, 1_000);
    assert.ok((await startsIn(w, 6)) >= 2, 'also the start that runs already');
    await set(w, { platform_server_start_timeout_minutes: 30 }, minute);
    assert.ok((await startsIn(w, 25)) <= 1);
    await stop(w, agent);
  },

  async wait_for_update_check() {
    const { w, agent } = await started();
    await set(w, { wait_for_update_check: true });
    assert.equal(running(w), '1.0.0', 'a running machine server is left alone');
    await stop(w, agent);
    w.publish('1.1.0', good('1.1.0'));
    const waiting = w.start();
    await w.clock.advance(30_000);
    assert.equal(running(w), '1.1.0', 'the first start is that of the new version');
    await set(w, { wait_for_update_check: false });
    await stop(w, waiting);
    w.cloud.isUp = false;
    const offline = w.start();
    w.takeLog();
    await w.clock.advance(5_000);
    assert.match(w.takeLog('agent.server'), /was started 1\.1\.0/, 'switched back: it waits for nothing');
    await stop(w, offline);
  },

  async platform_server_env() {
    const { w, agent } = await started();
    const variable = (): string | undefined => w.machine.processes.lastEnvironment['HTTP_PROXY'];
    const codes = (): string[] => w.cloud.report.get()?.conditions.map(({ code }) => code) ?? [];
    assert.equal(variable(), undefined);
    for (const value of ['http://proxy', undefined]) {
      const before = variable();
      const [pid] = w.machine.processes.running;
      await set(w, value === undefined ? {} : { platform_server_env: { HTTP_PROXY: value } });
      assert.deepEqual([w.machine.processes.running, variable()], [[pid], before], 'the machine server runs on');
      assert.ok(codes().includes('RESTART_NEEDED'));
      w.cloud.askForRestart();
      await w.clock.advance(minute);
      assert.equal(variable(), value);
      assert.ok(!codes().includes('RESTART_NEEDED'));
    }
    await stop(w, agent);
  },

  async disable_network_configuration() {
    const world = new NetworkWorld();
    const home = { type: 'wifi', ssid: 'Home', psk: 'password1', priority: 10 };
    const managed = { additional_networks: [home, { ...home, ssid: 'Spare', priority: 5 }] };
    const marks = (): string[] =>
      world.network.state.get().profiles.map(({ ssid, mark }) => `${ssid} ${mark?.kind ?? 'of the system'}`);
    for (const ssid of ['Home', 'Spare']) world.network.setAccessPoint(ssid);
    world.start();
    world.configure(managed);
    assert.ok(await world.until(() => world.joined === 'Home', 15));
    await world.pass(1);
    assert.deepEqual(marks().toSorted(), ['Home additional', 'Spare additional']);
    world.configure({ ...managed, advanced_settings: { disable_network_configuration: true } });
    await world.pass(2);
    assert.deepEqual([marks(), world.joined], [['Home of the system'], 'Home']);
    const why = world.status.get()?.why ?? '';
    assert.match(why, /^disable_network_configuration is true; left to the system: Home; removed: Spare/);
    world.configure(managed);
    await world.pass(3);
    assert.ok(marks().includes('Spare additional'), marks().join());
    assert.equal(world.joined, 'Home');
    await world.stop();
  },

  async disable_system_configuration() {
    await using at = await systemMachine();
    const owners = '[Journal]\nSystemMaxUse=1G\n';
    await at.put(journaldFile, owners);
    const wantedWith = (revision: number, agent: object): Wanted => {
      const { config, hasSystem } = resolveAgentConfig({ cloud: agent });
      const before = wantedBefore({ commandLine: undefined, manufacturer: undefined, isFastStart: true });
      return { ...before, revision, isFresh: true, settings: settingsOf(config, { isFastStart: true, hasSystem }) };
    };
    const limited = { system_configuration: { logging_journald_system_max_use_megabytes: 64 } };
    const wanted = new Cell(wantedWith(1, limited));
    const system = new Cell<SystemApplied>({ revision: 0, configSha256: '', failure: undefined });
    const systemStatus = new Cell<SystemStatus | undefined>(undefined);
    const end = new AbortController();
    const kept = keepSystem({ wanted, system, systemStatus }, at.parts(), end.signal);
    const applied = async (revision: number): Promise<string | undefined> => {
      while (system.get().revision !== revision) await at.clock.advance(1_000);
      return at.read(journaldFile);
    };
    assert.match((await applied(1)) ?? '', /SystemMaxUse=64M/);
    wanted.set(wantedWith(2, { ...limited, advanced_settings: { disable_system_configuration: true } }));
    assert.equal(await applied(2), owners, "the owner's file is back");
    wanted.set(wantedWith(3, limited));
    assert.match((await applied(3)) ?? '', /SystemMaxUse=64M/);
    end.abort();
    await at.clock.advance(60_000);
    await kept;
  },
};

for (const [field, story] of Object.entries(stories))
  test(`advanced_settings.${field}: changed on a running agent, and back`, story);

const elsewhere = [
  'agent_auto_restart', // auto-restart.test.ts
  'disable_log_deduplication', // logs-story.test.ts
  'maintenance_longest_deferral_hours', // maintenance.test.ts
];
test('there is a story for each switch', () => {
  assert.deepEqual(
    Object.keys(fieldTable.advanced_settings).toSorted(),
    [...Object.keys(stories), ...elsewhere].toSorted(),
  );
});
