// Stories on the simulated device: whole agents against an in-process cloud, in simulated time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { sha256Of } from './test-cloud.ts';
import { crashing, good, minute, World } from './world.ts';

const stateOf = (w: World): string | undefined =>
  Object.entries(ServerState).find(([, value]) => value === w.cloud.report.get()?.serverState)?.[0];
const conditionsOf = (w: World): string[] => w.cloud.report.get()?.conditions.map((c) => c.code) ?? [];
const messages = (w: World): string[] => w.cloud.lines.get().map((l) => l.message);

test('first start: fetched, installed, started, reported; the end leaves no timer', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  const id = '1.0.0-7dc2cf8b4639';
  assert.equal(
    w.takeLog(),
    `  0:00 agent platform agent started 9.9.9
  0:00 agent.config configuration received 1
  0:00 agent the cloud is reached
  0:00 agent.version download 1.0.0
  0:01 agent.version downloaded ${id}
  0:01 agent.version activate ${id}
  0:01 agent.server stopped → starting (wanted)
  0:01 agent.server the machine server was started ${id}
  0:01 agent.server the machine server is ready
  0:01 agent.server starting → running (ready)
  0:01 agent.version the new version is in use ${id}`,
  );
  const report = w.cloud.report.get()!;
  assert.deepEqual(
    [
      stateOf(w),
      report.server?.runningVersion,
      report.serverUrl,
      report.restartAllowed,
      report.hostname,
      report.supervisedBySystemd,
    ],
    ['RUNNING', '1.0.0', 'http://127.0.0.1:7000', true, 'sim', false],
  );
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
  assert.equal(
    w.takeLog(),
    `  0:05 agent.server running → stopping (wanted)
  0:05 agent.server the machine server has ended signal SIGTERM
  0:05 agent.server stopping → stopped (exited)
  0:05 agent platform agent ends`,
  );
  assert.equal(w.clock.pending, 0);
  assert.equal(messages(w).at(-1), 'platform agent ends');
  assert.equal(stateOf(w), 'STOPPED');
});

test('offline: it starts from its cache, keeps its lines, and each arrives once when the cloud is back', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const first = w.start();
  await w.clock.advance(5_000);
  first.stop();
  await w.clock.advance(1_000);
  await first.done;
  w.takeLog();

  w.cloud.isUp = false;
  w.machine.releases.isReachable = false;
  const second = w.start();
  await w.clock.advance(minute);
  assert.equal(
    w.takeLog(),
    `  0:06 agent.config starting from the cached configuration 1
  0:06 agent platform agent started 9.9.9
  0:06 agent the cloud is out of reach; going on without it
  0:06 agent.server stopped → starting (wanted)
  0:06 agent.server the machine server was started 1.0.0-7dc2cf8b4639
  0:06 agent.server the machine server is ready
  0:06 agent.server starting → running (ready)`,
  );
  second.kill(); // a second kill loses nothing, either
  const third = w.start();
  await w.clock.advance(minute);
  assert.match(w.takeLog('agent.server'), /adopted the machine server of an earlier agent/);
  w.cloud.isUp = true;
  await w.clock.advance(minute);
  const count = (text: string) => messages(w).filter((m) => m === text).length;
  assert.deepEqual(
    ['platform agent started', 'the machine server was started', 'adopted the machine server of an earlier agent'].map(
      count,
    ),
    [3, 2, 1],
  );
  assert.equal(stateOf(w), 'RUNNING');
  third.stop();
  await w.clock.advance(1_000);
  await third.done;
});

test('a corrupt release is refused, reported and tried again; the running version continues', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.takeLog();
  w.publish('1.1.0', `${good('1.1.0')}# one byte too many`, good('1.1.0'));
  await w.clock.advance(8 * minute);
  const refused = (time: string) => `  ${time} agent.version not downloaded 1.1.0 DOWNLOAD_CORRUPT`;
  assert.equal(
    w.takeLog('agent.version'),
    ['0:05', '1:06', '3:07', '7:08']
      .flatMap((time) => [`  ${time} agent.version download 1.1.0`, refused(time.replace(/.$/, (s) => String(+s + 1)))])
      .join('\n'),
  );
  assert.deepEqual(
    [stateOf(w), w.cloud.report.get()?.server?.runningVersion, conditionsOf(w)],
    ['RUNNING', '1.0.0', ['DOWNLOAD_CORRUPT']],
  );
  const since = w.cloud.report.get()?.conditions[0]?.since;
  await w.clock.advance(minute);
  assert.deepEqual(w.cloud.report.get()?.conditions[0]?.since, since, 'since the first time');

  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(10 * minute);
  assert.deepEqual(conditionsOf(w), ['RESTART_NEEDED']);
  w.cloud.askForRestart();
  await w.clock.advance(5_000);
  assert.deepEqual([w.cloud.report.get()?.server?.runningVersion, conditionsOf(w)], ['1.1.0', []]);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('a crash loop: longer and longer pauses, its last lines and its count in the report', async () => {
  const w = new World();
  w.publish('1.0.0', crashing(2));
  const agent = w.start();
  await w.clock.advance(45_000);
  const log = w.takeLog('agent.server');
  assert.match(log, /ended by itself exit 3 \[it hurts\]/);
  const starts = [...log.matchAll(/(\d+:\d\d) agent\.server the machine server was started/g)].map((m) => m[1]);
  assert.deepEqual(starts, ['0:01', '0:04', '0:08', '0:14', '0:24', '0:42']);
  assert.deepEqual(
    [stateOf(w), w.cloud.report.get()?.restarts, w.cloud.report.get()?.lastExit],
    ['WAITING', 6, 'exit 3'],
  );
  assert.deepEqual(conditionsOf(w), ['SERVER_CRASHES']);
  const stderr = w.cloud.lines.get().filter((l) => l.logger === 'platform-server.StdErr');
  assert.deepEqual(
    stderr.map((l) => `${l.level} ${l.message}`),
    Array(3).fill('warn it hurts'), // the agent counts the other lines and logs the count after a minute
  );
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('disabled and enabled again', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.takeLog();
  w.cloud.agentConfig.set({ advanced_settings: { disable_platform_server: true } });
  await w.clock.advance(minute);
  assert.equal(stateOf(w), 'DISABLED');
  w.cloud.agentConfig.set({ advanced_settings: { disable_platform_server: false } });
  await w.clock.advance(5_000);
  assert.equal(
    w.takeLog('agent.server'),
    `  0:05 agent.server running → stopping (wanted)
  0:05 agent.server the machine server has ended signal SIGTERM
  0:05 agent.server stopping → disabled (exited)
  1:05 agent.server disabled → starting (wanted)
  1:05 agent.server the machine server was started 1.0.0-7dc2cf8b4639
  1:05 agent.server the machine server is ready
  1:05 agent.server starting → running (ready)`,
  );
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('not ready in time: killed, children and all, and started again', async () => {
  const w = new World();
  w.publish('1.0.0', "#!/bin/sh\ntrap '' TERM QUIT\nsleep 1000000 &\necho child $! >&2\nsleep 1000000\n");
  w.cloud.agentConfig.set({ advanced_settings: { platform_server_start_timeout_minutes: 1 } });
  const hash = sha256Of(w.machine.releases.files.get('https://releases/1.0.0')!).toString('hex').slice(0, 12);
  const agent = w.start();
  await w.clock.advance(70_000);
  assert.equal(
    w.takeLog('agent.server'),
    `  0:01 agent.server stopped → starting (wanted)
  0:01 agent.server the machine server was started 1.0.0-${hash}
  1:01 agent.server starting → stopping (due)
  1:06 agent.server the machine server was not ready in time not ready within 1 minute; the agent ended it (signal SIGKILL) [child 102]
  1:06 agent.server stopping → waiting (exited)
  1:07 agent.server waiting → starting (due)
  1:07 agent.server the machine server was started 1.0.0-${hash}`,
  );
  const child = Number(
    w.cloud.lines
      .get()
      .find((l) => l.message.startsWith('child'))
      ?.message.split(' ')[1],
  );
  assert.equal(w.machine.processes.isAlive(child), false);
  // The process ignores TERM: the agent sends TERM, after 120 s QUIT, after 5 s KILL.
  agent.stop();
  await w.clock.advance(126_000);
  await agent.done;
  assert.match(w.takeLog('agent.server'), /3:15 agent\.server the machine server has ended signal SIGKILL/);
  assert.equal(w.clock.pending, 0);
});

test('killed: the server goes on, the next agent adopts it, and no line is repeated or lost', async () => {
  const w = new World();
  w.publish(
    '1.0.0',
    good('1.0.0').replace(
      'sleep 1000000',
      'echo one >&2\nsleep 10\necho two >&2\nsleep 10\necho three >&2\nsleep 1000000',
    ),
  );
  let agent = w.start();
  await w.clock.advance(5_000);
  const [pid] = (await w.machine.session().device.processes.find()).map((p) => p.pid);
  agent.kill();
  await w.clock.advance(10_000); // the server prints "two" while no agent runs
  assert.ok(w.machine.processes.isAlive(pid!));
  w.takeLog();
  agent = w.start();
  await w.clock.advance(20_000);
  assert.equal(
    w.takeLog('agent.server'),
    `  0:15 agent.server adopted the machine server of an earlier agent ${w.machine.files.link('bin/platform-server')!.split('/')[2]}
  0:15 agent.server the machine server is ready
  0:15 agent.server starting → running (ready)`,
  );
  assert.deepEqual(
    w.cloud.lines
      .get()
      .filter((l) => l.logger === 'platform-server.StdErr')
      .map((l) => l.message),
    ['one', 'two', 'three'],
  );
  assert.deepEqual([stateOf(w), w.cloud.report.get()?.server?.runningVersion], ['RUNNING', '1.0.0']);
  agent.stop();
  await w.clock.advance(2_000);
  await agent.done;
  assert.equal(w.machine.processes.isAlive(pid!), false);
  assert.match(w.takeLog('agent.server'), /has ended unknown/); // the exit status of an adopted process is unavailable
});

test('killed while the server was starting, and the record is lost: found by its mark, ready by its line', async () => {
  const w = new World();
  w.publish(
    '1.0.0',
    '#!/bin/sh\nsleep 20\necho {"platform_server":"ready","url":"http://127.0.0.1:7000","pid":101}\nsleep 1000000\n',
  );
  const first = w.start();
  await w.clock.advance(5_000);
  first.kill();
  w.machine.files.remove('state/server.json');
  w.takeLog();
  const second = w.start();
  await w.clock.advance(30_000);
  assert.match(
    w.takeLog('agent.server'),
    /adopted a machine server without a record of it .*\n.*is ready\n.*starting → running/,
  );
  second.stop();
  await w.clock.advance(2_000);
  await second.done;
});

test('a download that hangs stops nothing else, and a new goal does not wait for it', async () => {
  const w = new World();
  w.publish('1.0.0', crashing(30));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.machine.releases.isStuck = true;
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(30_000);
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(5_000);
  const log = w.takeLog();
  assert.match(log, /0:31 agent\.server the machine server ended by itself exit 3/);
  assert.match(log, /0:32 agent\.server starting → running/);
  assert.match(log, /0:35 agent\.config configuration received/);
  w.machine.releases.isStuck = false;
  w.publish('1.2.0', good('1.2.0'));
  await w.clock.advance(5_000);
  assert.match(w.takeLog('agent.version'), /activate 1\.2\.0/);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

const waits: [name: string, isUp: boolean, isFastStart: boolean, from: string][] = [
  ['with a cloud: after the check', true, false, '1.1.0'],
  ['without a cloud: after a minute', false, false, '1.0.0'],
  ['unless it is started with --fast-start', true, true, '1.0.0'],
];
for (const [name, isUp, isFastStart, version] of waits) {
  test(`wait_for_update_check holds the first start, ${name}`, async () => {
    const w = new World();
    w.publish('1.0.0', good('1.0.0'));
    w.cloud.agentConfig.set({ advanced_settings: { wait_for_update_check: true } });
    const first = w.start();
    await w.clock.advance(5_000);
    first.stop();
    await w.clock.advance(1_000);
    await first.done;
    w.takeLog();
    w.cloud.isUp = isUp;
    w.publish('1.1.0', good('1.1.0'));
    const second = w.start({ isFastStart });
    await w.clock.advance(50_000);
    assert.equal(w.takeLog('agent.server').includes('was started'), isUp);
    await w.clock.advance(20_000);
    w.cloud.isUp = true;
    await w.clock.advance(minute);
    assert.equal(w.cloud.report.get()?.server?.runningVersion, version);
    second.stop();
    await w.clock.advance(1_000);
    await second.done;
  });
}

const maintenance = (allowed: boolean) => ({
  restartAllowed: allowed,
  doesNotHandleNeedsRestart: true,
  maintenance: { allowed, reading: '' },
});
test('with a maintenance reading the new version is used as soon as maintenance is allowed', async () => {
  const w = new World();
  w.machine.status = maintenance(false);
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.publish('1.1.0', good('1.1.0'));
  await w.clock.advance(5 * minute);
  assert.deepEqual(
    [w.cloud.report.get()?.server?.runningVersion, w.cloud.report.get()?.restartAllowed],
    ['1.0.0', false],
  );
  w.machine.status = maintenance(true);
  await w.clock.advance(minute);
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.1.0');
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('a bad value is replaced, logged, and reported until it is corrected', async () => {
  const w = new World();
  w.cloud.agentConfig.set({ advanced_settings: { platform_server_start_timeout_minutes: 'soon' } });
  const agent = w.start();
  await w.clock.advance(5_000);
  assert.match(
    w.takeLog('agent.config'),
    /a bad value of the configuration was replaced agent\.advanced_settings\.platform_server_start_timeout_minutes 10/,
  );
  const [condition] = w.cloud.report.get()?.conditions ?? [];
  assert.equal(condition?.code, 'CONFIG_CORRECTED');
  assert.match(
    condition?.message ?? '',
    /^agent\.advanced_settings\.platform_server_start_timeout_minutes in revision \d+: .* Used: 10\.$/,
  );
  w.cloud.agentConfig.set({});
  await w.clock.advance(5_000);
  assert.deepEqual(conditionsOf(w), []);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('a damaged configuration cache is logged and not used', async () => {
  const w = new World();
  w.machine.files.put('state/config.json', Buffer.from('{"answer": "AAAA"'));
  const agent = w.start();
  await w.clock.advance(1_000);
  assert.match(w.takeLog('agent.config'), /the stored configuration cannot be read/);
  agent.stop();
  await w.clock.advance(1_000);
  await agent.done;
});

test('a server that was started with other credentials is not kept', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const first = w.start();
  await w.clock.advance(5_000);
  first.kill();
  w.takeLog();
  w.address = 'http://another-cloud';
  const second = w.start();
  await w.clock.advance(5_000);
  assert.match(
    w.takeLog('agent.server'),
    /adopted .*\n.*the credentials of this machine have changed: the machine server is started again\n[^]*starting → stopping \(restart\)/,
  );
  assert.equal(stateOf(w), 'RUNNING');
  second.stop();
  await w.clock.advance(2_000);
  await second.done;
});
