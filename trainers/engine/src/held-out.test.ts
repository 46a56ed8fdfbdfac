import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetLine } from '@platform/contract/job/job';
import { describeHeldOut, findCopiesByThumbnail, heldOutSentences, unitOf } from './held-out.ts';
import { seeded } from './random.ts';

const side = 64;
const line = (name: string, group?: string): DatasetLine => ({
  image_path: name,
  sha256: name,
  size_bytes: 1,
  file_name: name,
  split: 'train',
  classification_annotations: [],
  bounding_box_annotations: [],
  timestamp: '',
  part_id: '',
  component_name: '',
  ...(group === undefined ? {} : { group }),
});
interface Shot {
  line: DatasetLine;
  pixels: Uint8Array;
}
/** Coloured rectangles by `scene`, with the noise of a camera, brighter by `gain`. */
function shot(name: string, scene: string, { gain = 1, group }: { gain?: number; group?: string } = {}): Shot {
  const [shapes, noise] = [seeded('scene', scene), seeded('noise', name)];
  const values = new Float64Array(side * side * 3).fill(140);
  for (let i = 0; i < 12; i++) {
    const [x0, y0, w, h] = [shapes() * side, shapes() * side, 4 + shapes() * 30, 4 + shapes() * 30];
    const colour = [shapes() * 255, shapes() * 255, shapes() * 255];
    for (let y = Math.floor(y0); y < Math.min(side, y0 + h); y++) {
      for (let x = Math.floor(x0); x < Math.min(side, x0 + w); x++) {
        for (let c = 0; c < 3; c++) values[(y * side + x) * 3 + c] = colour[c] ?? 0;
      }
    }
  }
  const pixels = Uint8Array.from(values, (value) => Math.min(255, Math.max(0, value * gain + (noise() - 0.5) * 16)));
  return { line: line(name, group), pixels };
}
const describe = (training: readonly Shot[], heldOut: readonly Shot[]) =>
  describeHeldOut(
    training,
    heldOut,
    findCopiesByThumbnail(training, heldOut, {
      side,
      pixels: ({ pixels }) => pixels,
      mayBeCopies: () => true,
      mayBeOneScene: () => true,
    }),
  );

test('another shot of a scene is a near copy; another scene is none', () => {
  const training = Array.from({ length: 40 }, (_, i) => shot(`t${i}`, `scene ${i}`));
  const again = Array.from({ length: 10 }, (_, i) => shot(`again${i}`, `scene ${i}`, { gain: 1.01 }));
  const others = Array.from({ length: 40 }, (_, i) => shot(`new${i}`, `other ${i}`));
  const report = describe(training, [...again, ...others]);
  assert.equal(report.near_copies, 10);
  assert.deepEqual(report.examples[0], { image: 'again0', like: 't0' });
  assert.equal(report.all_alike, false);
  const { split, warnings } = heldOutSentences(report, 50);
  assert.match(split, /^Split by image/);
  assert.match(warnings.join(), /^10 of 50 held-out images are near copies of training images \(again0 and t0; /);
});

test('near copies are found among thousands of images without edges', () => {
  const flat = (name: string, value: number, shade = value): Shot => ({
    line: line(name),
    pixels: new Uint8Array(side * side * 3).map((_, i) => (i % 3 === 0 ? value : shade)),
  });
  const training = Array.from({ length: 3000 }, (_, i) => flat(`t${i}`, 20 + (i % 200), 40 + Math.floor(i / 200)));
  const report = describe(training, [flat('again', 219, 54), flat('new', 10, 250)]);
  assert.deepEqual([report.near_copies, report.examples[0]?.image], [1, 'again']);
});

test('all images are near copies of one', () => {
  const training = Array.from({ length: 5 }, (_, i) => shot(`t${i}`, 'one'));
  const report = describe(training, [shot('held', 'one')]);
  assert.deepEqual([report.all_alike, report.near_copies], [true, 1]);
  assert.match(heldOutSentences(report, 1).warnings[0] ?? '', /^All training images are near copies of one/);
  assert.equal(describe(training.slice(0, 1), []).all_alike, false);
});

test('the trainer decides which alike images are near copies', () => {
  const training = ['a', 'b', 'c'].map((name) => shot(name, 'scene'));
  const [, other] = training;
  const { copies, allAlike } = findCopiesByThumbnail(training, [shot('again', 'scene')], {
    side,
    pixels: ({ pixels }) => pixels,
    mayBeCopies: (_, one) => one === other,
    mayBeOneScene: (_, one) => one !== other,
  });
  assert.deepEqual([[...copies.values()], allAlike], [[other], false]);
});

test('groups: those of the held-out images, and those that training has, too', () => {
  const training = [shot('a', '1', { group: 'left' }), shot('b', '2', { group: 'both' })];
  const heldOut = [shot('c', '3', { group: 'right' }), shot('d', '4', { group: 'both' })];
  const report = describe(training, heldOut);
  assert.deepEqual([report.split_by, report.groups, report.shared_groups], ['group', 2, 1]);
  assert.match(heldOutSentences(report, 2).split, /are of 2 groups, 1 of which are among the training images/);
  const clean = describe(training, heldOut.slice(0, 1));
  assert.match(heldOutSentences(clean, 1).split, /are of 1 group, none of which is among the training images/);
});

test('the unit of an image is its group, else its content', () => {
  assert.equal(unitOf(line('x', 'cup 1')), 'group:cup 1');
  assert.equal(unitOf(line('x')), 'x');
});
