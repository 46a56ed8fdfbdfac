import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineFailure } from './dispatch-life.ts';
import { failureOfEngine, type EngineCase } from './engine-failure.ts';
import type { EngineEnd } from './engine.ts';

const of: EngineCase = {
  engine: 'Slurm',
  ref: '17',
  limits: { wall_seconds: 60, memory_mib: 1000, disk_mib: 10 },
  isBuiltIn: true,
  lastLines: [],
};
const ended = (how: EngineEnd): EngineFailure => ({ because: 'ended', status: { at: 'ended', how } });

const rows: [failure: EngineFailure, cause: string, code: string, message: RegExp][] = [
  [
    ended({ is: 'canceled' }),
    'infrastructure',
    'ENGINE_JOB_CANCELED',
    /^Slurm job 17 was canceled by an operator of the cluster/,
  ],
  [
    ended({ is: 'timedOut' }),
    'script',
    'TRAINING_TIMED_OUT',
    /^Slurm ended job 17: The training took longer than its limit of 60 s/,
  ],
  [ended({ is: 'outOfMemory' }), 'infrastructure', 'OUT_OF_MEMORY', /^Slurm ended job 17: .*limit of 1000 MiB\. \S/],
  [
    ended({ is: 'lost', word: 'NODE_FAIL' }),
    'infrastructure',
    'ENGINE_JOB_LOST',
    /before the training was complete: NODE_FAIL\./,
  ],
  [ended({ is: 'succeeded' }), 'infrastructure', 'ENGINE_JOB_LOST', /without delivering a result/],
  [ended({ is: 'killed', signal: 9 }), 'infrastructure', 'ENGINE_JOB_LOST', /killed by signal 9/],
  [ended({ is: 'exited', code: 1 }), 'infrastructure', 'ENGINE_JOB_LOST', /exit code 1\./],
  [
    ended({ is: 'exited', code: 127 }),
    'infrastructure',
    'ENGINE_JOB_LOST',
    /install it on each node, or name it with --attempt-command/,
  ],
  [ended({ is: 'exited', code: 69 }), 'infrastructure', 'ENGINE_JOB_LOST', /no longer its own/],
  [ended({ is: 'exited', code: 75 }), 'infrastructure', 'ENGINE_JOB_LOST', /started it a second time/],
  [{ because: 'ended', status: { at: 'absent' } }, 'infrastructure', 'ENGINE_JOB_LOST', /does not know it any more/],
  [
    { because: 'stuck', why: 'ImagePullBackOff', minutes: 10 },
    'infrastructure',
    'ENGINE_JOB_STUCK',
    /within 10 minutes: ImagePullBackOff/,
  ],
  [
    { because: 'unreachable', problem: 'no route' },
    'infrastructure',
    'ENGINE_UNREACHABLE',
    /cannot be reached: no route/,
  ],
  [{ because: 'handedBack' }, 'infrastructure', 'RUNNER_STOPPED', /shut down/],
];
for (const [failure, cause, code, message] of rows) {
  test(`the failure of ${JSON.stringify(failure)}`, () => {
    const failed = failureOfEngine(failure, of);
    assert.deepEqual([failed.cause, failed.code], [cause, code]);
    assert.match(failed.message, message);
  });
}

test('a script is at fault for its memory, and the end of the output is part of the message', () => {
  assert.equal(failureOfEngine(ended({ is: 'outOfMemory' }), { ...of, isBuiltIn: false }).cause, 'script');
  const failed = failureOfEngine(ended({ is: 'exited', code: 1 }), { ...of, lastLines: ['Killed', 'bye'] });
  assert.match(failed.message, /\nKilled\nbye$/);
});
