// When a restart may activate a new version: specification, Versioning 2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { mayRestart, restartWait } from '../src/versions/plans/restart-wait.ts';
import { nothingYet, type ServerStatus, type Settings, type Wanted } from '../src/state/state.ts';
import { good, minute, World } from './world.ts';

const window = { from: '02:00', to: '03:00', days: ['thu'], time_zone: 'UTC' };
/** A Thursday; the clock of a `World` starts here. */
const midnight = Date.parse('2026-01-01T00:00:00Z');
const [shut, open] = [midnight + 60 * minute, midnight + 150 * minute];
const free: Partial<ServerStatus> = { at: 'running', isRestartAllowed: true };

const table: [
  name: string,
  program: 'agent' | 'server',
  settings: { maintenanceWindow?: object; isAgentRestartAllowed?: boolean },
  server: Partial<ServerStatus>,
  wall: number,
  may: boolean,
][] = [
  ['a server without a window and without a reading: never by itself', 'server', {}, free, open, false],
  [
    'a server that says itself that maintenance is allowed',
    'server',
    {},
    { ...free, hasMaintenance: true },
    shut,
    true,
  ],
  ['a free server while its window is open', 'server', { maintenanceWindow: window }, free, open, true],
  ['a free server while its window is shut', 'server', { maintenanceWindow: window }, free, shut, false],
  [
    'the window counts, whatever a reading says',
    'server',
    { maintenanceWindow: window },
    { ...free, hasMaintenance: true },
    shut,
    false,
  ],
  [
    'a server that processes a configuration, window or not',
    'server',
    { maintenanceWindow: window },
    { ...free, isRestartAllowed: false },
    open,
    false,
  ],
  [
    'a server that does not say whether it is free',
    'server',
    { maintenanceWindow: window },
    { ...free, isRestartAllowed: undefined },
    open,
    false,
  ],
  ['a server that does not run', 'server', { maintenanceWindow: window }, { ...free, at: 'starting' }, open, false],
  ['an agent that may', 'agent', { isAgentRestartAllowed: true }, {}, shut, true],
  ['an agent that may not', 'agent', { isAgentRestartAllowed: false }, {}, open, false],
  [
    'an agent while its window is shut',
    'agent',
    { isAgentRestartAllowed: true, maintenanceWindow: window },
    {},
    shut,
    false,
  ],
  ['an agent while its window is open', 'agent', { maintenanceWindow: window }, {}, open, true],
];
for (const [name, program, settings, server, wall, may] of table) {
  test(`a restart for a new version: ${name}: ${may ? 'yes' : 'no'}`, () => {
    const wanted = { settings: settings as Settings } as Wanted;
    const actual = { ...nothingYet, server: { ...nothingYet.server, ...server } };
    assert.equal(mayRestart(program, wanted, actual, wall), may);
    if (may) assert.equal(restartWait(program, wanted, actual, wall), '');
  });
}

/** Adds a maintenance window to the responses of the cloud. */
const withWindow = (inner: Transport): Transport => ({
  async unary(method, ...rest) {
    const answer = await inner.unary(method, ...rest);
    if (method.name === AgentDeviceService.method.deviceAgentConfig.name)
      Object.assign(answer.message, { maintenanceWindow: window });
    return answer;
  },
  stream: (...all) => inner.stream(...all),
});

test('story: a new version of the server waits for the maintenance window, and then for a moment in which the server is free', async () => {
  const w = new World();
  // The agent rejects a clock before its own build date, so this test sets a later one.
  w.clock.jumpWall(Date.UTC(2026, 10, 5) - w.clock.wall());
  w.machine.status = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start({}, { transport: withWindow(w.cloud.transport()) });
  await w.clock.advance(5_000);
  w.publish('1.1.0', good('1.1.0'));
  const runs = () => w.cloud.report.get()?.server?.runningVersion;
  await w.clock.advance(90 * minute);
  assert.deepEqual([runs(), w.cloud.report.get()?.server?.installedVersion], ['1.0.0', '1.1.0']);
  const closed = 'the maintenance window is closed and opens on Thu 2026-11-05 02:00 UTC';
  assert.equal(
    w.cloud.report.get()?.server?.why,
    `1.0.0 is used. 1.1.0 is installed and is used from the next restart on. T${closed.slice(1)}.`,
  );
  assert.deepEqual(
    w.cloud.report.get()?.conditions.map(({ code, message }) => [code, message]),
    [['RESTART_NEEDED', `A newer version of the machine server is installed than the one that runs: ${closed}.`]],
  );
  w.machine.status = { restartAllowed: false, doesNotHandleNeedsRestart: true };
  await w.clock.advance(35 * minute);
  assert.equal(runs(), '1.0.0', 'the window is open, the server processes a configuration');
  assert.match(w.cloud.report.get()?.server?.why ?? '', /next restart on\. The machine server says that it is busy\.$/);
  w.machine.status = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  await w.clock.advance(2 * minute);
  assert.equal(runs(), '1.1.0');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});
