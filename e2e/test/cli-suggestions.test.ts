// Suggestions over real processes: a model that a real runner trains, and what it suggests for images without a label.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { composeObjects10, objectLabels } from '@platform/objects-10';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { startRunner } from '../src/runner-process.ts';
import { runCli } from '../src/up-process.ts';

type Job = { id: string; status: string; kind: string; error: { message: string } | null };
type Review = {
  doubtful: { file_name: string; label: string; predicted: string }[];
  near_copies: { labels_differ: boolean; images: { file_name: string }[] }[];
};

const labels = objectLabels.slice(0, 2);
/** One image of the training has the other label. */
const wrong = 'wrong.jpg';

/** Folders of labels in `known`, and the same objects without a label in `new`. @returns the label of each new image. */
async function writeImages(folder: string): Promise<Map<string, string>> {
  const truth = new Map<string, string>();
  let isWrong = true;
  for await (const { name, label, split, jpeg } of composeObjects10({
    seed: 7,
    trainPerClass: 20,
    testPerClass: 6,
    objects: labels,
  })) {
    const place = path.join(folder, split === 'test' ? 'new' : 'known', split === 'test' ? '' : label);
    await mkdir(place, { recursive: true });
    await writeFile(path.join(place, name), jpeg);
    if (split !== 'test') continue;
    truth.set(name, label);
    if (!isWrong) continue;
    isWrong = false;
    const other = path.join(folder, 'labelled', label === labels[0] ? (labels[1] ?? '') : (labels[0] ?? ''));
    await mkdir(other, { recursive: true });
    // Other bytes of the same image.
    await writeFile(path.join(other, wrong), Buffer.concat([jpeg, Buffer.from([0])]));
  }
  return truth;
}

test('a model suggests labels for a dataset, doubts a wrong label, and finds near copies', async () => {
  await using temp = await tempFolder();
  await using cloud = await startCloud();
  const { ready } = cloud;
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    HOME: temp.path,
  };
  const cli = (...args: string[]) => runCli(env, ...args);
  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  const truth = await writeImages(temp.path);
  const at = (name: string) => path.join(temp.path, name);
  await json('dataset', 'upload', 'known', at('known'), '--create');
  await json('dataset', 'upload', 'new', at('new'), '--create');
  await json('dataset', 'upload', 'new', at('labelled'));
  await using _runner = await startRunner(ready);
  const submit = ['train', 'submit', '--dataset', 'known', '--model-name', 'things', '--model-type', 'single-label'];
  await json(...submit, '--model-version', '1', '--recipe', 'probe', '--wait');

  const job = await json<Job>('dataset', 'suggest', 'new', '--model-name', 'things', '--wait');
  assert.deepEqual([job.status, job.kind], ['completed', 'predict']);
  const log = await cli('train', 'logs', job.id);
  assert.match(log.stdout, /13 images are here/);
  assert.match(log.stdout, /\d+ suggestions for \d+ of 13 images/);

  const client = clientOf(ready);
  const [{ id: datasetId } = { id: '' }] = (
    await client.datasetClient.listDatasetsByOrganizationId(ready.org_id)
  ).filter(({ name }) => name === 'new');
  const stored = await Array.fromAsync(client.dataClient.allBinaryData({ datasetId }));
  const names = new Map(stored.map(({ metadata }) => [metadata?.binaryDataId ?? '', metadata?.fileName ?? '']));
  const { images } = await client.suggestionClient.listSuggestions({
    datasetId,
    binaryDataIds: [...names.keys()],
  });
  const right = images.filter((one) => one.suggestions[0]?.label === truth.get(names.get(one.binaryDataId) ?? ''));
  assert.ok(right.length >= 9, `${right.length} of 12 are right`);
  for (const one of images) assert.deepEqual([one.modelName, one.modelVersion, one.jobId], ['things', '1', job.id]);
  // No suggestion is a label.
  assert.deepEqual(new Set(stored.flatMap(({ metadata }) => metadata?.labels ?? [])).size, 1);

  const review = await json<Review>('dataset', 'review', 'new');
  const copies = review.near_copies.find((group) => group.images.some((one) => one.file_name === wrong));
  assert.ok(copies?.labels_differ, 'the wrong one and its copy without a label');
  const doubted = review.doubtful.filter((one) => one.file_name === wrong);
  const [first] = images.filter((one) => names.get(one.binaryDataId) === wrong);
  if ((first?.suggestions[0]?.score ?? 0) >= 0.8) assert.equal(doubted.length, 1);

  const listed = await cli('train', 'list');
  assert.match(listed.stdout, /things +1 +suggestions +completed/);
  const refused = await cli('dataset', 'suggest', 'new', '--model-name', 'absent');
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /PACKAGE_NOT_FOUND/);
});
