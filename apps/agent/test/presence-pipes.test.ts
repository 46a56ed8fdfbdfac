// Agent and relay notice each other's end without a connection, whichever is killed.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { captureLog, tempFolder, type TempFolder } from '@platform/kit/testing';
import { relayEnvironment } from '../src/install/unit.ts';
import { holdPresence, joinRelay } from '../src/os/linux/kernel/presence-pipes.ts';
import { outputRelay } from '../src/os/posix/output-relay.ts';
import { relayFolder, relayPlaces, type PresencePipes } from '../src/os/relay-places.ts';

async function pipesIn(folder: TempFolder) {
  const { presence } = relayPlaces(folder.path);
  execFileSync('mkfifo', Object.values(presence));
  return presence;
}

/** Runs the relay's or the agent's side in a process of its own, which prints a line when it holds its pipe. */
async function side(code: string, pipes: object) {
  const source = path.join(import.meta.dirname, '../src/os/linux/kernel/presence-pipes.ts');
  const program = `
    import { Cell } from '@platform/kit';
    import { holdPresence, joinRelay } from ${JSON.stringify(source)};
    const pipes = ${JSON.stringify(pipes)};
    ${code}
    console.log('holds');
    setInterval(() => {}, 1e8);
  `;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  const started = spawn(process.execPath, args, {
    env: plainEnvironment(),
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(createInterface({ input: started.stdout }), 'line');
  return {
    async [Symbol.asyncDispose]() {
      if (started.exitCode === null && started.signalCode === null) {
        started.kill('SIGKILL');
        await once(started, 'exit');
      }
    },
  };
}

const counted = async (watchers: Cell<number>, count: number): Promise<void> => {
  while (watchers.get() !== count) await watchers.changed();
};

test('the agent notices a killed relay; without a relay there is nothing to join', { timeout: 60_000 }, async () => {
  await using folder = await tempFolder();
  assert.equal(joinRelay(relayPlaces(folder.path).presence), undefined, 'no pipes');
  const pipes = await pipesIn(folder);
  assert.equal(joinRelay(pipes), undefined, 'pipes that an earlier relay left');
  for (let n = 0; n < 2; n++) {
    const relay = await side('holdPresence(pipes, new Cell(0), new AbortController().signal);', pipes);
    const joined = joinRelay(pipes);
    assert.ok(joined);
    await relay[Symbol.asyncDispose]();
    await joined.closed;
    assert.equal(joinRelay(pipes), undefined);
  }
});

test(
  'the relay counts agents, also those that joined before it started, until they end',
  { timeout: 60_000 },
  async () => {
    await using folder = await tempFolder();
    const pipes = await pipesIn(folder);
    const over = new AbortController();
    const watchers = new Cell(0);
    holdPresence(pipes, watchers, over.signal);
    await using killed = await side('joinRelay(pipes);', pipes);
    await counted(watchers, 1);
    const next = new Cell(0);
    holdPresence(pipes, next, over.signal); // the relay that replaces it
    await counted(next, 1);
    const joined = joinRelay(pipes);
    assert.ok(joined);
    await killed[Symbol.asyncDispose]();
    assert.equal(watchers.get(), 1, 'one agent is left');
    joined.close();
    await joined.closed;
    await Promise.all([counted(watchers, 0), counted(next, 0)]);
    // With an agent or without one, the end leaves no blocked thread. Otherwise this test would not end.
    await using last = await side('joinRelay(pipes);', pipes);
    await counted(watchers, 1);
    for (const pipe of Object.values(pipes)) rmSync(pipe); // as an uninstalled agent does
    over.abort();
    await Promise.all([counted(watchers, 0), counted(next, 0)]);
    void last;
  },
);

const main = path.join(import.meta.dirname, '../src/main.ts');

for (const [version, join] of [
  ['this version', joinRelay],
  ['a version without these pipes', () => undefined],
] as const) {
  test(`a killed relay is started again: a relay of ${version}`, { timeout: 60_000 }, async () => {
    await using folder = await tempFolder();
    const root = folder.file('platform');
    const relays = new Cell<readonly ChildProcess[]>([]);
    const start = async (): Promise<void> => {
      const args = ['--disable-warning=ExperimentalWarning', main, 'relay', '--root', root];
      const env = plainEnvironment({ ...relayEnvironment });
      const relay = spawn(process.execPath, args, { env, stdio: 'inherit' });
      relays.update((all) => [...all, relay]);
    };
    const answered = new Cell(0);
    const joining = (pipes: PresencePipes) => {
      answered.update((n) => n + 1);
      return join(pipes);
    };
    const { log } = captureLog(systemClock);
    const clock = systemClock;
    const output = outputRelay({ folder: () => relayFolder(root), start, join: joining, clock, log });
    const ends = await output.open();
    assert.ok(ends);
    const server = spawn('sleep', ['1000'], { stdio: ['ignore', ends.outputs.stdout, ends.outputs.stderr] });
    ends.release();
    try {
      await once(server, 'spawn');
      output.keep(server.pid!, () => server.signalCode === null);
      relays.get()[0]?.kill('SIGKILL');
      while (answered.get() < 2) await answered.changed();
    } finally {
      server.kill('SIGKILL'); // its relay ends with it
    }
    const [first, second] = relays.get();
    if (second?.exitCode === null) await once(second, 'exit');
    assert.deepEqual([first?.signalCode, second?.exitCode], ['SIGKILL', 0]);
  });
}
