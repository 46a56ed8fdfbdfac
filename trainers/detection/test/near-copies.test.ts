/** Detectors keep near copies with equal boxes in one split: images of cut-outs before photographs. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { jobFiles, parseJobSpec } from '@platform/contract/job/job';
import type { DatasetLine, JobEvent, Split } from '@platform/contract/job/job';
import { systemClock } from '@platform/trainer-engine/clock';
import { localDevices } from '@platform/trainer-engine/device';
import sharp from 'sharp';
import { prepare } from '../src/prepare.ts';
import type { PreparedDataset } from '../src/prepare.ts';
import { recipeOf } from '../src/recipe.ts';
import { writeJobFolder } from '../../engine/test/job-folder.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';

const sources = fileURLToPath(new URL('../../../datasets/objects-10/sources', import.meta.url));
const backgrounds = readdirSync(path.join(sources, 'photographs'))
  .filter((file) => file.endsWith('.jpg'))
  .toSorted();
const edge = 320;

interface Shot {
  /** Number of the background. */
  scene: number;
  /** Upper left corner of the object as shares of the edge; undefined: no object. */
  place: readonly [x: number, y: number] | undefined;
  split: Split;
}
/** The size of the object as a share of the edge. */
const size = 0.25;
async function* drawn(shots: readonly Shot[]): AsyncGenerator<TestImage> {
  const object = await sharp(path.join(sources, 'cut-outs', 'bear.png'))
    .resize(edge * size, edge * size, { fit: 'fill' })
    .png()
    .toBuffer();
  for (const [i, { scene, place, split }] of shots.entries()) {
    const image = sharp(path.join(sources, 'photographs', backgrounds[scene] ?? '')).resize(edge, edge);
    const [x, y] = place ?? [0, 0];
    const overlay = { input: object, left: Math.round(x * edge), top: Math.round(y * edge) };
    const whole = await image
      .composite(place ? [overlay] : [])
      .png()
      .toBuffer();
    // Shots of one scene differ in brightness and compression.
    const bytes = await sharp(whole)
      .linear(1 + 0.01 * (i % 3), 0)
      .jpeg({ quality: 70 + (i % 20) })
      .toBuffer();
    const corners = {
      x_min_normalized: x,
      y_min_normalized: y,
      x_max_normalized: x + size,
      y_max_normalized: y + size,
    };
    const boxes = place ? [{ annotation_label: 'bear', ...corners }] : [];
    yield { name: `${i}-scene-${scene}.jpg`, split, bytes, boxes };
  }
}

interface Prepared {
  prepared: Pick<PreparedDataset, 'train' | 'validation' | 'test' | 'heldOut'>;
  log: string[];
  compared: number[];
}
async function prepared(
  shots: readonly Shot[],
  {
    lines,
    controller = new AbortController(),
    stopAt = 2,
  }: {
    lines?: (all: DatasetLine[]) => DatasetLine[];
    controller?: AbortController;
    /** Share of the comparison after which the job is cancelled. */
    stopAt?: number;
  } = {},
): Promise<Prepared> {
  await using folder = await tempFolder();
  const limits = { wall_seconds: 600, memory_mib: 2048, disk_mib: 1024 };
  const own = { kind: 'object_detection' as const, model_name: 'bears', arguments: {}, seed: 3, limits };
  await writeJobFolder(folder.path, own, drawn(shots), lines);
  const job = parseJobSpec(JSON.parse(await readFile(path.join(folder.path, jobFiles.job), 'utf8')));
  const log: string[] = [];
  const compared: number[] = [];
  const training = {
    job,
    datasetFile: path.join(folder.path, jobFiles.dataset),
    outFolder: folder.path,
    events: {
      emit: (event: Partial<JobEvent> & { message?: string }) => void (event.message && log.push(event.message)),
      close: () => {},
    },
    clock: systemClock,
    threads: 2,
    signal: controller.signal,
    devices: localDevices(2),
  };
  const found = await prepare(training, recipeOf(job).recipe, folder.path, {
    found: () => {},
    decoded: () => {},
    compared: (share) => {
      compared.push(share);
      if (share >= stopAt) controller.abort();
    },
  });
  found.close();
  return { prepared: found, log, compared };
}
const splitsOf = ({ train, validation, test: tested }: Prepared['prepared']): Map<string, Set<string>> => {
  const byScene = new Map<string, Set<string>>();
  for (const [split, samples] of Object.entries({ train, validation, test: tested })) {
    for (const { line } of samples) {
      const scene = line.file_name.replace(/^\d+-/, '');
      byScene.set(scene, (byScene.get(scene) ?? new Set()).add(split));
    }
  }
  return byScene;
};

const splits: readonly Split[] = ['train', 'train', 'train', 'test'];
/** Four shots of each scene, one of them for the test. */
const bursts: readonly Shot[] = Array.from({ length: 7 }, (_, scene) =>
  splits.map((split): Shot => ({ scene, place: [0.1 * scene, 0.3], split })),
).flat();

test('bursts with equal boxes: each is in one split, as report and log say', async () => {
  const { prepared: found, log, compared } = await prepared(bursts);
  for (const [scene, own] of splitsOf(found)) assert.equal(own.size, 1, `${scene}: ${[...own].join(', ')}`);
  const { measure, moved, near_copies: copies, left_out: leftOut, all_alike: alike } = found.heldOut;
  assert.deepEqual([measure, copies, leftOut, alike], ['features', 0, undefined, false]);
  const known = new Map(bursts.map(({ split }, i) => [i, split]));
  const changed = found.test.filter(({ index }) => known.get(index) !== 'test').length;
  const left = [...found.train, ...found.validation].filter(({ index }) => known.get(index) === 'test').length;
  assert.equal(moved, changed + left);
  assert.ok((moved ?? 0) >= 7 && found.test.length >= 4 && found.validation.length === 4, `${moved}`);
  assert.ok(log.includes(`${moved} of 28 images changed the split, so that near copies are in one split.`), log.join());
  assert.deepEqual([compared.length, compared.at(-1)], [28, 1]);
});

test('an object in different places before one background: nothing is joined or moved', async () => {
  const shots = Array.from({ length: 16 }, (_, i): Shot => {
    const place = [0.22 * (i % 4), 0.22 * Math.floor(i / 4)] as const;
    return { scene: 0, place, split: i % 4 === 3 ? 'test' : 'train' };
  });
  const { prepared: found, log } = await prepared(shots);
  const { moved, near_copies: copies, all_alike: alike } = found.heldOut;
  assert.deepEqual([moved, copies, alike], [0, 0, false]);
  assert.deepEqual([found.train.length, found.validation.length, found.test.length, log.length], [10, 2, 4, 0]);
});

test('bursts before one background: joined where the object is in one place, and apart from images without it', async () => {
  const places = [undefined, [0.05, 0.05], [0.65, 0.1], [0.1, 0.65], [0.65, 0.65]] as const;
  const shots = places.flatMap((place) => splits.map((split): Shot => ({ scene: 2, place, split })));
  const { prepared: found } = await prepared(shots);
  for (const place of places.keys()) {
    const splitsOfPlace = [found.train, found.validation, found.test].filter((samples) =>
      samples.some(({ index }) => Math.floor(index / splits.length) === place),
    );
    // The images without an object are all of one burst, so they stay, with the warning.
    assert.equal(splitsOfPlace.length, place === 0 ? 2 : 1, `place ${place}`);
  }
  assert.equal(found.heldOut.near_copies, 1);
  assert.ok(found.test.some(({ boxes }) => boxes.length > 0));
});

test('the order of the images does not matter', async () => {
  const filesOf = ({ train, validation, test: tested }: Prepared['prepared']): string[][] =>
    [train, validation, tested].map((samples) => samples.map(({ line }) => line.file_name).toSorted());
  const some = bursts.slice(0, 20);
  const forward = await prepared(some);
  const backward = await prepared(some, { lines: (all) => all.toReversed() });
  assert.deepEqual(filesOf(backward.prepared), filesOf(forward.prepared));
});

test('near copies of a test that users chose are left out', async () => {
  const chosen = (all: DatasetLine[]): DatasetLine[] =>
    all.map((line, i) =>
      i < 8 && line.split === 'test' ? { ...line, split_chosen: true } : { ...line, split: 'train' },
    );
  const { prepared: found, log } = await prepared(bursts, { lines: chosen });
  assert.deepEqual([found.test.length, found.heldOut.left_out, found.heldOut.near_copies], [2, 6, 0]);
  assert.ok(log.includes('6 of 28 images were left out, as near copies of test images that users chose.'), log.join());
});

test('the test keeps images with boxes', async () => {
  // The burst of the only test image with a box is too large for the test. Without it, no score would be measured.
  const shot = (scene: number, split: Split, place: Shot['place'] = [0.3, 0.3]): Shot => ({ scene, place, split });
  const burst = Array.from({ length: 6 }, (_, i) => shot(0, i === 0 ? 'test' : 'train'));
  const others = [1, 1, 2, 2].map((scene) => shot(scene, 'train'));
  const negatives = [3, 4].map((scene): Shot => ({ scene, place: undefined, split: 'test' }));
  const shots = [...burst, ...others, ...negatives];
  const { prepared: found } = await prepared(shots);
  assert.deepEqual([found.test.length, found.heldOut.near_copies, found.heldOut.moved], [3, 1, 0]);
});

test('a cancel in the middle of the comparison ends it', async () => {
  await assert.rejects(prepared(bursts, { stopAt: 0.5 }), { name: 'AbortError' });
  // After the last image, the comparison of the pairs is next.
  await assert.rejects(prepared(bursts.slice(0, 8), { stopAt: 1 }), { name: 'AbortError' });
});
