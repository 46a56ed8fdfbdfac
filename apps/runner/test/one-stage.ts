/** One runner for all tests of a file: whatever a script did, the next one finds it healthy. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, before } from 'node:test';
import { leftovers, save, stage, type Stage } from './script-stage.ts';
import type { QueuedJob } from './queue-server.ts';

export interface OneStage {
  /** The runner, its server and its sandboxes; only inside a test. */
  at(): Stage;
  /** A good script runs, and nothing of those before it is left. */
  assertHealthy(s?: Stage): Promise<void>;
  /** The job fails in its first attempt, with this code and message, and the runner stays healthy. */
  failed(job: QueuedJob, code: string, message: RegExp, cause?: string): Promise<void>;
}

/** Starts before the tests of the file that calls it, and stops after them. */
export function oneStage(): OneStage {
  let shared: Stage | undefined;
  before(async () => {
    shared = await stage();
  });
  after(async () => {
    await shared?.[Symbol.asyncDispose]();
  });
  const at = (): Stage => {
    assert.ok(shared);
    return shared;
  };
  async function assertHealthy(s: Stage = at()): Promise<void> {
    const job = await s.ended(await s.submit(`say("fine")${save}`));
    assert.equal(job.state, 'completed', job.failure?.message);
    // The runner removes the folder after its last report.
    await s.server.untilAsync(
      'the end of the folder',
      async () => (await readdir(path.join(s.root, 'jobs'))).length === 0,
    );
    assert.deepEqual(await leftovers(s), []);
  }
  async function failed(job: QueuedJob, code: string, message: RegExp, cause = 'script'): Promise<void> {
    await at().ended(job);
    assert.deepEqual([job.state, job.failure?.cause, job.failure?.code], ['failed', cause, code], job.failure?.message);
    assert.match(job.failure?.message ?? '', message);
    assert.equal(job.attempt, 1, 'a script that fails is not tried again');
    await assertHealthy();
  }
  return { at, assertHealthy, failed };
}
