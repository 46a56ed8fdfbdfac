// Updates to good and bad versions, on a whole machine with its gate and its service manager.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpdateState, type ProgramStatus } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { gateText } from '../src/versions/gate.ts';
import { cutsReason, mostCuts, trialReason } from '../src/state/trial-file.ts';
import type { Program } from '../src/versions/layout.ts';
import { Rig, type Behaviour } from './rig.ts';

const hour = 60;

function world(): Rig {
  const rig = new Rig();
  for (const program of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(program, '1.0.0');
    rig.install(program, id);
    use();
  }
  return rig;
}
const statusOf = (rig: Rig, program: Program): ProgramStatus | undefined => rig.cloud.report.get()?.[program];
const stateOf = (rig: Rig, program: Program): string | undefined =>
  Object.entries(UpdateState).find(([, value]) => value === statusOf(rig, program)?.lastUpdate?.state)?.[0];
const conditionsOf = (rig: Rig): string[] => rig.cloud.report.get()?.conditions.map((c) => c.code) ?? [];
const passes = async (rig: Rig, minutes: number): Promise<void> => void (await rig.until(() => false, minutes));

/** Publishes and requests a version, then waits until its update has succeeded or failed. */
async function update(rig: Rig, program: Program, version: string, behaviour: Behaviour = 'good'): Promise<string> {
  const { id, use } = rig.publish(program, version, behaviour);
  use();
  const isOver = () => rig.isWell() && ['REVERTED', 'HEALTHY', 'FAILED'].includes(stateOf(rig, program) ?? '');
  await rig.until(() => isOver() && statusOf(rig, program)?.lastUpdate?.version === id.slice(0, -13), 3 * hour);
  assert.equal(rig.broken, undefined);
  assert.ok(rig.isWell(), rig.transcript.join('\n'));
  return id;
}

async function runs(work: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = world();
  rig.power();
  assert.ok(await rig.until(() => rig.isWell(), 5), rig.transcript.join('\n'));
  try {
    await work(rig);
  } finally {
    await rig.off();
  }
}

const disabled = (is: boolean) => ({
  advanced_settings: { agent_auto_restart: true, disable_platform_server: is },
});

const startsOf = (rig: Rig, version: string): number => rig.starts.filter((v) => v === version).length;
const serverStartsOf = (rig: Rig, id: string): number =>
  rig.transcript.filter((line) => line.includes('the machine server was started') && line.includes(id.slice(0, -13)))
    .length;

test('update_keeps_server_pid: a good agent takes over, passes the health check, and the server never stops', () =>
  runs(async (rig) => {
    const before = rig.machine.processes.running;
    await update(rig, 'agent', '1.1.0');
    const status = statusOf(rig, 'agent')!;
    assert.deepEqual(
      [status.runningVersion, status.previousVersion, stateOf(rig, 'agent'), status.lastUpdate?.fromVersion],
      ['1.1.0', '1.0.0', 'HEALTHY', '1.0.0'],
    );
    assert.equal(status.why, '1.1.0 (stable) is used, as asked for.');
    assert.deepEqual(rig.machine.processes.running, before);
    assert.deepEqual(rig.starts, ['1.0.0', '1.1.0']);
  }));

const inStarts = /^it did not pass the health check in 3 starts$/;
/** `exit`: the exit reason of its last start, and its last line. */
const bad: [program: Program, behaviour: Behaviour, starts: number, reason: RegExp, exit?: [RegExp, string?]][] = [
  ['agent', 'crash', 3, inStarts, [/^exit 1$/, 'it hurts ***']],
  ['agent', 'hang', 3, inStarts, [/^not ready in time; systemd ended it/]],
  ['agent', 'mute', 1, /^after 10 minutes: it did not reach the management server$/],
  ['server', 'crash', 3, inStarts, [/^exit 3$/, 'it hurts']],
  ['server', 'hang', 1, /^after 10 minutes: it is not ready$/, [/^it never got ready; the agent ended it \(/]],
  ['server', 'mute', 3, inStarts, [/^exit 4$/, '{"platform_server":"ready","url":"http://127.0.0.1:7000"}']],
];
for (const [program, behaviour, starts, reason, exit] of bad) {
  test(`${program} ${behaviour}: rolled back, quarantined, reported, not tried again until it is another or cleared`, () =>
    runs(async (rig) => {
      const version = `1.1.0-${behaviour}`;
      const count = (id: string) => (program === 'agent' ? startsOf(rig, version) : serverStartsOf(rig, id));
      const id = await update(rig, program, '1.1.0', behaviour);
      const status = statusOf(rig, program)!;
      assert.deepEqual([status.runningVersion, stateOf(rig, program)], ['1.0.0', 'REVERTED']);
      assert.deepEqual(
        status.quarantined.map((q) => q.version),
        [version],
      );
      assert.match(status.quarantined[0]?.reason ?? '', reason);
      assert.match(status.lastUpdate?.reason ?? '', reason);
      assert.match(status.why, /^1\.0\.0 is used\. 1\.1\.0-\w+ \(stable\) is wanted but quarantined .* UTC: .*Choose/);
      assert.deepEqual(conditionsOf(rig), ['VERSION_QUARANTINED']);
      assert.equal(count(id), starts);
      /** The reason of the failure must survive a restart of the machine. */
      const checkExit = (): void => {
        const found = statusOf(rig, program)?.quarantined[0]?.exit;
        assert.equal(found?.version, exit && version);
        assert.match(found?.reason ?? '', exit?.[0] ?? /^$/);
        assert.equal(found?.lines.at(-1), exit?.[1]);
      };
      checkExit();

      // server_says_update_during_rollback: the cloud desires the version for hours, and the machine is power-cycled.
      await passes(rig, 2 * hour);
      rig.cutPower();
      await passes(rig, 2 * hour);
      assert.deepEqual([count(id), rig.isWell(), rig.broken], [starts, true, undefined]);
      checkExit();

      // An operator clears the quarantine: the same sequence runs once more.
      rig.cloud.clearance.set(1);
      await rig.until(() => count(id) === 2 * starts && rig.isWell(), 3 * hour);
      await passes(rig, hour);
      assert.deepEqual([count(id), rig.isWell(), statusOf(rig, program)?.runningVersion], [2 * starts, true, '1.0.0']);

      await update(rig, program, '1.2.0');
      assert.deepEqual([statusOf(rig, program)?.runningVersion, conditionsOf(rig)], ['1.2.0', []]);
    }));
}

test('an agent on trial is not blamed while it has turned the radio into a hotspot, but after that', () =>
  runs(async (rig) => {
    const { use } = rig.publish('agent', '1.1.0', 'mute');
    rig.isOfflineByHotspot.set(true);
    use();
    await rig.until(() => startsOf(rig, '1.1.0-mute') === 1, hour);
    await passes(rig, 2 * hour);
    assert.deepEqual([rig.starts.at(-1), rig.inUse('agent').slice(0, -13)], ['1.1.0-mute', '1.1.0-mute']);
    rig.isOfflineByHotspot.set(false);
    await passes(rig, 9);
    assert.equal(rig.starts.at(-1), '1.1.0-mute');
    await passes(rig, 3);
    assert.equal(rig.starts.at(-1), '1.0.0');
    assert.match(statusOf(rig, 'agent')?.quarantined[0]?.reason ?? '', /: it did not reach the management server$/);
  }));

test('an agent whose optional task fails is rolled back, unless the task recovers in time', () =>
  runs(async (rig) => {
    rig.blamed.set(['network']);
    await update(rig, 'agent', '1.1.0');
    const [failed] = statusOf(rig, 'agent')?.quarantined ?? [];
    assert.deepEqual([failed?.version, failed?.reason], ['1.1.0', 'after 10 minutes: its task network failed']);
    const { use } = rig.publish('agent', '1.2.0');
    use();
    await rig.until(() => startsOf(rig, '1.2.0') === 1, hour);
    await passes(rig, 5);
    assert.notEqual(statusOf(rig, 'agent')?.trial, undefined);
    rig.blamed.set([]);
    await passes(rig, 5);
    assert.deepEqual([statusOf(rig, 'agent')?.runningVersion, stateOf(rig, 'agent')], ['1.2.0', 'HEALTHY']);
  }));

for (const program of ['agent', 'server'] as const) {
  test(`rollback_loop_is_bounded: ${program}: a version that takes the machine down at each start is rolled back`, () =>
    runs(async (rig) => {
      const { id, use } = rig.publish(program, '1.1.0', 'crash');
      use();
      const seen = { starts: 0 };
      rig.setFate(({ do: what, path }) => {
        if (what !== 'exec' || !path.endsWith(`platform-${program}`) || rig.inUse(program) !== id) return 'ok';
        seen.starts++;
        return 'lostBefore';
      });
      await rig.until(() => rig.isWell() && stateOf(rig, program) === 'REVERTED', 2 * hour);
      await passes(rig, 2 * hour);
      assert.deepEqual([seen.starts, rig.isWell(), rig.broken], [mostCuts + 1, true, undefined]);
      assert.equal(statusOf(rig, program)?.quarantined[0]?.reason, cutsReason);
    }));

  test(`power cuts in the trial of a good ${program}, more than it may fail, do not roll it back`, () =>
    runs(async (rig) => {
      const { id, use } = rig.publish(program, '1.1.0');
      use();
      for (let cut = 1; cut <= mostCuts; cut++) {
        await rig.until(
          () => rig.inUse(program) === id && (statusOf(rig, program)?.trial?.starts ?? 0) > 0,
          hour,
          1_000,
        );
        assert.equal(statusOf(rig, program)?.trial?.version, '1.1.0', `before cut ${cut}`);
        await rig.clock.advance(cut * 700);
        rig.cutPower();
        await rig.clock.advance(1_000);
      }
      await rig.until(() => rig.isWell(), hour);
      assert.deepEqual([rig.inUse(program), rig.isWell(), rig.broken], [id, true, undefined]);
      assert.deepEqual([stateOf(rig, program), statusOf(rig, program)?.quarantined], ['HEALTHY', []]);
    }));
}

test('crashes and power cuts of one trial are counted apart: three crashes are the end, whatever was between them', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('agent', '1.1.0', 'crash');
    use();
    const seen = { starts: 0 };
    rig.setFate(({ do: what, path }) => {
      if (what !== 'exec' || path !== 'bin/platform-agent' || rig.inUse('agent') !== id) return 'ok';
      return ++seen.starts % 2 === 0 ? 'lostBefore' : 'ok'; // power cuts at the second and the fourth start
    });
    await rig.until(() => rig.isWell() && stateOf(rig, 'agent') === 'REVERTED', hour);
    assert.deepEqual([seen.starts, statusOf(rig, 'agent')?.quarantined[0]?.reason], [5, trialReason]);
  }));

test('a management server that is away during a trial: no agent could reach it, so the version is tried again', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('agent', '1.1.0');
    use();
    await rig.until(() => rig.starts.at(-1) === '1.1.0', 5, 100);
    rig.cloud.isUp = false;
    await passes(rig, 20);
    assert.deepEqual([rig.inUse('agent').slice(0, -13), rig.starts], ['1.0.0', ['1.0.0', '1.1.0', '1.0.0']]);
    rig.cloud.isUp = true;
    await rig.until(() => rig.isWell() && rig.inUse('agent') === id, hour);
    assert.deepEqual([rig.inUse('agent'), rig.isWell(), rig.broken], [id, true, undefined]);
    assert.deepEqual(statusOf(rig, 'agent')?.quarantined, []);
  }));

test('a new agent that users restart again and again while it is on trial is not rolled back for that', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('agent', '1.1.0', 'good');
    // The version needs the management server for its health check; the server is down for a while.
    use();
    await rig.until(() => rig.starts.at(-1) === '1.1.0', 5, 100);
    rig.cloud.isUp = false;
    for (let i = 0; i < mostCuts; i++) {
      await rig.clock.advance(30_000);
      rig.restartAgent();
      await rig.clock.advance(10_000);
    }
    assert.deepEqual([rig.inUse('agent'), rig.starts.filter((v) => v === '1.1.0').length], [id, mostCuts + 1]);
    rig.cloud.isUp = true;
    await rig.until(() => rig.isWell(), hour);
    assert.deepEqual([rig.inUse('agent'), rig.isWell(), rig.broken], [id, true, undefined]);
  }));

test('a new machine server that users restart again and again while it is on trial is not rolled back for that', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('server', '1.1.0', 'good');
    use();
    const hasStarted = (times: number) => () => serverStartsOf(rig, id) === times;
    assert.ok(await rig.until(hasStarted(1), hour, 1_000));
    for (let i = 1; i <= mostCuts; i++) {
      if (i % 2 === 0) rig.cloud.agentConfig.set(disabled(true));
      else rig.cloud.askForRestart();
      await passes(rig, 2);
      rig.cloud.agentConfig.set(disabled(false));
      assert.ok(await rig.until(hasStarted(i + 1), 4, 1_000), `start ${i + 1}: ${rig.transcript.join('\n')}`);
      assert.equal(statusOf(rig, 'server')?.trial?.version, '1.1.0', `restart ${i}`);
    }
    await rig.until(() => rig.isWell(), hour);
    assert.deepEqual([rig.inUse('server'), rig.isWell(), rig.broken], [id, true, undefined]);
    assert.deepEqual([stateOf(rig, 'server'), statusOf(rig, 'server')?.quarantined], ['HEALTHY', []]);
  }));

test('both_versions_broken_keeps_agent_running: it goes back once, and goes on trying the one that is left', () =>
  runs(async (rig) => {
    // The old version passed its health check earlier, and is broken now.
    const old = rig.inUse('server');
    const broken = Buffer.from('#!/bin/sh\nexit 7\n');
    rig.machine.files.put(
      `versions/${old}/platform-server`,
      rig.machine.files.get(`versions/${old}/platform-server`)!.bytes,
    );
    rig.publish('server', '1.1.0', 'crash').use();
    const path = `versions/${old}/platform-server`;
    rig.setFate((step) => (step.do === 'exec' && step.path === path ? { fail: 'EIO' } : 'ok'));
    await passes(rig, hour);
    const report = rig.cloud.report.get();
    assert.deepEqual([rig.inUse('server'), report?.server?.installedVersion, rig.broken], [old, '1.0.0', undefined]);
    assert.equal(report?.server?.quarantined.length, 1);
    assert.equal(broken.length > 0 && rig.starts.length, 1, 'the agent itself never ended');
    rig.setFate(() => 'ok');
    await update(rig, 'server', '1.2.0');
    assert.equal(statusOf(rig, 'server')?.runningVersion, '1.2.0');
  }));

test('disk_full_precheck: refused before anything is changed, reported, and done when there is room', () =>
  runs(async (rig) => {
    rig.machine.files.capacityBytes = rig.machine.files.usedBytes() + 20 * 2 ** 20;
    rig.publish('agent', '1.1.0').use();
    await passes(rig, 10);
    assert.deepEqual(
      [rig.isWell(), statusOf(rig, 'agent')?.runningVersion, stateOf(rig, 'agent'), conditionsOf(rig)],
      [true, '1.0.0', 'FAILED', ['DISK_FULL']],
    );
    assert.match(
      statusOf(rig, 'agent')?.why ?? '',
      /1\.1\.0 \(stable\) is wanted: There is no space left on the disk of cache\/part\/agent-[0-9a-f]{16}\.part: platform-agent 1\.1\.0 needs 53 MB, \d+ MB are free\./,
    );
    rig.machine.files.capacityBytes = Infinity;
    await rig.until(() => rig.isWell() && statusOf(rig, 'agent')?.runningVersion === '1.1.0', hour);
    assert.deepEqual([statusOf(rig, 'agent')?.runningVersion, conditionsOf(rig)], ['1.1.0', []]);
  }));

test('a server that is given as agent is refused by what it says of itself, and fetched once', () =>
  runs(async (rig) => {
    const server = rig.publish('server', '3.0.0');
    const url = 'https://releases/server/3.0.0';
    let fetched = 0;
    rig.machine.releases.fate = (at, what) => {
      if (at === url && what === 'part') fetched++;
      return 'ok';
    };
    const sha256 = Buffer.from(server.id.slice(-12), 'hex');
    assert.equal(sha256.length, 6);
    rig.cloud.agentRelease.set({ version: '3.0.0', url, desired: url, unsigned: true });
    await passes(rig, 3 * hour);
    const status = statusOf(rig, 'agent')!;
    assert.deepEqual([fetched, status.runningVersion, stateOf(rig, 'agent')], [1, '1.0.0', 'FAILED']);
    assert.match(status.quarantined[0]?.reason ?? '', /^it is platform-server and not platform-agent$/);
    assert.deepEqual(rig.starts, ['1.0.0']);
  }));

test('a machine server that the disk has damaged, in use for long, is noticed when it ends again and again, and fetched anew', () =>
  runs(async (rig) => {
    const id = await update(rig, 'server', '1.1.0');
    // Changes bits in place, with the same size and times, like a failing memory card.
    const file = rig.machine.files.get(`versions/${id}/platform-server`)!;
    const good = new TextDecoder().decode(file.bytes);
    const damaged = good.replace(/sleep 100000000/, 'exit 3         ');
    assert.notEqual(damaged, good);
    file.bytes = new TextEncoder().encode(damaged);
    rig.survivors = { of: 'all' };
    rig.cutPower();
    assert.ok(await rig.until(() => rig.transcript.some((line) => line.includes('is damaged and is removed')), hour));
    await rig.until(() => rig.isWell() && statusOf(rig, 'server')?.runningVersion === '1.1.0', hour);
    assert.deepEqual([rig.inUse('server'), rig.isWell(), rig.broken], [id, true, undefined]);
    assert.deepEqual(statusOf(rig, 'server')?.quarantined, []);
  }));

test('an operator goes back without a download; what was left is not taken again until the pin is off', () =>
  runs(async (rig) => {
    await update(rig, 'server', '1.1.0');
    rig.machine.releases.isReachable = false;
    const { did } = await rig.operator!.rollback('server');
    assert.match(did, /platform-server goes back to 1\.0\.0/);
    await rig.until(() => rig.isWell() && statusOf(rig, 'server')?.runningVersion === '1.0.0', hour);
    rig.cutPower();
    await passes(rig, hour);
    const status = statusOf(rig, 'server')!;
    assert.deepEqual([status.runningVersion, rig.isWell()], ['1.0.0', true]);
    assert.equal(status.why, '1.0.0 (pinned on this machine) is used, as asked for.');
    assert.equal((await rig.operator!.pin('server', '1.0.0')).isChanged, false);
    assert.equal((await rig.operator!.pin('server', null)).isChanged, true);
    await rig.until(() => rig.isWell() && statusOf(rig, 'server')?.runningVersion === '1.1.0', hour);
    assert.equal(statusOf(rig, 'server')?.runningVersion, '1.1.0');
    await assert.rejects(rig.operator!.pin('server', '7.7.7'), { code: 'VERSION_NOT_INSTALLED' });
    await assert.rejects(rig.operator!.pin('server', 'http://somewhere/x'), { code: 'DOWNLOAD_FAILED' });
    await assert.rejects(rig.operator!.rollback('agent'), { code: 'NO_PREVIOUS_VERSION' });
    assert.equal((await rig.operator!.clearQuarantine('agent')).isChanged, false);
  }));

test('an operator takes a version on trial back, and it is not quarantined', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('agent', '1.1.0');
    use();
    await rig.until(
      () => rig.starts.at(-1) === '1.1.0' && rig.cloud.report.get()?.agent?.runningVersion === '1.1.0',
      5,
      1_000,
    );
    assert.equal(statusOf(rig, 'agent')?.trial?.version, '1.1.0');
    await rig.operator!.rollback('agent');
    await rig.until(() => rig.isWell() && statusOf(rig, 'agent')?.runningVersion === '1.0.0', hour, 1_000);
    assert.deepEqual(
      [rig.inUse('agent').slice(0, -13), rig.machine.files.get('state/platform-agent.bad')],
      ['1.0.0', undefined],
    );
    assert.notEqual(rig.inUse('agent'), id);
  }));

test('without agent_auto_restart a new agent is used from the next restart on', () =>
  runs(async (rig) => {
    rig.cloud.agentConfig.set({});
    rig.publish('agent', '1.1.0').use();
    await passes(rig, 2 * hour);
    const status = statusOf(rig, 'agent')!;
    assert.deepEqual(
      [status.runningVersion, status.installedVersion, status.restartNeeded, stateOf(rig, 'agent')],
      ['1.0.0', '1.1.0', true, 'STAGED'],
    );
    assert.deepEqual(conditionsOf(rig), ['AGENT_RESTART_NEEDED']);
    assert.match(status.why, /is installed and is used from the next restart on/);
    rig.cutPower();
    await rig.until(() => rig.isWell(), hour);
    assert.deepEqual([statusOf(rig, 'agent')?.runningVersion, rig.starts], ['1.1.0', ['1.0.0', '1.1.0']]);
  }));

test('offline: a version that an operator gives from a file passes the health check without the cloud, if the old one had none', () =>
  runs(async (rig) => {
    rig.cloud.isUp = false;
    await passes(rig, 2 * hour);
    const { id } = rig.publish('agent', '1.1.0');
    const bytes = rig.machine.releases.files.get('https://releases/agent/1.1.0')!;
    rig.machine.releases.files.set('file:///media/usb/agent', bytes);
    await rig.operator!.pin('agent', 'file:///media/usb/agent');
    await rig.until(
      () =>
        rig.inUse('agent').endsWith(id.slice(-12)) && rig.machine.files.get('state/platform-agent.trial') === undefined,
      hour,
    );
    assert.equal(rig.inUse('agent'), `customURL+${id}`);
    assert.match(rig.transcript.join('\n'), /the version passed the health check/);
  }));

test('the gate is renewed by an agent that has passed the health check, not by one on trial', () =>
  runs(async (rig) => {
    const text = () => new TextDecoder().decode(rig.machine.files.get('lib/gate')?.bytes);
    rig.machine.files.put('lib/gate', Buffer.from('an older one'), 0o755);
    rig.publish('agent', '1.1.0').use();
    await rig.until(() => rig.cloud.report.get()?.agent?.runningVersion === '1.1.0', 5, 1_000);
    assert.deepEqual([statusOf(rig, 'agent')?.trial?.version, text()], ['1.1.0', 'an older one']);
    await rig.until(() => rig.isWell(), hour);
    assert.equal(text(), gateText);
  }));

test('the same bytes under another name do not update anything', () =>
  runs(async (rig) => {
    const pids = rig.machine.processes.running;
    const url = 'https://releases/server/1.0.0';
    rig.cloud.serverRelease.set({ version: 'customURL', url, desired: url, unsigned: true });
    await passes(rig, hour);
    const status = statusOf(rig, 'server')!;
    assert.deepEqual([rig.machine.processes.running, status.runningVersion, status.trial], [pids, '1.0.0', undefined]);
    assert.equal(status.why, `${url} is used, as asked for.`);
  }));

test('three versions are kept, and never the ones that are needed', () =>
  runs(async (rig) => {
    for (const version of ['1.1.0', '1.2.0', '1.3.0', '1.4.0']) await update(rig, 'server', version);
    const kept = rig.machine.files.names().filter((name) => name.endsWith('/platform-server'));
    assert.deepEqual(
      kept.map((name) => name.split('/')[1]?.slice(0, 5)),
      ['1.2.0', '1.3.0', '1.4.0'],
    );
    assert.equal(statusOf(rig, 'server')?.previousVersion, '1.3.0');
  }));
