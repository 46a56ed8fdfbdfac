// Log lines are masked, deduplicated, bounded, counted when dropped, and kept until they are sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import type { HeardTime } from '../src/clock/device-time.ts';
import type { StoredLine } from './test-cloud.ts';
import { good, minute, World, type RunningAgent } from './world.ts';

const hour = 60 * minute;
const day = 24 * hour;
const trueWall = Date.UTC(2026, 10, 21);
const stderrFile = 'log/platform-server.stderr.log';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** @param killed - Earlier agents were killed, so their pending waits remain. */
async function end(w: World, agent: RunningAgent, killed = false): Promise<void> {
  agent.stop();
  await w.clock.advance(10_000);
  await agent.done;
  if (!killed) assert.equal(w.clock.pending, 0, 'no timer is left behind');
}
const of = (w: World, logger: string): StoredLine[] => w.cloud.lines.get().filter((l) => l.logger === logger);
const texts = (lines: readonly StoredLine[]): string[] => lines.map((l) => l.message);
const dropped = (lines: readonly StoredLine[]): number =>
  lines.reduce((sum, l) => sum + Number(l.fields['lines_dropped'] ?? 0), 0);
const conditionsOf = (w: World): string[] => w.cloud.report.get()?.conditions.map((c) => c.code) ?? [];

test('a build of the operator: stdout and stderr arrive; of platform-server stdout stays here', async () => {
  const script = (name: string) =>
    good(name).replace('sleep', `echo printed by ${name}\necho wept by ${name} >&2\nsleep`);
  const w = new World();
  w.publish('1.0.0', script('ours'));
  const agent = w.start();
  await w.clock.advance(minute);
  assert.deepEqual(texts(of(w, 'platform-server.StdOut')), []);
  assert.deepEqual(texts(of(w, 'platform-server.StdErr')), ['wept by ours']);
  w.publish('customURL', script('theirs'));
  await w.clock.advance(minute);
  w.cloud.askForRestart();
  await w.clock.advance(minute);
  const written = texts(of(w, 'platform-server.StdOut'));
  assert.deepEqual(
    written.filter((m) => m.startsWith('printed')),
    ['printed by theirs'],
  );
  assert.equal(
    written.some((m) => m.includes('ours')),
    false,
    'what was written before it stays here',
  );
  assert.deepEqual(texts(of(w, 'platform-server.StdErr')), ['wept by ours', 'wept by theirs']);
  agent.kill();
  const next = w.start();
  await w.clock.advance(minute);
  assert.equal(texts(of(w, 'platform-server.StdOut')).filter((m) => m === 'printed by theirs').length, 1);
  await end(w, next, true);
});

test('a server that repeats itself is folded, also over minutes; the switch unfolds it', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  for (let i = 0; i < 150; i++) {
    w.machine.files.append(stderrFile, bytes('cannot open the camera\n'));
    await w.clock.advance(1_000);
  }
  await w.clock.advance(2 * minute);
  const lines = of(w, 'platform-server.StdErr');
  assert.equal(lines.length <= 7, true, `${lines.length} lines`);
  assert.equal(
    lines.reduce((sum, l) => sum + Number(l.fields['repeated'] ?? 1), 0),
    150,
  );
  w.cloud.agentConfig.set({ advanced_settings: { disable_log_deduplication: true } });
  await w.clock.advance(1_000);
  w.machine.files.append(stderrFile, bytes('once more\n'.repeat(20)));
  await w.clock.advance(5_000);
  assert.equal(texts(of(w, 'platform-server.StdErr')).filter((m) => m === 'once more').length, 20);
  await end(w, agent);
});

test('secrets of the configuration and of this machine do not leave it', async () => {
  const w = new World();
  w.cloud.agentConfig.set({
    network_configuration: { hotspot_password: 'open sesame' },
    advanced_settings: { platform_server_env: { API_TOKEN: 'tok-98765' } },
    additional_networks: [{ type: 'wifi', ssid: 'home', psk: 'garage-key-1' }],
  });
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  const words = ['open sesame', 'tok-98765', 'garage-key-1', w.cloud.secret];
  w.machine.files.append(stderrFile, bytes(`${words.map((word) => `it uses ${word} now`).join('\n')}\n`));
  await w.clock.advance(5_000);
  assert.deepEqual(new Set(texts(of(w, 'platform-server.StdErr'))), new Set(['it uses *** now']));
  for (const word of words) {
    assert.equal(JSON.stringify(w.cloud.lines.get()).includes(word), false, `${word} was sent`);
    for (const name of w.machine.files.names().filter((n) => n.startsWith('spool/'))) {
      assert.equal(Buffer.from(w.machine.files.get(name)!.bytes).includes(word), false, `${word} lies in ${name}`);
    }
  }
  await end(w, agent);
});

test('a flood of 300,000 lines: the budget arrives, the rest is counted, the disk stays small, the agent well', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  const total = 300_000;
  for (let i = 0; i < 30; i++) {
    const chunk = Array.from({ length: total / 30 }, (_, k) => `flood line number ${i * 10_000 + k} of many`);
    w.machine.files.append(stderrFile, bytes(`${chunk.join('\n')}\n`));
    await w.clock.advance(100);
  }
  await w.clock.advance(3 * minute);
  const lines = of(w, 'platform-server.StdErr');
  const droppedCount = dropped(of(w, 'agent.logs'));
  assert.equal(lines.length + droppedCount, total, `${lines.length} + ${droppedCount}`);
  assert.ok(lines.length >= 5_000 && lines.length < 40_000, `${lines.length} lines`);
  const numbers = lines.map((l) => Number(l.message.split(' ')[3]));
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
    'in order',
  );
  assert.ok((w.machine.files.get(stderrFile)?.bytes.length ?? 0) <= 17 * 2 ** 20);
  w.machine.files.append(stderrFile, bytes('calm again\n'));
  await w.clock.advance(5_000);
  assert.equal(texts(of(w, 'platform-server.StdErr')).at(-1), 'calm again');
  await end(w, agent);
});

test('a flood is shown as a condition, which goes by itself', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.machine.files.append(stderrFile, bytes(Array.from({ length: 20_000 }, (_, k) => `flood line ${k}\n`).join('')));
  await w.clock.advance(10_000);
  const flood = w.cloud.report.get()?.conditions.find(({ code }) => code === 'SERVER_FLOODS');
  assert.match(flood?.message ?? '', /500 lines or 128 kB per second/);
  await w.clock.advance(4 * minute);
  assert.ok(conditionsOf(w).includes('SERVER_FLOODS'));
  await w.clock.advance(2 * minute);
  assert.equal(conditionsOf(w).includes('SERVER_FLOODS'), false);
  await end(w, agent);
});

test('a line of a megabyte is cut and marked', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.machine.files.append(stderrFile, bytes(`${'x'.repeat(2 ** 20)}\n`));
  await w.clock.advance(5_000);
  const [line] = of(w, 'platform-server.StdErr');
  assert.ok((line?.message.length ?? 0) < 66_000);
  assert.match(line?.message ?? '', /… \(cut: 1048576 characters\)$/);
  await end(w, agent);
});

test('a line that the cloud refuses costs only itself', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.refusesLine = (message) => message.includes('poison');
  const agent = w.start();
  await w.clock.advance(5_000);
  w.machine.files.append(stderrFile, bytes('a\nb\npoison\nc\nd\n'));
  await w.clock.advance(10_000);
  assert.deepEqual(texts(of(w, 'platform-server.StdErr')), ['a', 'b', 'c', 'd']);
  assert.equal(dropped(of(w, 'agent.logs')), 1);
  await end(w, agent);
});

test('lines at which the cloud itself fails are found, however many of them stand together, and cost only themselves', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  w.cloud.failsAtLine = (message) => message.includes('poison');
  const agent = w.start();
  await w.clock.advance(5_000);
  const poisonAt = [0, 40, 41, 42, 170, 299];
  const written = Array.from({ length: 300 }, (_, n) => `${poisonAt.includes(n) ? 'poison' : 'line'} ${n}`);
  w.machine.files.append(stderrFile, bytes(`${written.join('\n')}\n`));
  await w.clock.advance(hour);
  w.machine.files.append(stderrFile, bytes('the last one\n'));
  await w.clock.advance(10 * minute);
  const arrived = texts(of(w, 'platform-server.StdErr'));
  const expected = [...written.filter((text) => text.startsWith('line')), 'the last one'];
  assert.deepEqual(arrived.toSorted(), expected.toSorted());
  assert.equal(dropped(of(w, 'agent.logs')), poisonAt.length);
  await end(w, agent);
});

test('a cloud that fails at every line gets all of them when it is well again', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.cloud.failsAtLine = () => true;
  const written = Array.from({ length: 150 }, (_, n) => `line ${n}`);
  w.machine.files.append(stderrFile, bytes(`${written.join('\n')}\n`));
  const before = w.cloud.batches.length;
  await w.clock.advance(6 * hour);
  const tries = w.cloud.batches.length - before;
  assert.ok(tries > 700 && tries < 4_000, `${tries} tries in six hours`);
  w.cloud.failsAtLine = () => false;
  await w.clock.advance(2 * minute);
  assert.deepEqual(texts(of(w, 'platform-server.StdErr')), written);
  assert.equal(dropped(of(w, 'agent.logs')), 0);
  await end(w, agent);
});

test('disk_full_while_running: what does not fit is counted, the agent goes on and says it, and recovers', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5_000);
  w.machine.files.capacityBytes = 0;
  const total = 9_000;
  for (let i = 0; i < total; i += 1_000) {
    const chunk = Array.from({ length: 1_000 }, (_, k) => `line ${i + k}`);
    w.machine.files.append(stderrFile, bytes(`${chunk.join('\n')}\n`));
    await w.clock.advance(20_000);
  }
  assert.ok(conditionsOf(w).includes('LOGS_NOT_STORED'), conditionsOf(w).join());
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(minute);
  assert.ok(conditionsOf(w).includes('STATE_NOT_STORED'), conditionsOf(w).join());
  assert.equal(w.cloud.report.get()?.serverUrl, 'http://127.0.0.1:7000', 'the server runs');
  w.machine.files.capacityBytes = Infinity;
  await w.clock.advance(3 * minute);
  const arrived = of(w, 'platform-server.StdErr').length;
  assert.equal(arrived + dropped(of(w, 'agent.logs')), total);
  assert.ok(arrived >= 8_000, `${arrived} arrived`);
  assert.equal(
    conditionsOf(w).some((c) => c.endsWith('_NOT_STORED')),
    false,
    conditionsOf(w).join(),
  );
  await end(w, agent);
});

test('root_read_only: it starts, supervises and reports, and says what is wrong', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const first = w.start();
  await w.clock.advance(5_000);
  await end(w, first);
  w.machine.fate = ({ do: what }) => (what === 'exec' ? 'ok' : { fail: 'EIO' });
  const agent = w.start();
  await w.clock.advance(2 * minute);
  assert.ok(conditionsOf(w).includes('LOGS_NOT_STORED'), conditionsOf(w).join());
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.0.0');
  assert.equal(texts(w.cloud.lines.get()).filter((m) => m === 'platform agent started').length, 2, 'sent from memory');
  w.machine.fate = () => 'ok';
  await w.clock.advance(2 * minute);
  assert.equal(conditionsOf(w).includes('LOGS_NOT_STORED'), false);
  assert.ok(texts(w.cloud.lines.get()).filter((m) => m === 'platform agent started').length === 2);
  await end(w, agent);
});

test('24 hours offline: it works on, every line is kept and arrives once, in order', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  let agent = w.start();
  await w.clock.advance(5_000);
  w.cloud.isUp = false;
  for (let h = 0; h < 24; h++) {
    for (let m = 0; m < 6; m++) {
      w.machine.files.append(stderrFile, bytes(`hour ${h} minute ${m * 10}\n`));
      await w.clock.advance(10 * minute);
    }
    if (h % 7 === 3) {
      agent.kill();
      agent = w.start();
    }
  }
  assert.equal(texts(of(w, 'platform-server.StdErr')).length, 0);
  w.cloud.isUp = true;
  await w.clock.advance(2 * minute);
  const expected = Array.from({ length: 144 }, (_, i) => `hour ${Math.floor(i / 6)} minute ${(i % 6) * 10}`);
  assert.deepEqual(texts(of(w, 'platform-server.StdErr')), expected);
  assert.equal(dropped(of(w, 'agent.logs')), 0);
  await end(w, agent, true);
});

test('90 days offline, the machine off or running: it comes back by itself, and what was dropped is counted', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const first = w.start();
  await w.clock.advance(5_000);
  w.cloud.isUp = false;
  await w.clock.advance(10 * minute);
  first.kill();
  const perDay = 1_800;
  const total = 30 * perDay;
  for (let d = 0; d < 90; d += 3) {
    // No agent runs for 3 days; then one agent runs for a minute.
    await w.clock.advance(3 * day);
    const lines = Array.from(
      { length: perDay },
      (_, i) => `day ${d} line ${i} ${'of a server that has much to tell '.repeat(10)}`,
    );
    w.machine.files.append(stderrFile, bytes(`${lines.join('\n')}\n`));
    const agent = w.start();
    await w.clock.advance(minute);
    agent.kill();
  }
  w.cloud.isUp = true;
  w.cloud.forgetTokens();
  const last = w.start();
  await w.clock.advance(30 * minute);
  const arrived = of(w, 'platform-server.StdErr').length;
  const marks = of(w, 'agent.logs');
  assert.ok(arrived > 30_000 && arrived < total, `${arrived} arrived`);
  assert.ok(arrived + dropped(marks) >= total, `${arrived} + ${dropped(marks)} of ${total}`);
  assert.ok(marks.every((l) => typeof l.fields['from'] === 'string' && typeof l.fields['to'] === 'string'));
  assert.equal(w.cloud.report.get()?.server?.runningVersion, '1.0.0');
  await end(w, last, true);
});

test('the next agent reports an agent that was killed, with its last lines, and not one that ended', async () => {
  const w = new World();
  const boot = { id: 'boot-1' };
  const runHistory = () => ({
    bootId: boot.id,
    previousRun: async () => ({ reason: 'exit 70', lines: ['Error: boom'], words: ['Error: boom', 'status=70'] }),
  });
  const agent = w.start({}, { runHistory: runHistory() });
  await w.clock.advance(5_000);
  agent.kill();
  const second = w.start({}, { runHistory: runHistory() });
  await w.clock.advance(5_000);
  const reports = () =>
    w.cloud.lines.get().filter((l) => l.message === 'the agent before this one did not end in order');
  assert.deepEqual(reports()[0]?.fields['lastWords'], ['Error: boom', 'status=70']);
  assert.equal(reports()[0]?.fields['because'], 'it crashed or was killed');
  second.stop();
  await w.clock.advance(5_000);
  await second.done;
  const third = w.start({}, { runHistory: runHistory() });
  await w.clock.advance(5_000);
  assert.equal(reports().length, 1);
  third.kill();
  boot.id = 'boot-2';
  const fourth = w.start({}, { runHistory: runHistory() });
  await w.clock.advance(5_000);
  assert.equal(reports().at(-1)?.fields['because'], 'the machine was switched off or restarted');
  await end(w, fourth, true);
});

test('clock_1970_at_boot: lines of the time before the clock was right get their true times', async () => {
  const w = new World();
  const real = w.clock.wall();
  w.clock.jumpWall(-real);
  w.cloud.isUp = false;
  w.publish('1.0.0', good('1.0.0'));
  const heardTime = new Cell<HeardTime | undefined>(undefined);
  const killed = w.start({}, { heardTime });
  await w.clock.advance(minute);
  killed.kill();
  const agent = w.start({}, { heardTime });
  await w.clock.advance(2 * minute);
  assert.ok(w.clock.wall() < hour, 'the clock still says 1970');
  w.cloud.isUp = true;
  const truth = trueWall + w.clock.now();
  heardTime.set({ wall: truth, isClockRefuted: false });
  await w.clock.advance(2 * minute);
  const started = w.cloud.lines.get().filter((l) => l.message === 'platform agent started');
  assert.equal(started.length, 2);
  const [early, late] = started;
  assert.equal(early?.fields['time_is'], 'estimated', 'the killed agent did not record when it ran');
  assert.equal(late?.fields['time_is'], undefined);
  assert.ok(Math.abs((late?.timeMs ?? 0) - (trueWall + minute)) < 1_000, String(late?.timeMs));
  assert.ok(conditionsOf(w).includes('CLOCK_WRONG'));
  // A time server sets the clock: new lines use its time, and the condition clears.
  w.clock.jumpWall(trueWall);
  heardTime.set({ wall: w.clock.wall(), isClockRefuted: false });
  await w.clock.advance(minute);
  assert.equal(conditionsOf(w).includes('CLOCK_WRONG'), false);
  await end(w, agent, true);
  // The next start without a clock begins no earlier than the last known time.
  w.clock.jumpWall(-w.clock.wall());
  const last = w.start();
  await w.clock.advance(minute);
  const lastStart = w.cloud.lines.get().findLast((l) => l.message === 'platform agent started');
  assert.ok((lastStart?.timeMs ?? 0) > truth, new Date(lastStart?.timeMs ?? 0).toISOString());
  await end(w, last, true);
});
