import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import sharp from 'sharp';
import { composeObjects10, objectLabels } from './index.ts';
import type { ComposedImage, Objects10Options } from './index.ts';
import { backgrounds, cutOuts } from './sources.ts';

const small = { seed: 5, side: 64, trainPerClass: 2, testPerClass: 1 };

async function compose(options: Objects10Options): Promise<ComposedImage[]> {
  const images: ComposedImage[] = [];
  for await (const image of composeObjects10(options)) images.push(image);
  return images;
}
const digest = ({ jpeg }: ComposedImage): string => createHash('sha256').update(jpeg).digest('hex');

test('every object is composed as often as asked, as square JPEG images with names of their own', async () => {
  const images = await compose(small);
  assert.equal(images.length, 30);
  assert.equal(new Set(images.map(({ name }) => name)).size, 30);
  assert.equal(new Set(images.map(digest)).size, 30);
  for (const label of objectLabels) {
    const of = images.filter((one) => one.label === label);
    assert.deepEqual(of.map(({ split }) => split).toSorted(), ['test', 'train', 'train']);
  }
  for (const { jpeg } of images) {
    const { format, width, height, channels } = await sharp(jpeg).metadata();
    assert.deepEqual({ format, width, height, channels }, { format: 'jpeg', width: 64, height: 64, channels: 3 });
  }
});

test('same seed, same bytes; another seed, others; fewer objects or images leave the rest as it was', async () => {
  const first = new Map((await compose(small)).map((one) => [one.name, digest(one)]));
  assert.deepEqual(new Map((await compose(small)).map((one) => [one.name, digest(one)])), first);
  const other = await compose({ ...small, seed: 6 });
  assert.ok(other.every((one) => first.get(one.name) !== digest(one)));
  const fewer = await compose({ ...small, trainPerClass: 1, objects: ['pigeon', 'corn'] });
  assert.deepEqual(
    fewer.map(({ name }) => name),
    ['train-pigeon-001.jpg', 'train-corn-001.jpg', 'test-pigeon-001.jpg', 'test-corn-001.jpg'],
  );
  for (const one of fewer) assert.equal(digest(one), first.get(one.name));
});

test('an unknown object and a senseless side are refused', async () => {
  await assert.rejects(compose({ ...small, objects: ['unicorn'] }), /no object "unicorn"; there are balloon, bear/);
  await assert.rejects(compose({ ...small, side: 8 }), /side must be a whole number from 32 to 1024/);
});

test('train and test share no background, and NOTICE.md names every file', () => {
  assert.equal(new Set(backgrounds.map(({ file }) => file)).size, backgrounds.length);
  const notice = readFileSync(new URL('../sources/NOTICE.md', import.meta.url), 'utf8');
  const listed = { 'cut-outs': cutOuts.map(({ file }) => file), backgrounds: backgrounds.map(({ file }) => file) };
  for (const [folder, files] of Object.entries(listed)) {
    const present = readdirSync(new URL(`../sources/${folder}`, import.meta.url)).filter((file) => file !== 'LICENSE');
    assert.deepEqual(present.toSorted(), files.toSorted());
    for (const file of files) assert.ok(notice.includes(`| ${file} |`), file);
  }
});
