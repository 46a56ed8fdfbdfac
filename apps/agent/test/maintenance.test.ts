// When a restart may activate a new version: specification, Versioning 2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromJson, type JsonObject } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import type { Transport } from '@connectrpc/connect';
import type { MaintenanceWindow } from '@platform/contract/config/agent-config';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import {
  isStuck,
  longestSilenceMs,
  mayRestart,
  type InterruptedServer,
  type MaintenanceRules,
  type RestartRequest,
} from '../src/state/may-restart.ts';
import { nothingYet } from '../src/state/state.ts';
import { good, minute, World } from './world.ts';

const window: MaintenanceWindow = { from: '02:00', to: '03:00', days: ['thu'], time_zone: 'UTC' };
/** A Thursday; the clock of a `World` starts here. */
const midnight = Date.parse('2026-01-01T00:00:00Z');
const hour = 60 * minute;
const [shut, open] = [midnight + hour, midnight + 150 * minute];

const none: MaintenanceRules = { windows: [], longestDeferralHours: 0, deviceZone: 'UTC', isTimeKnown: true };
const inWindow: MaintenanceRules = { ...none, windows: [window] };
const impatient: MaintenanceRules = { ...inWindow, longestDeferralHours: 2 };
const free: InterruptedServer = { ...nothingYet.server, at: 'running', isRestartAllowed: true, isChanging: false };
const busy = { ...free, isRestartAllowed: false };
const silent = { ...free, isRestartAllowed: undefined, silentSinceWall: open - minute };
const denying = { ...busy, hasMaintenance: true, maintenanceDenial: 'gate.open is false' };
const ofServer: RestartRequest = { isAllowedWithoutWindow: false };
const opens = midnight + 2 * hour;
const closes = midnight + 3 * hour;
const waits = 'it waits for the window Thu 02:00 UTC';
const sensorWaits = 'it waits for the maintenance sensor (gate.open is false)';

const table: [
  name: string,
  rules: MaintenanceRules,
  server: InterruptedServer | undefined,
  wall: number,
  request: RestartRequest,
  decision: [is: string, reason: string, until?: number],
][] = [
  ['no window, no sensor', none, free, open, ofServer, ['denied', 'no maintenance window is configured']],
  [
    'a sensor that allows it',
    none,
    { ...free, hasMaintenance: true },
    shut,
    ofServer,
    ['allowed', 'the maintenance sensor allows it'],
  ],
  ['a sensor that forbids it', none, denying, open, ofServer, ['denied', sensorWaits]],
  ['an open window', inWindow, free, open, ofServer, ['allowed', 'the maintenance window is open', closes]],
  ['a closed window', inWindow, free, shut, ofServer, ['denied', waits, opens]],
  [
    'a closed window, and a sensor that allows it',
    inWindow,
    { ...free, hasMaintenance: true },
    shut,
    ofServer,
    ['denied', waits, opens],
  ],
  ['an open window, and a sensor that forbids it', inWindow, denying, open, ofServer, ['denied', sensorWaits]],
  [
    'both allow it',
    inWindow,
    { ...free, hasMaintenance: true },
    open,
    ofServer,
    ['allowed', 'the maintenance window is open', closes],
  ],
  [
    'a server that processes a configuration',
    inWindow,
    busy,
    open,
    ofServer,
    ['denied', 'the machine server says that it is busy'],
  ],
  [
    'a server that does not answer',
    inWindow,
    silent,
    open,
    ofServer,
    ['unknown', 'the machine server does not say whether it is busy', open - minute + longestSilenceMs],
  ],
  [
    'a server that has not answered for long',
    inWindow,
    { ...silent, silentSinceWall: open - longestSilenceMs },
    open,
    ofServer,
    ['allowed', 'the maintenance window is open', closes],
  ],
  [
    'a server that has not answered for long, and no window',
    none,
    { ...silent, silentSinceWall: open - longestSilenceMs },
    open,
    ofServer,
    ['denied', 'no maintenance window is configured'],
  ],
  [
    'a server that starts',
    inWindow,
    { ...free, at: 'starting' },
    open,
    ofServer,
    ['denied', 'the machine server is starting'],
  ],
  [
    'a server that does not get ready, outside the window',
    inWindow,
    { ...free, at: 'starting' },
    shut,
    { ...ofServer, isRepair: true },
    ['allowed', 'the machine server does not get ready, so a restart interrupts nothing'],
  ],
  [
    'no server runs',
    inWindow,
    { ...free, at: 'disabled', isRestartAllowed: undefined },
    open,
    ofServer,
    ['allowed', 'the maintenance window is open', closes],
  ],
  [
    'a clock that may be wrong',
    { ...inWindow, isTimeKnown: false },
    free,
    open,
    ofServer,
    ['unknown', 'it waits for a maintenance window, and the time of this machine is not known'],
  ],
  [
    'not yet deferred for too long',
    impatient,
    free,
    shut,
    { ...ofServer, neededSinceWall: midnight - 30 * minute },
    ['denied', `${waits}, at most until Thu 01:30 UTC`, midnight + 90 * minute],
  ],
  [
    'deferred for too long',
    impatient,
    free,
    shut,
    { ...ofServer, neededSinceWall: midnight - hour },
    ['allowed', 'it has waited for the longest deferral'],
  ],
  [
    'deferred for too long by the sensor',
    impatient,
    denying,
    shut,
    { ...ofServer, neededSinceWall: midnight - hour },
    ['allowed', 'it has waited for the longest deferral'],
  ],
  [
    'deferred for too long, and a configuration is being processed',
    impatient,
    { ...denying, isChanging: true },
    shut,
    { ...ofServer, neededSinceWall: midnight - hour },
    ['denied', 'the machine server says that it is busy'],
  ],
  [
    'without a limit it is deferred for ever',
    inWindow,
    free,
    shut,
    { ...ofServer, neededSinceWall: 0 },
    ['denied', waits, opens],
  ],
  [
    'a limit without a window or a sensor is none',
    { ...impatient, windows: [] },
    free,
    shut,
    { ...ofServer, neededSinceWall: 0 },
    ['denied', 'no maintenance window is configured'],
  ],
  [
    'an agent with agent_auto_restart',
    none,
    undefined,
    shut,
    { isAllowedWithoutWindow: true },
    ['allowed', 'no maintenance window is configured'],
  ],
  [
    'an agent without it',
    none,
    undefined,
    open,
    { isAllowedWithoutWindow: false },
    ['denied', 'no maintenance window is configured'],
  ],
  [
    'an agent with agent_auto_restart while its window is closed',
    inWindow,
    undefined,
    shut,
    { isAllowedWithoutWindow: true },
    ['denied', waits, opens],
  ],
  [
    'an agent without it while its window is open',
    inWindow,
    undefined,
    open,
    { isAllowedWithoutWindow: false },
    ['allowed', 'the maintenance window is open', closes],
  ],
];
for (const [name, rules, server, wall, request, [is, reason, untilWall]] of table) {
  test(`may a restart happen: ${name}: ${is}`, () =>
    assert.deepEqual(mayRestart(rules, server, wall, request), { is, reason, untilWall }));
}

test('a server that failed to start, or needs more than a minute, does not block the version that repairs it', () => {
  const starting = { ...nothingYet.server, at: 'starting' as const, since: 1_000 };
  assert.equal(isStuck(starting, 60_999), false);
  assert.equal(isStuck(starting, 61_000), true);
  assert.equal(isStuck({ ...starting, failures: 1 }, 1_000), true);
  assert.equal(isStuck({ ...starting, at: 'running', failures: 1 }, 90_000), false);
});

/** Adds the saved maintenance windows to the responses of the cloud. */
const withWindows = (inner: Transport, windows: MaintenanceWindow | MaintenanceWindow[]): Transport => ({
  async unary(method, ...rest) {
    const answer = await inner.unary(method, ...rest);
    if (method.name === AgentDeviceService.method.deviceAgentConfig.name) {
      const json = windows as unknown as JsonObject | JsonObject[];
      const fields = Array.isArray(json)
        ? { maintenanceWindows: fromJson(ValueSchema, json) }
        : { maintenanceWindow: json };
      Object.assign(answer.message, fields);
    }
    return answer;
  },
  stream: (...all) => inner.stream(...all),
});

/** An agent with these windows, on a Thursday at midnight: it rejects a clock before its own build date. */
function startWith(w: World, windows: MaintenanceWindow | MaintenanceWindow[]) {
  w.clock.jumpWall(Date.UTC(2026, 10, 5) - w.clock.wall());
  w.machine.status = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  return w.start({}, { transport: withWindows(w.cloud.transport(), windows) });
}
const runs = (w: World) => w.cloud.report.get()?.server?.runningVersion;

test('story: a new version of the server waits for the maintenance window, and then for a moment in which the server is free', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = startWith(w, window);
  await w.clock.advance(5_000);
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(90 * minute);
  assert.deepEqual([runs(w), w.cloud.report.get()?.server?.installedVersion], ['1.0.0', '1.1.0']);
  const closed = 'it waits for the window Thu 02:00 UTC';
  assert.equal(
    w.cloud.report.get()?.server?.why,
    `1.0.0 is used. 1.1.0 is installed and is used from the next restart on. I${closed.slice(1)}.`,
  );
  const { wait } = w.cloud.report.get()?.server ?? {};
  assert.deepEqual([wait?.reason, Number(wait?.until?.seconds) * 1000], [closed, Date.UTC(2026, 10, 5, 2)]);
  assert.deepEqual(
    w.cloud.report.get()?.conditions.map(({ code, message }) => [code, message]),
    [
      [
        'RESTART_NEEDED',
        `A newer version of the machine server is installed than the one that runs (1.1.0, and 1.0.0 runs): ${closed}.`,
      ],
    ],
  );
  w.machine.status = { restartAllowed: false, doesNotHandleNeedsRestart: true };
  await w.clock.advance(35 * minute);
  assert.equal(runs(w), '1.0.0', 'the window is open, the server processes a configuration');
  assert.match(w.cloud.report.get()?.server?.why ?? '', /next restart on\. The machine server says that it is busy\.$/);
  w.machine.status = { restartAllowed: true, doesNotHandleNeedsRestart: true };
  await w.clock.advance(2 * minute);
  assert.equal(runs(w), '1.1.0');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('story: of two windows the next one counts, and a machine server that processes nothing restarts in it', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = startWith(w, [
    { ...window, days: ['fri'] },
    { days: ['thu'], from: '10:00', duration_minutes: 5, time_zone: 'Asia/Tokyo' },
  ]);
  await w.clock.advance(5_000);
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(59 * minute);
  assert.equal(runs(w), '1.0.0');
  assert.equal(w.cloud.report.get()?.server?.wait?.reason, 'it waits for the window Thu 10:00 Asia/Tokyo');
  await w.clock.advance(3 * minute);
  assert.equal(runs(w), '1.1.0');
  assert.equal(w.cloud.report.get()?.server?.wait, undefined);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('story: outside the window, a machine server that never gets ready is replaced by the version that repairs it', async () => {
  const w = new World();
  w.publish('1.0.0', '#!/bin/sh\nsleep 1000000\n');
  w.cloud.agentConfig.set({ advanced_settings: { platform_server_start_timeout_minutes: 10_080 } });
  const agent = startWith(w, { ...window, days: ['sun'] });
  await w.clock.advance(30_000);
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(15_000);
  assert.equal(runs(w), '1.0.0', 'it may still get ready');
  await w.clock.advance(2 * minute);
  assert.equal(runs(w), '1.1.0');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('story: a version that has waited for the longest deferral is used outside the window', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.agentConfig.set({ advanced_settings: { maintenance_longest_deferral_hours: 3 } });
  const agent = startWith(w, { ...window, days: ['sun'] });
  await w.clock.advance(5_000);
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(175 * minute);
  assert.equal(runs(w), '1.0.0');
  const reason = 'it waits for the window Sun 02:00 UTC, at most until Thu 03:00 UTC';
  assert.equal(w.cloud.report.get()?.server?.wait?.reason, reason);
  await w.clock.advance(6 * minute);
  assert.equal(runs(w), '1.1.0');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});
