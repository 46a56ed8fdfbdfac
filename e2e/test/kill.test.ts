import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { readJson, systemClock } from '@platform/kit/node';
import { seededRandom, type TempFolder } from '@platform/kit/testing';
import { endState, postmasterOf } from '../src/end-state.ts';
import { dataFolder, startUp, storyEvents, type UpProcess } from '../src/up-process.ts';

const targets = ['server', 'database', 'agent', 'machine server', 'runner'] as const;
type Target = (typeof targets)[number];

/** A process to kill, and the number of lines in the event log at which to kill it. */
interface Moment {
  readonly target: Target;
  readonly at: number;
}

async function pidOf(target: Target, dataDir: string): Promise<number | undefined> {
  if (target === 'database') return postmasterOf(dataDir)?.pid;
  if (target === 'machine server') {
    const ps = spawnSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).stdout;
    const line = ps
      .split('\n')
      .find(
        (one) =>
          one.includes(`${dataDir}/demo-machine`) &&
          /platform-server(\s|$)/.test(one) &&
          !one.includes('platform-agent'),
      );
    return line === undefined ? undefined : Number(line.trim().split(/\s+/)[0]);
  }
  const name = target === 'server' ? 'cloud' : target;
  const found = (await readJson(path.join(dataDir, 'run.json')).catch(() => undefined)) as
    | { children?: { name: string; pid: number }[] }
    | undefined;
  return found?.children?.find((child) => child.name === name)?.pid;
}

async function kill(target: Target, dataDir: string): Promise<boolean> {
  const pid = await pidOf(target, dataDir);
  if (pid === undefined || !(pid > 0)) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

const patienceMs = 180_000;

/** Returns the exit code. For a story that neither ends nor fails, the error contains its last events and messages. */
async function endOf(up: UpProcess, dataDir: string): Promise<number | null> {
  const end = new AbortController();
  const ended = await Promise.race([up.group.exited, systemClock.sleep(patienceMs, end.signal).then(() => undefined)]);
  end.abort();
  if (ended) return ended.code;
  const events = (await storyEvents(dataDir)).slice(-5).map((event) => event.what);
  await up.group.stop({ termMs: 30_000 });
  throw new Error(`no end after ${patienceMs / 1000} s; last events ${events.join(', ')}; it wrote ${await up.stderr}`);
}

/** Runs the small story, kills at each moment, and restarts after a failure. @returns the number of starts. */
async function survive(folder: TempFolder, moments: readonly Moment[]): Promise<{ starts: number; killed: Moment[] }> {
  const left = [...moments];
  const killed: Moment[] = [];
  for (let starts = 1; starts <= moments.length + 2; starts++) {
    const up = await startUp(folder.path, '--once', '--small');
    const end = new AbortController();
    const watching = (async () => {
      while (left[0] && !end.signal.aborted) {
        const seen = (await storyEvents(folder.path)).length;
        if (seen >= left[0].at && (await kill(left[0].target, folder.path))) killed.push(left.shift()!);
        else await systemClock.sleep(20, end.signal);
      }
    })();
    const code = await endOf(up, folder.path);
    end.abort();
    await watching;
    if (code === 0 && left.length === 0) return { starts, killed };
    if (code === 0 && left[0] && starts > 1) {
      // The story ended before the process existed at that moment: kill it at the next start's first line.
      left[0] = { ...left[0], at: 0 };
    }
  }
  return { starts: Infinity, killed };
}

async function stateOf(folder: TempFolder): Promise<Record<string, unknown>> {
  const up = await startUp(folder.path, '--empty');
  try {
    assert.ok(await up.answer, 'the platform did not start again');
    return await endState(folder.path);
  } finally {
    up.group.signal('SIGTERM');
    await up.group.exited;
  }
}

test('killed at ten moments, the story ends in the same state', async (t) => {
  await using calm = await dataFolder();
  assert.deepEqual(await survive(calm, []), { starts: 1, killed: [] });
  const events = (await storyEvents(calm.path)).map((event) => event.what);
  const wanted = await stateOf(calm);
  assert.deepEqual(wanted['damagedFiles'], []);
  assert.deepEqual(wanted['jobs'], [
    {
      model_name: 'objects-10',
      model_version: '1',
      state: 'completed',
      labels: (wanted['jobs'] as { labels: string[] }[])[0]?.labels,
    },
  ]);

  const random = seededRandom(Number(process.env['KILL_SEED'] ?? 20_261_121));
  const online = events.indexOf('machine: end');
  assert.ok(online > 0, events.join(', '));
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  /** Draws every step with equal probability, then an event of its kind (one step has an event for each image). */
  const draw = (target: Target): Moment => {
    const first = target === 'agent' || target === 'machine server' ? online : 1;
    const what = pick([...new Set(events.slice(first, -1))]);
    return { target, at: pick([...events.keys()].filter((at) => at >= first && events[at] === what)) };
  };
  const rounds = Number(process.env['KILL_ROUNDS'] ?? 2); // each kills every one of the five once
  for (let round = 1; round <= rounds; round++) {
    const moments = targets.map(draw).toSorted((a, b) => a.at - b.at);
    const name = moments.map((moment) => `${moment.target} at "${events[moment.at]}"`).join(', ');
    await t.test(`round ${round}: ${name}`, async () => {
      await using folder = await dataFolder();
      const { starts, killed } = await survive(folder, moments);
      assert.deepEqual(
        killed.map((moment) => moment.target),
        moments.map((moment) => moment.target),
      );
      assert.ok(starts < Infinity, 'the story never came to its end');
      assert.deepEqual(await stateOf(folder), wanted);
    });
  }
});
