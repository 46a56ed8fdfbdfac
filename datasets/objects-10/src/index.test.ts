import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import sharp from 'sharp';
import { composeObjects10, objectLabels } from './index.ts';
import type { ComposedImage, Objects10Options } from './index.ts';
import { backgrounds, cutOuts, isPlausible } from './sources.ts';

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
  const inFolder = (folder: string): string[] =>
    readdirSync(new URL(`../sources/${folder}`, import.meta.url)).filter((file) => file !== 'LICENSE');
  assert.deepEqual(inFolder('cut-outs').toSorted(), cutOuts.map(({ file }) => file).toSorted());
  // Each background is used; photographs are also for tests of the trainers.
  const present = new Set(
    ['backgrounds', 'photographs'].flatMap((one) => inFolder(one).map((file) => `${one}/${file}`)),
  );
  const used = new Set(backgrounds.map(({ file }) => file));
  assert.deepEqual([...used.difference(present)], []);
  assert.deepEqual(
    [...present.difference(used)].filter((file) => file.startsWith('backgrounds/')),
    [],
  );
  for (const folder of ['cut-outs', 'backgrounds', 'photographs']) {
    for (const file of inFolder(folder)) assert.ok(notice.includes(`| ${file} |`), file);
  }
});

test('each thing has two places in training and two in the test where one may come across it', () => {
  const odd = ['chelsea', 'retina', 'cell', 'hubble', 'rocket', 'clock', 'coffee'];
  for (const { file } of backgrounds) assert.ok(!odd.some((name) => file.includes(name)), file);
  for (const thing of cutOuts) {
    const places = backgrounds.filter((one) => isPlausible(thing, one));
    for (const split of ['train', 'test']) {
      assert.ok(places.filter((one) => one.split === split).length >= 2, `${thing.label}, ${split}`);
    }
  }
  const placesOf = (label: string): string[] => {
    const thing = cutOuts.find((one) => one.label === label);
    return backgrounds.filter((one) => thing && isPlausible(thing, one)).map(({ file }) => file);
  };
  assert.ok(!placesOf('bear').some((file) => /clouds|trees/.test(file)), 'no bear in the air');
  assert.ok(!placesOf('balloon').some((file) => /pebbles|mossy|mudstone/.test(file)), 'no balloon on the ground');
});
