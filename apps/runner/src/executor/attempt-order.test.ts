import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { JobSchema } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { Usage } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { attemptKey, formatOrder, parseOrder } from './attempt-order.ts';
import { heldAttempts } from './held-attempts.ts';

const job = create(JobSchema, {
  id: 'a1',
  attempt: 2,
  organizationId: 'o',
  spec: { labels: ['ä "quoted"\nline'], limits: { gpus: 1 } },
  manifestSha256: 'f'.repeat(64),
  attemptToken: 'hidden',
  scriptCredentials: { apiKeyId: 'k', apiKey: 's' },
});

test('an order is one line, and comes back as it was', () => {
  const text = formatOrder({ url: 'https://server', runnerId: 'r', job, graceMs: 10_000 });
  assert.equal(text.split('\n').length, 1);
  const order = parseOrder(text);
  assert.deepEqual(order.job, job);
  assert.deepEqual(
    [order.url, order.runnerId, order.graceMs, order.token.reveal()],
    ['https://server', 'r', 10_000, 'hidden'],
  );
});

test('an invalid order is rejected with the reason', () => {
  const good = JSON.parse(formatOrder({ url: 'https://server', runnerId: 'r', job, graceMs: 1 })) as Record<
    string,
    unknown
  >;
  const cases: [unknown, RegExp][] = [
    ['', /not JSON/],
    ['[1', /not JSON/],
    ['null', /not an object/],
    [{ ...good, url: 'nowhere' }, /url is not a URL/],
    [{ ...good, runner_id: '' }, /runner_id is missing/],
    [{ ...good, grace_seconds: '5' }, /grace_seconds/],
    [{ ...good, job: undefined }, /job/],
    [{ ...good, job: { attempt: 'x' } }, /job: /],
    [{ ...good, job: { id: 'a1' } }, /no attempt_token/],
  ];
  for (const [value, message] of cases) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    assert.throws(
      () => parseOrder(text),
      (error) => error instanceof Usage && message.test(error.message),
    );
  }
});

test('held attempts survive on disk, for their owner alone; broken files are left out', async () => {
  await using folder = await tempFolder();
  const held = heldAttempts(folder.path);
  assert.deepEqual(await held.load(), []);
  await held.keep({ job, ref: undefined });
  assert.deepEqual(await held.load(), [{ job, ref: undefined }]);
  await held.keep({ job, ref: '17' });
  await writeFile(folder.file('dispatch', 'broken.json'), '{"job":');
  await writeFile(folder.file('dispatch', 'strange.json'), '{"job":{"attempt":"x"}}');
  assert.deepEqual(await heldAttempts(folder.path).load(), [{ job, ref: '17' }]);
  assert.equal((await stat(folder.file('dispatch', `${attemptKey(job)}.json`))).mode & 0o077, 0);
  await held.forget(job);
  assert.deepEqual(await held.load(), []);
});
