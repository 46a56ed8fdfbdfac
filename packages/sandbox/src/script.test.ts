import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLaunchFailure, type SandboxEnd } from './sandbox.ts';
import { gpusFor, parseReport, scriptEnv, memoryLoss, scriptFailure, scriptWords } from './script.ts';
import { refusal, uidFor } from './probe.ts';

const limits = { memoryBytes: 512 * 2 ** 20, diskBytes: 32 * 2 ** 20, processes: 64, cpus: 2.5 };

const news: [string, unknown][] = [
  [
    '{"epoch": 3, "loss": 0.4, "stage": "fine", "ok": true, "list": [1]}',
    { metric: { epoch: 3, loss: 0.4, stage: 'fine' } },
  ],
  ['{"loss": 1}', { metric: { loss: 1 } }],
  ['{"progress": 0.5}', { progress: 0.5 }],
  ['{"progress": 0.5, "eta_s": 10}', { progress: 0.5, etaSeconds: 10 }],
  ['{"epoch": 1, "progress": 0.1}', { metric: { epoch: 1, progress: 0.1 }, progress: 0.1 }],
  ['{"progress": 7}', {}],
  ['{"epoch": "one"}', undefined],
  ['{"accuracy": 0.9}', undefined],
  ['{"loss": NaN}', undefined],
  ['{"epoch": 1', undefined],
  ['epoch 1 loss 0.4', undefined],
  ['[1, 2]', undefined],
  ['{}', undefined],
];
for (const [line, wanted] of news)
  test(`a line of a script: ${line}`, () => assert.deepEqual(parseReport(line), wanted));

const ends: [SandboxEnd, string | undefined, RegExp][] = [
  [{ is: 'exited', code: 0 }, undefined, /^$/],
  [{ is: 'stopped' }, undefined, /^$/],
  [
    { is: 'exited', code: 3 },
    'script SCRIPT_FAILED',
    /exit code 3\. See the log.*\nIts last lines:\nTraceback\nValueError$/s,
  ],
  [{ is: 'signaled', signal: 'SIGSEGV' }, 'script SCRIPT_FAILED', /ended by SIGSEGV/],
  [
    { is: 'outOfMemory', usedBytes: 512 * 2 ** 20 },
    'script OUT_OF_MEMORY',
    /used 512 MiB of memory; its limit is 512 MiB/,
  ],
  [{ is: 'diskLimit', used: '33 MiB', limit: '32 MiB' }, 'script SCRIPT_DISK_LIMIT', /33 MiB; the limit is 32 MiB/],
  [{ is: 'broken', problem: 'bwrap: no' }, 'infrastructure SANDBOX_UNAVAILABLE', /bwrap: no/],
];
for (const [end, kind, message] of ends) {
  test(`how a script ended: ${JSON.stringify(end)}`, () => {
    const failure = scriptFailure({ end, lastLines: ['Traceback', 'ValueError'], oomKills: 0, peakBytes: 0 }, limits);
    assert.equal(failure && `${failure.cause} ${failure.code}`, kind);
    assert.match(failure?.message ?? '', message);
  });
}

test('a script that ended well without a child that was killed for memory', () => {
  const end = { is: 'exited', code: 0 } as const;
  const result = { end, lastLines: [], oomKills: 2, peakBytes: 500 * 2 ** 20 };
  assert.match(memoryLoss(result, limits)?.message ?? '', /used 500 MiB .* 512 MiB: the kernel killed 2 of its/);
  assert.equal(memoryLoss({ ...result, oomKills: 0 }, limits), undefined);
});

test('a script is called by contract; a shell does not interpret its values', () => {
  assert.deepEqual(scriptWords('/job/dataset.jsonl', { epochs: '3', label: '$(x) "y"' }), [
    '-m',
    'model.training',
    '--dataset_file=/job/dataset.jsonl',
    '--model_output_directory=/job/out',
    '--epochs=3',
    '--label=$(x) "y"',
  ]);
});
test('GPUs and packages show in the environment of a script', () => {
  const env = scriptEnv({ env: { X: '1' }, gpus: [2, 5], limits, packages: '/somewhere', weights: '/w' });
  assert.deepEqual([env['CUDA_VISIBLE_DEVICES'], env['OMP_NUM_THREADS'], env['X']], ['0,1', '2', '1']);
  assert.match(env['PATH'] ?? '', /^\/job\/env\/bin:/);
  assert.ok(
    !('CUDA_VISIBLE_DEVICES' in scriptEnv({ env: {}, gpus: [], limits, packages: undefined, weights: undefined })),
  );
});

const gpus: [number, string | undefined, number[]][] = [
  [0, undefined, []],
  [2, undefined, [0, 1]],
  [1, '3,5', [3]],
  [2, '3,5', [3, 5]],
  [1, 'GPU-8932f937', [0]],
];
for (const [count, visible, wanted] of gpus) {
  test(`${count} GPUs of ${visible ?? 'all'}`, () => assert.deepEqual(gpusFor(count, visible), wanted));
}

test('a Python that is gone is not the script’s fault', () => {
  assert.equal(isLaunchFailure(127, 'prlimit: failed to execute /opt/py/bin/python: No such file or directory'), true);
  assert.equal(isLaunchFailure(127, 'sh: 1: nvcc: not found'), false);
  assert.equal(isLaunchFailure(1, 'prlimit: failed to execute x'), false);
});

const refusals: [string, RegExp][] = [
  ['bubblewrap (bwrap) is not installed', /Install it \(Debian: apt-get install bubblewrap\)/],
  ['bubblewrap failed: bwrap: No permissions to create new namespace', /kernel\.unprivileged_userns_clone=1/],
  ['bubblewrap failed: bwrap: setting up uid map: Permission denied', /AppArmor/],
  ['sandboxes need Linux, and this is darwin', /Mend that/],
];
for (const [problem, remedy] of refusals) {
  test(`why there are no scripts: ${problem}`, () => {
    assert.ok(refusal(problem).includes(problem));
    assert.match(refusal(problem), remedy);
  });
}
test('each job has a user of its own where root makes the sandbox', () => {
  const uids = ['a-1', 'a-2', 'b-1'].map((name) => uidFor({ isRoot: true }, name));
  assert.equal(new Set(uids).size, 3);
  assert.ok(uids.every((uid) => uid >= 1_900_000_000 && uid < 2 ** 31));
  assert.equal(uidFor({ isRoot: false }, 'a-1'), 65_534);
});
