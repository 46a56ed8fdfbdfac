// What happens to the machine server when its surroundings fail; each a story on a simulated machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idOf } from '../src/state/state.ts';
import { sha256Of } from './test-cloud.ts';
import { good, minute, World } from './world.ts';

const serverOf = async (w: World): Promise<number> => {
  const [first] = await w.machine.session().device.processes.find();
  return first?.pid ?? 0;
};
const conditionsOf = (w: World) => new Map(w.cloud.report.get()?.conditions.map((c) => [c.code, c.message]));

test('the agent itself fails: it ends, the server goes on, the next agent adopts it', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start({}, { ownMemory: () => 500 * 2 ** 20 });
  const end = agent.done.then(
    () => 'ended well',
    (error: Error) => error.message,
  );
  await w.clock.advance(minute);
  const pid = await serverOf(w);
  assert.ok(w.machine.processes.isAlive(pid));
  await w.clock.advance(12 * minute);
  assert.match(await end, /^the agent uses 500 MiB of memory and had more than 80 MiB for 10 minutes: it ends/);
  assert.ok(w.machine.processes.isAlive(pid));
  w.takeLog();
  const next = w.start();
  await w.clock.advance(5_000);
  assert.match(w.takeLog('agent.server'), /adopted the machine server of an earlier agent/);
  assert.equal(await serverOf(w), pid);
  next.stop();
  await w.clock.advance(minute);
  await next.done;
  assert.equal(w.machine.processes.isAlive(pid), false);
});

test('systemd hears that the agent is ready only when the server is looked after, what it does, and that it stops', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const heard: string[] = [];
  const supervisor = { watchdogMs: 60_000, notify: (text: string) => void heard.push(text) };
  const agent = w.start({}, { supervisor });
  await w.clock.advance(minute);
  agent.stop();
  await w.clock.advance(minute);
  await agent.done;
  const states = heard.filter((text) => text !== 'WATCHDOG=1');
  assert.deepEqual(states.toSorted().slice(0, 1), ['READY=1']);
  assert.deepEqual(
    states.filter((text) => text !== 'READY=1'),
    [
      'STATUS=machine server stopped',
      'STATUS=machine server starting',
      'STATUS=machine server starting 1.0.0',
      'STATUS=machine server running 1.0.0',
      'STOPPING=1',
      'STATUS=machine server stopping 1.0.0',
      'STATUS=machine server stopping',
      'STATUS=machine server stopped',
    ],
  );
  assert.ok(heard.filter((text) => text === 'WATCHDOG=1').length >= 2);
});

test('a port that another process has is reported with that process as soon as the server reports it', async () => {
  const w = new World();
  w.publish('1.0.0', '#!/bin/sh\necho listen tcp 0.0.0.0:8080: bind: address already in use >&2\nexit 1\n');
  w.machine.processes.foreign = [{ pid: 812, command: 'nginx: master process', program: 'nginx', port: 8080 }];
  const agent = w.start();
  await w.clock.advance(2 * minute);
  const conditions = conditionsOf(w);
  assert.equal(conditions.get('SERVER_CONFLICT'), 'Port 8080 is used by process 812 (nginx: master process).');
  assert.match(
    conditions.get('SERVER_CRASHES') ?? '',
    /times in a row; last: exit 1, after "listen tcp 0\.0\.0\.0:8080/,
  );
  // The foreign process exits, and the condition clears.
  w.machine.processes.foreign = [];
  w.publish('1.0.1', good('1.0.1'));
  await w.clock.advance(10 * minute);
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.0.1');
  assert.deepEqual([...conditionsOf(w).keys()], []);
  agent.kill();
});

test('a foreign machine server is reported and not touched', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.machine.processes.foreign = [
    { pid: 77, command: '/home/ann/platform-server', program: 'platform-server', port: 1 },
  ];
  const agent = w.start();
  await w.clock.advance(minute);
  assert.match(w.takeLog('agent.server'), /a foreign machine server is running/);
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.0.0');
  agent.kill();
});

test('a server that replaced its own file is shown as in need of a restart, which uses the new file', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(minute);
  assert.deepEqual([...conditionsOf(w).keys()], []);
  const note = 'PLATFORM-PROGRAM:{"name":"platform-server","version":"1.0.1","platform":"linux/amd64"}';
  const id = idOf('1.0.0', sha256Of(good('1.0.0')).toString('hex'));
  w.machine.files.put(`versions/${id}/platform-server`, Buffer.from(`${good('1.0.1')}${note}\n`));
  await w.clock.advance(minute);
  assert.ok(conditionsOf(w).has('RESTART_NEEDED'));
  const before = await serverOf(w);
  w.cloud.askForRestart();
  await w.clock.advance(minute);
  assert.notEqual(await serverOf(w), before);
  assert.match(w.takeLog('agent.version', 'agent.server'), /the machine server has replaced its own file 1\.0\.1/);
  assert.equal(conditionsOf(w).has('RESTART_NEEDED'), false);
  agent.kill();
});

test('a server that ended while no agent ran: the next agent says how, and starts it', async () => {
  const w = new World();
  w.machine.processes.remembersEnds = true;
  w.publish('1.0.0', good('1.0.0'));
  const first = w.start();
  await w.clock.advance(minute);
  first.kill();
  const pid = await serverOf(w);
  const [id] = await w.machine.session().device.processes.find();
  w.machine.session().device.processes.adopt(id!)?.signal('KILL');
  w.takeLog();
  const next = w.start();
  await w.clock.advance(minute);
  assert.match(w.takeLog('agent.server'), /the machine server ended while no agent ran signal SIGKILL/);
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.0.0');
  assert.notEqual(await serverOf(w), pid);
  next.kill();
});

test('a server that goes into the background is reported with the remedy, and not as a crash; one that stays clears it', async () => {
  const w = new World();
  w.publish('1.0.0', '#!/bin/sh\necho starting\nsleep 1000000 &\nexit 0\n');
  const agent = w.start();
  await w.clock.advance(10_000);
  const report = w.cloud.report.get();
  assert.match(
    report?.lastExit ?? '',
    /^it went into the background: its first process ended with exit 0, process \d+ /,
  );
  assert.deepEqual(report?.server?.lastExit?.lines, ['starting']);
  assert.deepEqual([...conditionsOf(w).keys()], ['SERVER_IN_BACKGROUND']);
  const [condition] = report?.conditions ?? [];
  assert.match(condition?.remedy ?? '', /Run the program in the foreground/);
  w.publish('1.0.1', good('1.0.1'));
  await w.clock.advance(10 * minute);
  assert.deepEqual([w.cloud.report.get()?.server?.runningVersion, [...conditionsOf(w).keys()]], ['1.0.1', []]);
  agent.kill();
});

test('a machine without a free file descriptor: the limit is named, and the server is not called a crashing one', async () => {
  for (const [code, says] of [
    ['EMFILE', /this process has reached its limit of open files/],
    ['ENFILE', /this machine has reached its limit of open files/],
  ] as const) {
    const w = new World();
    w.machine.processes.refusesStart = code;
    w.publish('1.0.0', good('1.0.0'));
    const agent = w.start();
    await w.clock.advance(5 * minute);
    assert.match(conditionsOf(w).get('OUT_OF_FILES') ?? '', says);
    assert.equal(conditionsOf(w).has('SERVER_CRASHES'), false);
    w.machine.processes.refusesStart = undefined;
    await w.clock.advance(minute);
    assert.deepEqual([...conditionsOf(w).keys()], []);
    assert.ok(w.machine.processes.isAlive(await serverOf(w)));
    agent.stop();
    await w.clock.advance(minute);
    await agent.done;
  }
});

test('a server that is not ready in time: the report says so, with its last lines and without its secrets', async () => {
  const w = new World();
  w.publish('1.0.0', `#!/bin/sh\necho waiting for ${w.cloud.secret} >&2\nsleep 1000000\n`);
  const agent = w.start();
  await w.clock.advance(11 * minute);
  const exit = w.cloud.report.get()?.server?.lastExit;
  assert.equal(exit?.reason, 'not ready within 10 minutes; the agent ended it (signal SIGQUIT)');
  assert.deepEqual([exit.version, exit.lines], ['1.0.0', ['waiting for ***']]);
  assert.match(w.takeLog('agent.server'), /the machine server was not ready in time not ready within 10 minutes/);
  agent.kill();
});

test('what it wrote before it crashed stays in the report while the next one runs', async () => {
  const w = new World();
  w.publish('1.0.0', '#!/bin/sh\necho "{}"\necho it hurts >&2\necho and how >&2\nexit 3\n');
  const agent = w.start();
  await w.clock.advance(5_000);
  w.publish('1.0.1', good('1.0.1'));
  await w.clock.advance(10 * minute);
  const { server, lastExit } = w.cloud.report.get() ?? {};
  assert.deepEqual(
    [server?.runningVersion, lastExit, server?.lastExit?.version, server?.lastExit?.lines],
    ['1.0.1', 'exit 3', '1.0.0', ['it hurts', 'and how']],
  );
  agent.kill();
});
