// Orders of operators: each is carried out once, and followed until another run of the agent or of the system proves it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { OrderKind, OrderState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { good, minute, World } from './world.ts';

const { RESTART_AGENT, REBOOT } = OrderKind;
const { BEGUN, DONE, FAILED } = OrderState;
const reported = (w: World) =>
  (w.cloud.report.get()?.orders ?? []).map(({ id, state, reason }) => [id, state, reason] as const);
const newRun = () => ({ runId: randomBytes(16) });

/** An agent whose supervisor starts it again when it ends by itself. */
function supervised(w: World, also: Parameters<World['start']>[1] = {}) {
  const counted = { restarts: 0 };
  const restartSelf = () => void counted.restarts++;
  return { counted, agent: w.start({}, { restartSelf, ...newRun(), ...also }) };
}

test('a restart of the agent is begun once, and done when another run has started', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const first = supervised(w);
  await w.clock.advance(10_000);
  assert.deepEqual(w.cloud.report.get()?.knownOrders, [RESTART_AGENT]);
  w.cloud.orders.set([{ id: 'a', kind: RESTART_AGENT }]);
  await w.clock.advance(5_000);
  assert.deepEqual([first.counted.restarts, reported(w)], [1, [['a', BEGUN, '']]]);
  first.agent.stop();
  await w.clock.advance(minute);
  await first.agent.done;

  // The server may not have noted yet that it is done.
  const second = supervised(w);
  await w.clock.advance(minute);
  assert.deepEqual([second.counted.restarts, reported(w)], [0, [['a', DONE, '']]]);
  w.cloud.orders.set([]);
  await w.clock.advance(minute);
  w.cloud.orders.set([{ id: 'b', kind: RESTART_AGENT }]);
  await w.clock.advance(5_000);
  assert.deepEqual([second.counted.restarts, reported(w)], [1, [['b', BEGUN, '']]]);
  second.agent.stop();
  await w.clock.advance(minute);
  await second.agent.done;
});

test('a reboot is done in another run of the system, and failed when the system goes on', async () => {
  const w = new World();
  const counted = { reboots: 0 };
  const reboot = async () => void counted.reboots++;
  w.start({}, { reboot, ...newRun() });
  await w.clock.advance(5_000);
  assert.deepEqual(w.cloud.report.get()?.knownOrders, [REBOOT], 'nothing starts this agent again');
  w.cloud.orders.set([{ id: 'a', kind: REBOOT }]);
  await w.clock.advance(5_000);
  assert.deepEqual([counted.reboots, reported(w)], [1, [['a', BEGUN, '']]]);
  await w.clock.advance(5 * minute);
  assert.match(reported(w)[0]?.[2] ?? '', /did not go down within 5 minutes/);
  assert.deepEqual([counted.reboots, reported(w)[0]?.[1]], [1, FAILED]);

  w.cloud.orders.set([{ id: 'b', kind: REBOOT }]);
  await w.clock.advance(5_000);
  assert.deepEqual([counted.reboots, reported(w)[0]?.[1]], [2, BEGUN]);
  w.machine.cutPower();
  w.machine.restore({ of: 'all' });
  const second = w.start({}, { reboot, ...newRun() });
  await w.clock.advance(minute);
  assert.deepEqual([counted.reboots, reported(w)], [2, [['b', DONE, '']]]);
  second.stop();
  await w.clock.advance(minute);
  await second.done;
});

test('a reboot that the system refuses fails with its words; an order that cannot be remembered is not begun', async () => {
  const w = new World();
  const { agent, counted } = supervised(w, {
    reboot: () => Promise.reject(new Error('systemctl reboot failed: Interactive authentication required.')),
  });
  await w.clock.advance(5_000);
  w.cloud.orders.set([{ id: 'a', kind: REBOOT }]);
  await w.clock.advance(5_000);
  assert.deepEqual(reported(w), [['a', FAILED, 'systemctl reboot failed: Interactive authentication required.']]);
  w.machine.fate = (step) => (JSON.stringify(step).includes('orders.json') ? { fail: 'ENOSPC' } : 'ok');
  w.cloud.orders.set([{ id: 'b', kind: RESTART_AGENT }]);
  await w.clock.advance(5_000);
  assert.equal(counted.restarts, 0);
  assert.match(String(reported(w).find(([id]) => id === 'b')?.[2]), /cannot be remembered, so it is not begun/);
  w.machine.fate = () => 'ok';
  agent.stop();
  await w.clock.advance(minute);
  await agent.done;
});

test('an order from the cache is not carried out: only what the server says now counts', async () => {
  const w = new World();
  const first = supervised(w);
  await w.clock.advance(5_000);
  w.cloud.orders.set([{ id: 'a', kind: RESTART_AGENT }]);
  await w.clock.advance(5_000);
  first.agent.kill();
  await w.machine.session().device.disk.remove('state/orders.json');
  w.cloud.isUp = false;
  const second = supervised(w);
  await w.clock.advance(10 * minute);
  assert.equal(second.counted.restarts, 0);
  second.agent.stop();
  await w.clock.advance(minute);
  await second.agent.done;
});
