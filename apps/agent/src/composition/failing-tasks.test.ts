import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../os/sim/device.ts';
import { trackFailing } from './optional-task.ts';

test('a task that failed with the version before is not blamed on the new one; one that recovered is again', async () => {
  const clock = new FakeClock();
  const { disk } = new SimDevice(clock).session().device;
  const run = async (version: string, steps: readonly string[][]): Promise<readonly string[][]> => {
    const [failing, blamed] = [new Cell<readonly string[]>([]), new Cell<readonly string[]>([])];
    const end = new AbortController();
    const done = trackFailing({ disk, version, failing, blamed }, end.signal);
    const seen: string[][] = [];
    for (const names of steps) {
      await clock.settle();
      failing.set(names);
      await clock.settle();
      seen.push([...blamed.get()]);
    }
    end.abort();
    await done;
    return seen;
  };
  assert.deepEqual(await run('1', [['radio'], ['radio', 'portal']]), [['radio'], ['radio', 'portal']]);
  assert.deepEqual(await run('2', [['portal'], ['portal', 'network'], ['network']]), [[], ['network'], ['network']]);
  assert.deepEqual(await run('2', [['radio', 'portal']]), [[]], 'a restart of the same version');
  assert.deepEqual(await run('2', [[]]), [[]]);
  assert.deepEqual(await run('3', [['radio']]), [['radio']]);
  assert.deepEqual(await run('1', [[]]), [[]], 'rolled back');
  assert.deepEqual(await run('4', [['radio']]), [['radio']]);
});
