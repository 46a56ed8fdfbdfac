// The command line shows the split of a dataset before a training: `train check`, and the warnings of `train submit`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { createTaggedDataset } from '../src/tagged-images.ts';
import { checkout, runCli } from '../src/up-process.ts';

interface Front extends AsyncDisposable {
  readonly url: string;
  /** The first check has arrived. */
  readonly checked: Promise<void>;
}

/** A server that answers a check with this HTTP status, or never; the real one answers all other calls. */
async function serverWithoutCheck(url: string, status?: number): Promise<Front> {
  const checked = Promise.withResolvers<void>();
  const front = createServer((asked, answer) => {
    if (asked.url?.endsWith('/CheckTrainingData')) {
      checked.resolve();
      return void (status !== undefined && answer.writeHead(status).end());
    }
    const { method, headers } = asked;
    const passed = request(`${url}${asked.url ?? ''}`, { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    });
    asked.pipe(passed);
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    checked: checked.promise,
    async [Symbol.asyncDispose]() {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

const byImage =
  'By image: one object may be in training and test. Tag the images of an object group:NAME to keep them together.';
const twoGroups =
  'No image of "b" is in the test: its images are in 2 groups, and a group stays in one split. The score says nothing about this label; add images of other groups.';

type Row = [name: string, args: string[], code: number, stdout: string, stderr: RegExp];
const rows: Row[] = [
  [
    'a good dataset',
    ['good'],
    0,
    `SPLIT       IMAGES
training    16
validation  4
test        4

Labels: a, b.
${byImage}

The server would accept a submit.
`,
    /^$/,
  ],
  [
    'a label without test images, because of its groups',
    ['grouped'],
    0,
    `SPLIT       IMAGES
training    21
validation  4
test        1

Labels: a, b.
By group: images of one group: tag stay together. 5 groups, 1 image without a group.

Warning: 1 image has no group: tag and is split by image.

Warning: ${twoGroups}

The server would accept a submit, with 2 warnings.
`,
    /^$/,
  ],
  [
    'too few images',
    ['few'],
    1,
    `Labels: a, b.
${byImage}

The server would refuse a submit:
TOO_FEW_IMAGES: Label "b" has 9 images; the minimum is 10. Images per label: a 10, b 9. Add images with this label, or omit the label.
`,
    /^$/,
  ],
  [
    'a label with a typing error',
    ['good', '--labels', 'a,b,bb'],
    0,
    `SPLIT       IMAGES
training    16
validation  4
test        4

Labels: a, b, bb.
${byImage}

Warning: No image carries the label "bb": the model will not know it.

The server would accept a submit, with 1 warning.
`,
    /^$/,
  ],
  ['an unknown dataset', ['nothing'], 4, '', /^DATASET_NOT_FOUND: /],
];

test('train check and train submit show the split before a training', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const client = clientOf(ready);
  const fill = (name: string, counts: Record<string, number>) =>
    createTaggedDataset(client, ready.org_id, name, counts);
  const goodId = await fill('good', { a: 12, b: 12 });
  await fill('grouped', {
    'a+group:1': 4,
    'a+group:2': 4,
    'a+group:3': 4,
    a: 1,
    'b+group:4': 7,
    'b+group:5': 6,
  });
  await fill('few', { a: 10, b: 9 });
  const type = ['--model-type', 'single-label'];
  const check = ['train', 'check', ...type, '--dataset'];
  const submit = ['train', 'submit', ...type, '--dataset', 'grouped', '--model-name', 'm', '--model-version'];

  for (const [name, args, code, stdout, stderr] of rows)
    await t.test(`train check: ${name}`, async () => {
      const ended = await runCli(env, ...check, ...args);
      assert.match(ended.stderr, stderr);
      assert.deepEqual([ended.code, ended.stdout], [code, stdout]);
    });

  await t.test('train check --json: the message of the API, also if a submit would be refused', async () => {
    const good = await runCli(env, ...check, 'good', '--json');
    assert.deepEqual([good.code, good.stderr], [0, '']);
    assert.deepEqual(JSON.parse(good.stdout), {
      dataset_id: goodId,
      tags: ['a', 'b'],
      train_images: 16,
      validation_images: 4,
      test_images: 4,
      groups: 0,
      ungrouped_images: 24,
      problem: null,
      advice: [],
    });
    const few = await runCli(env, ...check, 'few', '--json');
    assert.deepEqual([few.code, few.stderr], [1, '']);
    const { problem, advice } = JSON.parse(few.stdout) as { problem: { code: number; message: string }; advice: [] };
    assert.deepEqual([problem.code, advice], [9, []]);
    assert.match(problem.message, /^TOO_FEW_IMAGES: Label "b" has 9 images/);
  });

  const warnings = `Warning: 1 image has no group: tag and is split by image.\nWarning: ${twoGroups}\n`;

  await t.test('train submit warns on stderr, each warning once, and submits', async () => {
    const done = await runCli(env, ...submit, '1', '--json');
    assert.equal(done.code, 0, done.stderr);
    assert.equal((JSON.parse(done.stdout) as { model_version: string }).model_version, '1');
    assert.equal(done.stderr, warnings);
    const text = await runCli(env, ...submit, '2');
    assert.match(text.stdout, /^Submitted m\/2 as a training job with ID \S+\nLabels: a, b\.\nFollow it: /);
    assert.equal(text.stderr, warnings);
  });

  await t.test('train submit: the error follows the warnings; with --json it is the last line', async () => {
    const text = await runCli(env, ...submit, '1');
    assert.deepEqual([text.code, text.stdout], [1, '']);
    assert.ok(text.stderr.startsWith(`${warnings}MODEL_VERSION_TAKEN: `), text.stderr);
    const taken = await runCli(env, ...submit, '1', '--json');
    const { error } = JSON.parse(taken.stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string } };
    assert.deepEqual([taken.code, taken.stdout, error.code], [1, '', 'MODEL_VERSION_TAKEN']);
  });

  await t.test('train submit of a dataset that is refused: only the error of the submit', async () => {
    const few = await runCli(env, 'train', 'submit', ...type, '--dataset', 'few', '--model-name', 'few');
    assert.deepEqual([few.code, few.stdout], [1, '']);
    assert.match(few.stderr, /^TOO_FEW_IMAGES: Label "b" has 9 images.*\nAdd images with this label.*\n$/);
  });

  await t.test('a server whose check fails: train check reports it, train submit goes on', async () => {
    const status = 500;
    await using front = await serverWithoutCheck(ready.url, status);
    const through = { ...env, PLATFORM_URL: front.url };
    const checked = await runCli(through, ...check, 'grouped');
    assert.deepEqual([checked.code, checked.stdout], [1, '']);
    assert.match(checked.stderr, /500/);
    const taken = await runCli(through, ...submit, '1');
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /^MODEL_VERSION_TAKEN: /);
    const submitted = await runCli(through, ...submit, String(status));
    assert.equal(submitted.code, 0, submitted.stderr);
    assert.equal(submitted.stderr, `Warning: ${twoGroups}\n`, 'the log of the job has it');
  });

  await t.test('train submit: Ctrl-C during the check submits nothing', async () => {
    await using front = await serverWithoutCheck(ready.url);
    const waiting = await spawnGroup({
      command: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        path.join(checkout, 'apps/cli/src/main.ts'),
        ...submit,
        'stopped',
      ],
      env: plainEnvironment({ ...env, PLATFORM_URL: front.url }),
      cwd: checkout,
    });
    await front.checked;
    waiting.signal('SIGINT');
    assert.equal((await waiting.exited).code, 130);
    const jobs = await client.mlTrainingClient.listTrainingJobs(ready.org_id);
    assert.ok(!jobs.some(({ modelVersion }) => modelVersion === 'stopped'));
  });
});
