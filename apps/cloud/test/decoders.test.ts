import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { type Decoders, openDecoders } from '../src/images/decoders.ts';
import { imageFiles, stored } from './image-files.ts';

describe('processes that decode images', () => {
  let decoders: Decoders;
  let files: Record<string, Buffer>;
  let folder: Awaited<ReturnType<typeof tempFolder>>;
  const pathOf = (name: string) => stored(folder.path, name, files[name] ?? assert.fail(name));
  before(async () => {
    decoders = openDecoders({ clock: systemClock, processes: 2 });
    files = await imageFiles();
    folder = await tempFolder();
  });
  after(async () => {
    decoders.close();
    await folder[Symbol.asyncDispose]();
  });

  const read = ['jpeg', 'png', 'webp', 'progressive jpeg', 'grey jpeg', 'cmyk jpeg', 'transparent png'];
  for (const name of [...read, 'palette png', 'turned jpeg', 'jpeg and archive', 'png of 16 bits', 'png of 12 bits'])
    test(`${name}: read to its end`, async () => {
      const answer = await decoders.measure(await pathOf(name));
      assert.equal(answer.is, 'done', JSON.stringify(answer));
    });

  const refused = [
    'truncated jpeg',
    'truncated png',
    'truncated webp',
    'only a jpeg start',
    'random bytes',
    'damaged png',
  ];
  const other = ['svg', 'svg after a png start', 'heic', 'gif', 'tiff', 'text', 'empty'];
  for (const name of [...refused, ...other, 'png of 101 megapixels', 'png bomb', 'png of 99 megapixels without pixels'])
    test(`${name}: refused`, async () => {
      const answer = await decoders.measure(await pathOf(name));
      assert.equal(answer.is, 'failed');
    });

  test('a copy is upright, within its size and its bytes, however the pixels look', async () => {
    for (const name of ['turned jpeg', 'jpeg', 'transparent png', 'cmyk jpeg', 'palette png']) {
      for (const edge of [200, 800]) {
        const answer = await decoders.thumbnail(await pathOf(name), { edge, mostBytes: 15_000 });
        assert.ok(answer.is === 'done', name);
        const { format, width, height, orientation } = await sharp(answer.value).metadata();
        assert.equal(format, 'webp');
        assert.equal(orientation, undefined);
        assert.ok(Math.max(width, height) <= edge);
        if (edge === 200) assert.ok(answer.value.length <= 15_000, `${name}: ${answer.value.length}`);
        if (name === 'turned jpeg' && edge === 800) assert.deepEqual([width, height], [240, 320]);
      }
    }
  });

  test('a copy of an image that uses 12 of its 16 bits is as bright as one that uses them all', async () => {
    const bright = async (name: string) => {
      const answer = await decoders.thumbnail(await pathOf(name), { edge: 200, mostBytes: 15_000 });
      assert.ok(answer.is === 'done');
      return (await sharp(answer.value).stats()).channels[0]?.mean ?? 0;
    };
    const [twelve, all] = [await bright('png of 12 bits'), await bright('png of 16 bits')];
    assert.ok(Math.abs(twelve - all) < 3, `${twelve} and ${all}`);
  });

  test('more images than processes: each gets its own answer', async () => {
    const names = ['jpeg', 'truncated jpeg', 'png', 'svg', 'webp', 'empty'];
    const paths = await Promise.all(names.map(pathOf));
    const answers = await Promise.all([...paths, ...paths].map((path) => decoders.measure(path)));
    const found = answers.map((answer) => (answer.is === 'done' ? answer.value.format : 'failed'));
    const once = ['jpeg', 'failed', 'png', 'failed', 'webp', 'failed'];
    assert.deepEqual(found, [...once, ...once]);
  });

  test('images that wait when the server stops are not called broken', async () => {
    const closing = openDecoders({ clock: systemClock, processes: 1 });
    const file = await pathOf('jpeg');
    const waiting = [closing.measure(file), closing.measure(file)];
    closing.close();
    for (const one of waiting) await assert.rejects(one, /stop/);
  });
});
