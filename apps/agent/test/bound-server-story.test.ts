// Where the machine server ends with its agent (Windows): it is stopped in good order before the agent ends, and a start
// that ended with the agent or the power is not the version's failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Program } from '../src/versions/layout.ts';
import { Rig } from './rig.ts';

async function runs(work: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = new Rig();
  rig.serverEndsWithAgent = true;
  for (const program of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(program, '1.0.0');
    rig.install(program, id);
    use();
  }
  rig.power();
  assert.ok(await rig.until(() => rig.isWell(), 5), rig.transcript.join('\n'));
  try {
    await work(rig);
  } finally {
    await rig.off();
  }
}

const lines = (rig: Rig, words: string): number => rig.transcript.filter((line) => line.includes(words)).length;
const isUsed = (rig: Rig, program: Program, version: string): boolean =>
  rig.isWell() && rig.cloud.report.get()?.[program]?.runningVersion === version;

test('another agent takes over: the server is stopped in good order, and started by that agent', () =>
  runs(async (rig) => {
    rig.publish('agent', '1.1.0').use();
    assert.ok(await rig.until(() => isUsed(rig, 'agent', '1.1.0'), 60), rig.transcript.join('\n'));
    const order = rig.transcript.flatMap((line) =>
      ['the machine server has ended', 'agent ended: handover', 'the machine server was started'].filter((words) =>
        line.includes(words),
      ),
    );
    assert.deepEqual(order, [
      'the machine server was started',
      'the machine server has ended',
      'agent ended: handover',
      'the machine server was started',
    ]);
    assert.equal(lines(rig, 'the machine server ended by itself'), 0);
    assert.deepEqual(rig.cloud.report.get()?.server?.quarantined, []);
  }));

test('five starts of a server on trial that the power ended do not count', () =>
  runs(async (rig) => {
    const { id, use } = rig.publish('server', '1.1.0');
    use();
    for (let start = 1; start <= 5; start++) {
      const isStarted = () => rig.inUse('server') === id && rig.machine.processes.running.length === 1;
      assert.ok(await rig.until(isStarted, 60, 1_000), rig.transcript.join('\n'));
      const before = lines(rig, 'the machine server was started');
      rig.cutPower();
      const isAgain = () => lines(rig, 'the machine server was started') > before;
      assert.ok(await rig.until(isAgain, 10, 1_000), rig.transcript.join('\n'));
    }
    assert.ok(await rig.until(() => isUsed(rig, 'server', '1.1.0'), 60), rig.transcript.join('\n'));
    assert.deepEqual(rig.cloud.report.get()?.server?.quarantined, []);
    assert.equal(lines(rig, 'gate reverted'), 0);
  }));
