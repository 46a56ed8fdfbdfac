import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../os/sim/device.ts';
import { operatorOf } from './operator.ts';
import { readPins, type Pins } from './pins.ts';
import { programStore } from './program-store.ts';

test('two operators at once: neither undoes what the other did', async () => {
  const clock = new FakeClock();
  const { device } = new SimDevice(clock).session();
  const { log } = captureLog(clock);
  const store = (program: 'agent' | 'server') => programStore(device.files, program, { clock, log });
  const pins = new Cell<Pins>({});
  const operator = operatorOf({
    stores: { agent: store('agent'), server: store('server') },
    disk: device.disk,
    pins,
    urgent: new Cell({}),
    again: () => {},
  });
  const pinned = () =>
    Object.fromEntries(Object.entries(pins.get()).map(([program, { desired }]) => [program, desired]));
  await Promise.all([operator.pin('agent', 'https://a/x'), operator.pin('server', 'https://b/y')]);
  assert.deepEqual(pinned(), { agent: 'https://a/x', server: 'https://b/y' });
  assert.deepEqual(await readPins(device.disk, log), pins.get());

  // A refusal in between does not block the next request.
  const [refused, done] = await Promise.allSettled([operator.pin('agent', '9.9.9'), operator.pin('server', null)]);
  assert.deepEqual([refused.status, done.status], ['rejected', 'fulfilled']);
  assert.deepEqual(pinned(), { agent: 'https://a/x' });
});
