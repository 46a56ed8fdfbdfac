// When a new version of the agent starts: agent_auto_restart, with and without a maintenance window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rig } from './rig.ts';

const window = { from: '02:00', to: '03:00', time_zone: 'UTC' };
/** The rig starts a day with a time that the agent accepts. */
const midnight = Date.UTC(2026, 10, 5);
const closed = /It waits for the window Thu 02:00 UTC\.$/;
const never = /is used from the next restart on/;

/** `starts`: minutes after midnight between which the new version starts by itself; undefined: at the next restart. */
const table: [
  name: string,
  isAutomatic: boolean,
  hasWindow: boolean,
  starts: [from: number, to: number] | undefined,
  why?: RegExp,
][] = [
  ['true, without a window: at once', true, false, [5, 15]],
  ['true, with a window: in the window', true, true, [120, 180], closed],
  ['false, with a window: in the window', false, true, [120, 180], closed],
  ['false, without a window: at the next restart', false, false, undefined, never],
];
for (const [name, isAutomatic, hasWindow, starts, why] of table) {
  test(`agent_auto_restart ${name}`, async () => {
    const rig = new Rig();
    rig.clock.jumpWall(midnight - rig.clock.wall());
    rig.cloud.agentConfig.set({ advanced_settings: { agent_auto_restart: isAutomatic } });
    if (hasWindow) rig.cloud.maintenanceWindow = window;
    for (const program of ['agent', 'server'] as const) {
      const { id, use } = rig.publish(program, '1.0.0');
      rig.install(program, id);
      use();
    }
    rig.power();
    try {
      const minutes = (): number => (rig.clock.wall() - midnight) / 60_000;
      assert.ok(await rig.until(() => rig.isWell() && minutes() >= 5, 6), rig.transcript.join('\n'));
      const server = rig.machine.processes.running;
      rig.publish('agent', '1.1.0').use();
      const isStarted = (): boolean => rig.starts.includes('1.1.0');
      const shownWhy = (): string => rig.cloud.report.get()?.agent?.why ?? '';
      if (why) {
        assert.ok(await rig.until(() => why.test(shownWhy()), 30), shownWhy());
        assert.equal(isStarted(), false, 'it is installed and waits');
      }
      const isBySelf = await rig.until(isStarted, 240 - minutes());
      assert.equal(isBySelf, starts !== undefined);
      if (starts) assert.ok(minutes() >= starts[0] && minutes() <= starts[1], `it started after ${minutes()} minutes`);
      else rig.restartAgent();
      await rig.until(() => rig.isWell() && rig.inUse('agent').startsWith('1.1.0'), 60);
      assert.ok(rig.isWell(), rig.transcript.join('\n'));
      assert.deepEqual([rig.starts, rig.broken], [['1.0.0', '1.1.0'], undefined]);
      if (starts) assert.deepEqual(rig.machine.processes.running, server, 'the machine server kept running');
    } finally {
      await rig.off();
    }
  });
}
