// The update of either program, cut and failed at every one of its own steps. Whatever happens, the machine must end with
// one whole version of each in use, the server running, the cloud reached, and able to take the next update.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { pointsOf, programs, type Point } from './kill-points.ts';
import type { Played } from './kill-points-worker.ts';

const workers = 2;
/** Only every n-th point: to look at one thing quickly. */
const share = Number(process.env['PLATFORM_KILL_POINTS_SHARE'] ?? 1);
/** Only those that this pattern finds, for example "agent .*ENOSPC". */
const only = new RegExp(process.env['PLATFORM_KILL_POINTS_ONLY'] ?? '');

/** A machine that lost its power leaves promises behind that never end: their memory goes with the thread. */
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
  const points = meant.filter((_, i) => i % share === 0);
  const parts = Array.from({ length: workers }, (_, part) => points.filter((_point, i) => i % workers === part));
  const played = (await Promise.all(parts.map(playAll))).flat();
  const problems = played.flatMap(({ problem }) => problem ?? []);
  const each = problems.map((problem) => problem.split('\n')[0]).join('\n');
  assert.equal(problems.length, 0, `${problems.length} of ${points.length} points:\n${each}\n\n${problems[0]}`);
  const histogram = Map.groupBy(played, ({ outcome }) => outcome);
  for (const [outcome, { length }] of [...histogram].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${String(length).padStart(5)} ${outcome}`);
  }
  console.log(`${points.length} kill points`);
});
