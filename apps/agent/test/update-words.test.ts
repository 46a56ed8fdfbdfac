// The reported version state agrees with the running versions, whatever was desired before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpdateState, type ProgramStatus } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Program } from '../src/versions/layout.ts';
import { damagedReason } from '../src/state/trial-file.ts';
import { Rig } from './rig.ts';
import { World } from './world.ts';

const hour = 60;
const statusOf = (rig: Rig, program: Program): ProgramStatus => rig.cloud.report.get()![program]!;
const stateOf = (rig: Rig, program: Program): string | undefined =>
  Object.entries(UpdateState).find(([, value]) => value === statusOf(rig, program).lastUpdate?.state)?.[0];
const passes = async (rig: Rig, minutes: number): Promise<void> => void (await rig.until(() => false, minutes));
const never = { restartAllowed: true, doesNotHandleNeedsRestart: true };

async function runs(work: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = new Rig();
  for (const program of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(program, '1.0.0');
    rig.install(program, id);
    use();
  }
  rig.power();
  assert.ok(await rig.until(() => rig.isWell(), 5), rig.transcript.join('\n'));
  try {
    await work(rig);
    assert.equal(rig.broken, undefined);
  } finally {
    await rig.off();
  }
}

/** Stages 1.1.0 of the server for a next start that does not happen. */
async function stage(rig: Rig): Promise<string> {
  rig.machine.status = never;
  await passes(rig, 1);
  const { id, use } = rig.publish('server', '1.1.0');
  use();
  assert.ok(await rig.until(() => stateOf(rig, 'server') === 'STAGED', hour), rig.transcript.join('\n'));
  assert.deepEqual([rig.inUse('server'), statusOf(rig, 'server').runningVersion], [id, '1.0.0']);
  return id;
}

test('what was made ready and is not desired any more is not started, and its update is over', () =>
  runs(async (rig) => {
    await stage(rig);
    const unreachable = rig.publish('server', '1.2.0');
    rig.machine.releases.files.delete('https://releases/server/1.2.0');
    unreachable.use();
    assert.ok(await rig.until(() => rig.inUse('server').startsWith('1.0.0-'), hour));
    await passes(rig, 2);
    assert.equal(rig.machine.files.get('state/platform-server.trial'), undefined);
    assert.deepEqual([statusOf(rig, 'server').installedVersion, stateOf(rig, 'server')], ['1.0.0', 'FAILED']);
    assert.equal(statusOf(rig, 'server').lastUpdate?.version, '1.2.0');
    rig.cutPower();
    await rig.until(() => rig.isWell(), hour);
    assert.equal(statusOf(rig, 'server').runningVersion, '1.0.0');
  }));

test('an update that is no longer desired is superseded, not "on trial" for ever', () =>
  runs(async (rig) => {
    await stage(rig);
    rig.publish('server', '1.0.0').use();
    await passes(rig, 5);
    const { installedVersion, lastUpdate } = statusOf(rig, 'server');
    assert.deepEqual([installedVersion, lastUpdate?.version, stateOf(rig, 'server')], ['1.0.0', '1.1.0', 'SUPERSEDED']);
    assert.equal(statusOf(rig, 'server').restartNeeded, false);
  }));

test('what was made ready is not started when the management server names no version any more', () =>
  runs(async (rig) => {
    await stage(rig);
    rig.cloud.serverRelease.set(undefined);
    await passes(rig, 5);
    assert.ok(rig.inUse('server').startsWith('1.0.0-'));
    assert.match(statusOf(rig, 'server').why, /^1\.0\.0 is used\. The management server names no version\.$/);
  }));

test('a build by URL is called by that URL and its hash, wherever it is named', () =>
  runs(async (rig) => {
    const { id } = rig.publish('server', '1.1.0');
    const bytes = rig.machine.releases.files.get('https://releases/server/1.1.0')!;
    const hash = id.slice(-12);
    const url = 'https://builds.example/mine?token=secret';
    const shown = `https://builds.example/mine?… (1.1.0, sha256 ${hash})`;
    rig.machine.releases.files.set(url, bytes);
    rig.cloud.serverRelease.set({ version: 'customURL', url, desired: url, unsigned: true });
    assert.ok(await rig.until(() => rig.isWell() && statusOf(rig, 'server').runningVersion === shown, 2 * hour));
    const { installedVersion, wantedVersion, lastUpdate, why } = statusOf(rig, 'server');
    assert.deepEqual([installedVersion, wantedVersion, lastUpdate?.version], [shown, shown, shown]);
    assert.equal(why, `${shown} is used, as asked for.`);
    rig.publish('server', '1.2.0').use();
    assert.ok(await rig.until(() => rig.isWell() && statusOf(rig, 'server').runningVersion === '1.2.0', 2 * hour));
    const next = statusOf(rig, 'server');
    assert.deepEqual([next.previousVersion, next.lastUpdate?.fromVersion], [shown, shown]);
    const worse = 'https://builds.example/worse';
    rig.publish('server', '1.3.0', 'crash');
    rig.machine.releases.files.set(worse, rig.machine.releases.files.get('https://releases/server/1.3.0-crash')!);
    rig.cloud.serverRelease.set({ version: 'customURL', url: worse, desired: worse, unsigned: true });
    assert.ok(await rig.until(() => statusOf(rig, 'server').quarantined.length > 0, 2 * hour));
    await passes(rig, 2);
    const { quarantined } = statusOf(rig, 'server');
    assert.match(
      quarantined[0]?.version ?? '',
      /^https:\/\/builds\.example\/worse \(1\.3\.0-crash, sha256 [0-9a-f]{12}\)$/,
    );
    const condition = rig.cloud.report.get()?.conditions.find(({ code }) => code === 'VERSION_QUARANTINED');
    assert.ok(
      condition?.message.startsWith(`Version ${quarantined[0]?.version} of the machine server failed`),
      condition?.message,
    );
    assert.equal(
      JSON.stringify(rig.cloud.report.get(), (_, v: unknown) => (typeof v === 'bigint' ? `${v}` : v)).includes(
        'secret',
      ),
      false,
    );
  }));

test('the report has the signature state of the running file and of the next one', () =>
  runs(async (rig) => {
    rig.machine.status = never;
    await passes(rig, 1);
    const about = {
      version: '1.0.0',
      sha256: 'a',
      sizeBytes: 1,
      url: 'u',
      target: 'platform-server/1.0.0',
      mark: '',
      file: '',
    };
    rig.machine.files.put(`versions/${rig.inUse('server')}/about.json`, Buffer.from(JSON.stringify(about)));
    rig.publish('server', '1.1.0').use();
    assert.ok(await rig.until(() => stateOf(rig, 'server') === 'STAGED', hour));
    const { unsigned, installedUnsigned } = statusOf(rig, 'server');
    assert.deepEqual([unsigned, installedUnsigned], [false, true]);
  }));

test('an agent that was not installed says so, and not that it is installed', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(60_000);
  const { runningVersion, installedVersion, why } = w.cloud.report.get()!.agent!;
  assert.deepEqual([runningVersion, installedVersion], ['9.9.9', '']);
  assert.match(why, /^9\.9\.9 runs and is not installed: it was not started from bin\/platform-agent/);
  agent.stop();
  await w.clock.advance(60_000);
  await agent.done;
});

/** Flips bits of the file in place: size and times stay, and the program never gets ready. */
function damage(rig: Rig, id: string): void {
  const file = rig.machine.files.get(`versions/${id}/platform-server`)!;
  const bad = new TextDecoder().decode(file.bytes).replace('platform_server', 'platform_servez');
  file.bytes = new TextEncoder().encode(bad);
}

test('a version on trial whose file the disk has damaged is fetched again, and not quarantined', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('server', '1.1.0');
    use();
    const isTried = () => statusOf(rig, 'server').trial !== undefined;
    assert.ok(await rig.until(isTried, hour, 1_000));
    damage(rig, id);
    rig.survivors = { of: 'all' };
    rig.cutPower();
    assert.ok(await rig.until(() => rig.transcript.some((line) => line.includes('is fetched again')), hour));
    assert.ok(await rig.until(() => rig.isWell() && statusOf(rig, 'server').runningVersion === '1.1.0', 2 * hour));
    assert.deepEqual([rig.inUse('server'), stateOf(rig, 'server')], [id, 'HEALTHY']);
    assert.deepEqual(statusOf(rig, 'server').quarantined, []);
    assert.equal(rig.machine.files.get('state/platform-server.damaged'), undefined);
  }));

test('a disk that damages a version each time has it fetched three times, then it is quarantined', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('server', '1.1.0');
    rig.setFate((step) => {
      if (step.do === 'exec' && step.path.includes(id)) damage(rig, id);
      return 'ok';
    });
    use();
    assert.ok(await rig.until(() => statusOf(rig, 'server').quarantined.length > 0, 24 * hour));
    await passes(rig, hour);
    const { quarantined, runningVersion } = statusOf(rig, 'server');
    assert.deepEqual([quarantined.map(({ reason }) => reason), runningVersion], [[damagedReason], '1.0.0']);
    assert.equal(rig.transcript.filter((line) => line.includes('agent.version downloaded')).length, 3);
  }));
