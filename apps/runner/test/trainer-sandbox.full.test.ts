/** Built-in trainers in real sandboxes: what they see, what holds them, and what becomes of a bubblewrap that comes and goes. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { builtInTrainers } from '../src/trainer/command.ts';
import { leftovers, save, stage } from './script-stage.ts';

const fake = { single_label_classification: fileURLToPath(new URL('fake-trainer.mjs', import.meta.url)) };
const limits = { wall_seconds: 60, memory_mib: 256, disk_mib: 32 };

/** Nice value of a program that this one starts with `added`. */
const niceBelow = (added: number): number => Math.min(19, getPriority() + added);

test('the operator chooses the nice values of trainers and of scripts', async () => {
  await using s = await stage(['--trainer-nice', '3', '--script-nice', '2'], fake);
  const job = await s.ended(s.server.submit({ arguments: { act: 'look' }, limits }));
  const seen = JSON.parse(s.file(job, 'seen.json') ?? '') as Record<string, unknown>;
  assert.equal(seen['nice'], niceBelow(3));
  const script = await s.ended(await s.submit(`say("nice", os.nice(0))${save}`));
  assert.ok(s.lines(script).includes(`info nice ${niceBelow(2)}`), s.lines(script).join('\n'));
});

test('a built-in trainer runs in a sandbox: its program, its job folder, no network, nothing of the runner', async () => {
  await using s = await stage([], fake);
  const job = s.server.submit({ arguments: { act: 'look' }, limits });
  await s.ended(job);
  assert.equal(job.state, 'completed', job.failure?.message);
  const seen = JSON.parse(s.file(job, 'seen.json') ?? '') as Record<string, unknown>;
  assert.notEqual(seen['uid'], 0);
  assert.deepEqual(seen['job'], ['data', 'dataset.jsonl', 'events.ndjson', 'job.json', 'out']);
  assert.deepEqual(seen['readable'], ['image 0', 'image 1', 'image 2']);
  assert.deepEqual(seen['there'], [], 'nothing of the runner, of other users, of the checkout beside its packages');
  assert.deepEqual(seen['written'], ['/job/out/w', '/tmp/w']);
  assert.deepEqual(seen['network'], 'ENETUNREACH');
  assert.equal(seen['nice'], niceBelow(10));
  assert.ok((seen['processes'] as number) < 6);
  assert.ok(
    s.lines(job).some((line) => /^info Sandbox: bubblewrap with .*: 256 MiB of memory, .*no network\.$/.test(line)),
    s.lines(job).join('\n'),
  );
  await s.shutDown();
  assert.deepEqual(await leftovers(s), []);
});

test('how it ends inside is how it ends: bad data, a crash, memory, a cancel', async () => {
  await using s = await stage([], fake);
  const bad = await s.ended(s.server.submit({ arguments: { act: 'bad' }, limits }));
  assert.deepEqual([bad.state, bad.failure?.cause, bad.failure?.code], ['failed', 'data', 'TOO_FEW_LABELS']);
  const crash = await s.ended(s.server.submit({ arguments: { act: 'crash' }, limits }));
  assert.match(crash.failure?.message ?? '', /ended with code 3:\nfirst line\nlast line$/);
  const grow = await s.ended(s.server.submit({ arguments: { act: 'grow' }, limits }));
  assert.deepEqual([grow.failure?.cause, grow.failure?.code], ['infrastructure', 'OUT_OF_MEMORY']);
  assert.match(grow.failure?.message ?? '', /its limit is 256 MiB/);
  const obey = s.server.submit({ arguments: { act: 'obey' }, limits });
  await s.server.until('begun', () => obey.logs.some(({ message }) => message.startsWith('pid ')));
  s.server.cancel(obey);
  await s.ended(obey);
  assert.equal(obey.state, 'canceled');
  assert.ok(obey.logs.some(({ message }) => message === 'stopping'));
  const good = await s.ended(s.server.submit({ limits }));
  assert.deepEqual([good.state, good.metrics], ['completed', [{ epoch: 1, stage: 'probe', loss: 0.25 }]]);
  await s.server.untilAsync('the end of the folder', async () => (await readdir(`${s.root}/jobs`)).length === 0);
  assert.deepEqual(await leftovers(s), []);
});

test('the trainers of this version start in a sandbox on the Node that runs this', async () => {
  await using s = await stage([], builtInTrainers);
  // Three images that are none: the trainer itself says so.
  const job = await s.ended(s.server.submit({ limits: { ...limits, memory_mib: 2048 } }));
  assert.deepEqual([job.failure?.cause, job.attempt], ['data', 1], job.failure?.message);
  assert.equal(
    s.lines(job).filter((line) => line.includes('cannot be decoded: it is not a JPEG, PNG or WebP')).length,
    3,
  );
  assert.ok(s.lines(job).some((line) => line.startsWith('info Sandbox: bubblewrap')));
  assert.match(s.log(), /built-in trainers run in a sandbox/);
  assert.deepEqual(
    s.lines(job).filter((line) => /telemetry/i.test(line)),
    [],
  );
});
