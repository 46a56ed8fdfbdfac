// Without systemd, the supervisor does systemd's work for the agent: on a simulated disk, in simulated time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { superviseAgent, type AgentProcess } from '../src/supervisor/supervise.ts';
import { readKeptExit } from '../src/supervisor/exit-file.ts';
import { fileDisk } from '../src/os/file-disk.ts';
import { simFileSystem } from '../src/os/sim/file-system.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { linkPath, linkTarget, programPath, statePath } from '../src/versions/layout.ts';
import { linkedId } from '../src/versions/switch.ts';

const old = `1.0.0-${'a'.repeat(12)}`;
const fresh = `1.1.0-${'b'.repeat(12)}`;
const limits = { ready: 90_000, watchdog: 60_000, pause: 5_000, stop: 180_000, kill: 10_000 };

/** Behaviour of an agent version after its start. */
type Behaviour = 'works' | 'crashes' | 'never ready' | 'falls silent' | 'does not stop' | 'cannot start';

class Machine {
  readonly clock = new FakeClock();
  readonly files = new SimFiles();
  readonly behaviours = new Map<string, Behaviour>([[old, 'works']]);
  readonly starts: string[] = [];
  readonly killed: string[] = [];

  constructor() {
    this.files.put(programPath('agent', old), new Uint8Array(1));
    this.files.mkdir('bin');
    this.files.mkdir('state');
    this.files.symlink(linkTarget('agent', old), linkPath('agent'));
    this.files.syncFolder('bin');
  }

  /** Switches the link like an update. */
  switchTo(id: string, behaviour: Behaviour): void {
    this.behaviours.set(id, behaviour);
    this.files.put(programPath('agent', id), new Uint8Array(1));
    this.files.put(statePath('agent', 'trial'), new TextEncoder().encode(`${old} ${id} 0 0 0 local\n`));
    this.files.unlink(linkPath('agent'));
    this.files.symlink(linkTarget('agent', id), linkPath('agent'));
    this.files.syncFolder('bin');
  }

  keep(): { stop: () => void; done: Promise<void> } {
    const stop = new AbortController();
    const { clock } = this;
    const log = createLog({ name: 'supervisor', clock, level: 'error', sink: () => undefined });
    const done = superviseAgent(
      {
        files: simFileSystem(this.files),
        start: (program, notify) => this.#start(program.split('/')[1] ?? '', notify),
        mask: async () => (text) => text.replace('geheim', '***'),
        limits,
        boot: 'one',
        clock,
        log,
      },
      stop.signal,
    );
    return { stop: () => stop.abort(), done };
  }

  linked = () => linkedId(simFileSystem(this.files), 'agent');

  async #start(id: string, notify: (line: string) => void): Promise<AgentProcess> {
    this.starts.push(id);
    const does = this.behaviours.get(id);
    if (does === 'cannot start') throw new Error('ENOEXEC');
    const end = Promise.withResolvers<string>();
    const life = new AbortController();
    const finish = (how: string) => {
      life.abort();
      end.resolve(how);
    };
    if (does === 'crashes') void this.clock.sleep(1_000).then(() => finish('exit 70'));
    else if (does !== 'never ready') void this.#sendStates(notify, does === 'falls silent' ? 3 : Infinity, life.signal);
    return {
      pid: this.starts.length,
      exited: end.promise,
      lines: () => (does === 'crashes' ? ['it hurts geheim'] : []),
      askToStop: () => void (does !== 'does not stop' && finish('exit 0')),
      kill: () => {
        this.killed.push(id);
        finish('signal SIGKILL');
      },
    };
  }

  async #sendStates(notify: (line: string) => void, count: number, signal: AbortSignal): Promise<void> {
    await this.clock.sleep(500, signal);
    notify('READY=1');
    for (let i = 0; i < count && !signal.aborted; i++) {
      await this.clock.sleep(20_000, signal);
      notify('WATCHDOG=1');
    }
  }
}

test('a healthy agent runs on, and ends when its supervisor stops', async () => {
  const machine = new Machine();
  const { stop, done } = machine.keep();
  await machine.clock.advance(3_600_000);
  assert.deepEqual(machine.starts, [old]);
  stop();
  await machine.clock.advance(1_000);
  await done;
  assert.deepEqual(machine.killed, []);
});

const ends: Partial<Record<Behaviour, [id: string, reason: string]>> = {
  crashes: [fresh, 'exit 70'],
  'never ready': [fresh, 'not ready within 90 seconds; its supervisor ended it (signal SIGKILL)'],
  'falls silent': [
    fresh,
    'it hung: its supervisor ended it because it showed no sign of life for 60 seconds (signal SIGKILL)',
  ],
};
const simDisk = (machine: Machine) => fileDisk(simFileSystem(machine.files));

for (const behaviour of ['crashes', 'never ready', 'falls silent', 'cannot start'] as const) {
  test(`a new version that ${behaviour}: three starts, then the one before it is back and stays`, async () => {
    const machine = new Machine();
    machine.switchTo(fresh, behaviour);
    const { stop, done } = machine.keep();
    await machine.clock.advance(3_600_000);
    assert.deepEqual(machine.starts, [fresh, fresh, fresh, old]);
    assert.equal(await machine.linked(), old);
    const bad = new TextDecoder().decode(machine.files.get(statePath('agent', 'bad'))?.bytes);
    assert.match(bad, new RegExp(`^${fresh} 0 \\d+ it did not pass the health check in 3 starts\n$`));
    const exit = await readKeptExit(simDisk(machine));
    assert.deepEqual([exit.id, exit.reason], ends[behaviour] ?? [undefined, undefined]);
    assert.deepEqual(exit.lines, behaviour === 'crashes' ? ['it hurts ***'] : []);
    stop();
    await machine.clock.advance(1_000);
    await done;
  });
}

test('an agent that does not stop is killed', async () => {
  const machine = new Machine();
  machine.behaviours.set(old, 'does not stop');
  const { stop, done } = machine.keep();
  await machine.clock.advance(10_000);
  stop();
  await machine.clock.advance(limits.stop - 1);
  assert.deepEqual(machine.killed, []);
  await machine.clock.advance(1_000);
  await done;
  assert.deepEqual(machine.killed, [old]);
});

test('with nothing installed it goes on trying, and says so', async () => {
  const machine = new Machine();
  machine.files.unlink(programPath('agent', old));
  const { stop, done } = machine.keep();
  await machine.clock.advance(60_000);
  assert.deepEqual(machine.starts, []);
  machine.files.put(programPath('agent', old), new Uint8Array(1));
  await machine.clock.advance(10_000);
  assert.deepEqual(machine.starts, [old]);
  stop();
  await machine.clock.advance(1_000);
  await done;
});

test('an agent in use for long that the disk has damaged: after three ends it is looked at, and the one before it is used', async () => {
  const machine = new Machine();
  machine.switchTo(fresh, 'crashes');
  machine.files.put(statePath('agent', 'previous'), new TextEncoder().encode(`${old}\n`));
  machine.files.put(`versions/${fresh}/sha256`, new TextEncoder().encode(`${'f'.repeat(64)}\n`));
  machine.files.unlink(statePath('agent', 'trial'));
  const { stop, done } = machine.keep();
  await machine.clock.advance(3_600_000);
  assert.deepEqual([machine.starts, await machine.linked()], [[fresh, fresh, fresh, old], old]);
  stop();
  await machine.clock.advance(1_000);
  await done;
});
