// The systemd unit follows the agent's version, on a whole machine with its gate and its service manager.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitKept } from '../src/versions/unit-renewal.ts';
import { unitPath, Rig, type Behaviour } from './rig.ts';

const hour = 60;
const conditionsOf = (rig: Rig): string[] => rig.cloud.report.get()?.conditions.map((c) => c.code) ?? [];
const unitFile = (rig: Rig, name: string): string | undefined => {
  const bytes = rig.machine.files.get(name)?.bytes;
  return bytes && new TextDecoder().decode(bytes);
};

async function runs(prepare: (rig: Rig) => void, work: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = new Rig();
  for (const program of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(program, '1.0.0');
    rig.install(program, id);
    use();
  }
  prepare(rig);
  rig.power();
  try {
    await work(rig);
    assert.equal(rig.broken, undefined);
  } finally {
    await rig.off();
  }
}

/** Publishes and requests a version; while it is on trial, `seen` collects the unit at each start. */
async function update(rig: Rig, version: string, behaviour: Behaviour = 'good'): Promise<void> {
  const { id, use } = rig.publish('agent', version, behaviour);
  const name = id.slice(0, -13);
  use();
  const isOver = () => rig.cloud.report.get()?.agent?.lastUpdate?.version === name;
  await rig.until(() => isOver() && rig.isWell() && rig.cloud.report.get()?.agent?.trial === undefined, 3 * hour);
  assert.ok(rig.isWell(), rig.transcript.join('\n'));
}

test('the unit comes before the version that wants it, and goes with the version that fails', () =>
  runs(
    () => {},
    async (rig) => {
      await rig.until(() => rig.isWell(), 5);
      assert.equal(rig.unit(), '[Unit] of 1.0.0 end');
      await update(rig, '1.1.0');
      assert.deepEqual(rig.units.at(-1), ['1.1.0', '[Unit] of 1.1.0 end'], 'at its first start');
      assert.equal(rig.unit(), '[Unit] of 1.1.0 end');
      for (const behaviour of ['crash', 'mute'] as const) {
        await update(rig, '1.2.0', behaviour);
        const version = `1.2.0-${behaviour}`;
        const tried = rig.units.filter(([started]) => started === version);
        assert.ok(tried.length > 0 && tried.every(([, unit]) => unit === `[Unit] of ${version} end`), tried.join());
        assert.deepEqual(rig.units.at(-1), ['1.1.0', '[Unit] of 1.1.0 end'], 'it is back before its version starts');
      }
      // An operator's rollback restores the unit, too.
      await rig.operator!.rollback('agent');
      await rig.until(() => rig.unit() === '[Unit] of 1.0.0 end' && rig.isWell(), hour);
      assert.equal(rig.unit(), '[Unit] of 1.0.0 end');
    },
  ));

test('a unit of an agent that remembered none is renewed, and the old one is kept', () =>
  runs(
    (rig) => {
      rig.machine.files.put(unitPath, Buffer.from('[Unit] of 0.1.0 end'));
      rig.machine.files.remove('state/unit.written');
    },
    async (rig) => {
      await rig.until(() => rig.isWell(), hour);
      assert.equal(rig.unit(), '[Unit] of 1.0.0 end');
      assert.equal(unitFile(rig, unitKept), '[Unit] of 0.1.0 end');
      assert.match(rig.transcript.join('\n'), /the unit was renewed; the one before is kept/);
    },
  ));

test('a unit that an administrator has changed stays, and the machine says so', () =>
  runs(
    (rig) => rig.machine.files.put(unitPath, Buffer.from('[Unit] of me end')),
    async (rig) => {
      await rig.until(() => conditionsOf(rig).includes('UNIT_CHANGED'), 10);
      assert.ok(conditionsOf(rig).includes('UNIT_CHANGED'), conditionsOf(rig).join());
      rig.publish('agent', '1.1.0').use();
      await rig.until(() => rig.cloud.report.get()?.agent?.runningVersion === '1.1.0', 5);
      await rig.until(() => rig.cloud.report.get()?.agent?.trial === undefined, hour);
      assert.equal(rig.unit(), '[Unit] of me end');
      assert.ok(conditionsOf(rig).includes('UNIT_CHANGED'), conditionsOf(rig).join());
    },
  ));

test('a unit that systemd does not take is not written; the version is used all the same', () =>
  runs(
    (rig) => {
      rig.unitRefusal = 'LoadState=bad-setting';
    },
    async (rig) => {
      await rig.until(() => rig.isWell(), 5);
      await update(rig, '1.1.0');
      assert.equal(rig.unit(), '[Unit] of 1.0.0 end');
      assert.deepEqual(conditionsOf(rig), ['UNIT_REFUSED']);
      rig.unitRefusal = undefined;
      await update(rig, '1.2.0');
      assert.equal(rig.unit(), '[Unit] of 1.2.0 end');
      assert.deepEqual(conditionsOf(rig), []);
    },
  ));
