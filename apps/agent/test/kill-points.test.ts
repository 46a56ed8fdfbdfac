// Interrupts and fails the update of each program at every one of its steps. The machine must always end with
// one complete version of each program in use, the server running, the cloud reachable, and the next update possible.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { pointsOf, programs, type Point } from './kill-points.ts';
import type { Played } from './kill-points-worker.ts';

const workers = 2;
/** Runs only every n-th point, from one of the first n that is drawn, for a quick check. */
const share = Number(process.env['PLATFORM_KILL_POINTS_SHARE'] ?? 1);
const first = Number(process.env['PLATFORM_KILL_POINTS_FIRST'] ?? randomInt(share));
/** Runs only the points that match this pattern, for example "agent .*ENOSPC". */
const only = new RegExp(process.env['PLATFORM_KILL_POINTS_ONLY'] ?? '');

/** Points per worker. After a power cut, promises never settle; only the end of the thread frees their memory. */
const atOnce = 60;

async function playAll(points: readonly Point[]): Promise<Played[]> {
  const played: Played[] = [];
  for (let from = 0; from < points.length; from += atOnce) {
    const workerData = points.slice(from, from + atOnce);
    const worker = new Worker(new URL('kill-points-worker.ts', import.meta.url), { workerData });
    worker.on('message', (message: Played) => played.push(message));
    await once(worker, 'exit');
    assert.equal(played.length, from + workerData.length);
  }
  return played;
}

test('kill points: whatever fails at whatever step, one whole version is in use and the next update works', async () => {
  const all = (await Promise.all(programs.map((program) => pointsOf(program)))).flat();
  assert.ok(all.length >= 300, `${all.length} points`);
  const meant = all.filter(({ program, what, fault }) => only.test(`${program} ${what} ${JSON.stringify(fault)}`));
  const points = meant.filter((_, i) => i % share === first);
  const parts = Array.from({ length: workers }, (_, part) => points.filter((_point, i) => i % workers === part));
  const played = (await Promise.all(parts.map(playAll))).flat();
  const problems = played.flatMap(({ problem }) => problem ?? []);
  const each = problems.map((problem) => problem.split('\n')[0]).join('\n');
  assert.equal(
    problems.length,
    0,
    `${problems.length} of ${points.length} points (PLATFORM_KILL_POINTS_SHARE=${share} PLATFORM_KILL_POINTS_FIRST=${first}):\n${each}\n\n${problems[0]}`,
  );
  const histogram = Map.groupBy(played, ({ outcome }) => outcome);
  for (const [outcome, { length }] of [...histogram].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${String(length).padStart(5)} ${outcome}`);
  }
  console.log(`${points.length} kill points, each of ${share} from ${first}`);
});
