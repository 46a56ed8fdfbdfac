// A round trip per format: reading returns what was written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFolder } from '../read/folder.ts';
import { uploadPlan } from '../upload-plan.ts';
import { type ExportedImage, folderOf, type LayoutName, layoutNames, layouts } from './layouts.ts';

const box = (label: string, xMin: number, yMin: number, xMax: number, yMax: number) => ({
  label,
  xMin,
  yMin,
  xMax,
  yMax,
});
const size = { width: 640, height: 480 };
const images: readonly ExportedImage[] = [
  { file: 'a.jpg', split: 'train', labels: ['cup', 'R&D <x>'], boxes: [box('cup', 0.1, 0.2, 0.5, 0.6)], ...size },
  {
    file: 'b.png',
    split: 'validation',
    labels: ['cup'],
    boxes: [box('R&D "7": {}', 0, 0, 1, 1), { ...box('cup', 0.25, 0.25, 0.75, 0.5), confidence: 0.7 }],
    ...size,
  },
  { file: 'c.webp', split: 'test', labels: [], boxes: [], ...size },
  { file: 'd.jpg', split: undefined, labels: ['no'], boxes: [box('no', 0.123, 0.234, 0.345, 0.456)], ...size },
];

async function again(name: LayoutName) {
  const layout = layouts[name];
  const texts = layout.textsOf(images);
  const places = images.flatMap((image) => layout.pathsOf(image));
  const paths = [...texts.keys(), ...places];
  assert.equal(new Set(paths).size, paths.length, 'no file is written twice');
  const found = await readFolder({
    paths,
    read: (path) => Promise.resolve(texts.get(path) ?? ''),
    sizeOf: () => Promise.resolve(size),
  });
  const plan = uploadPlan(
    paths.map((path) => ({ path, sizeBytes: 1 })),
    found && { annotations: found.annotations },
  );
  assert.deepEqual([found?.missing ?? [], plan.missing, plan.refused], [[], [], []]);
  return { notes: found?.notes, planned: plan.images };
}

/** Half a pixel for a format with integer pixels. */
const tolerance: Readonly<Record<LayoutName, number>> = { folders: 0, coco: 1e-9, yolo: 1e-6, voc: 0.5 / 480 };

for (const name of layoutNames)
  test(`${name}: splits, and ${layouts[name].omits === 'boxes' ? 'labels' : 'boxes'}, come back`, async () => {
    const { notes, planned } = await again(name);
    for (const image of images) {
      const own = planned.filter((one) => one.fileName === image.file);
      assert.ok(own.length > 0, image.file);
      assert.ok(
        own.every(({ split }) => split === image.split),
        image.file,
      );
      if (layouts[name].omits === 'boxes') {
        assert.deepEqual(
          own.flatMap(({ labels }) => labels),
          image.labels.map(folderOf),
        );
        continue;
      }
      const [{ boxes } = { boxes: [] }] = own;
      assert.deepEqual(
        boxes.map(({ label }) => label),
        image.boxes.map(({ label }) => label),
      );
      for (const [at, read] of boxes.entries())
        for (const edge of ['xMin', 'yMin', 'xMax', 'yMax'] as const)
          assert.ok(Math.abs(read[edge] - (image.boxes[at]?.[edge] ?? 9)) <= tolerance[name], `${image.file} ${edge}`);
    }
    assert.deepEqual(notes ?? { clipped: 0, outside: 0, outlines: 0, repeated: 0 }, {
      clipped: 0,
      outside: 0,
      outlines: 0,
      repeated: 0,
    });
  });

test('no label leads out of the folder', () => {
  for (const label of ['..', '.', '../x', 'a/b', '/etc', 'a\\b', 'c:', ' ', 'x\u0000y'])
    assert.doesNotMatch(folderOf(label), /^\.{0,2}$|[/\\:\0]|^ | $/, label);
});
