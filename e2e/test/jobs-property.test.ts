/**
 * Three clients and two runners make random calls, the server and its database are killed in between, clocks jump. The
 * invariants of docs/invariants.md hold after each burst of calls and at the end.
 * PLATFORM_JOBS_SECONDS: duration (default 12). PLATFORM_JOBS_SEED: the sequence of calls; printed at the start.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import * as fc from 'fast-check';
import { type Burst, bursts } from '../src/job-calls.ts';
import { JobWorkload } from '../src/job-workload.ts';
import { JobLab } from '../src/job-lab.ts';

const seconds = Number(process.env['PLATFORM_JOBS_SECONDS'] ?? 12);
const seed = Number(process.env['PLATFORM_JOBS_SEED'] ?? 20_261_121);
/** Time for finding the shortest failing run. */
const shrinkSeconds = 120;

test('whatever is called, killed and repeated, jobs never lie', async (t) => {
  await using lab = await JobLab.open();
  const datasetId = await lab.dataset();
  const state = { end: systemClock.now() + seconds * 1000, runs: 0, bursts: 0, crashes: 0, hasFailed: false };
  t.diagnostic(`PLATFORM_JOBS_SEED=${seed}`);
  const run = async (all: readonly Burst[]): Promise<void> => {
    if (systemClock.now() > state.end) return;
    const workload = new JobWorkload(lab, datasetId, `run-${state.runs++}`);
    try {
      for (const burst of all) {
        await workload.perform(burst);
        assert.deepEqual(await workload.broken(), []);
        state.bursts++;
        if (burst.crash.is === 'server' || burst.crash.is === 'database') state.crashes++;
      }
      await workload.finish();
      assert.deepEqual(await workload.broken(), []);
    } catch (error) {
      if (!state.hasFailed) state.end = systemClock.now() + shrinkSeconds * 1000;
      state.hasFailed = true;
      await workload.clearUp();
      throw error;
    }
  };
  await fc.assert(fc.asyncProperty(bursts, run), { seed, numRuns: 10 + seconds });
  t.diagnostic(`${state.runs} runs, ${state.bursts} bursts of calls, ${state.crashes} kills`);
  assert.ok(state.bursts > 0);
});
