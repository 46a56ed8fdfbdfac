import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { renderCurves } from './curves.ts';

async function colourCounts(png: Buffer): Promise<Map<string, number>> {
  const { data, info } = await sharp(png)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  assert.deepEqual([info.width, info.height], [720, 280]);
  const counts = new Map<string, number>();
  for (let i = 0; i < data.length; i += 3) {
    const colour = data.subarray(i, i + 3).toString('hex');
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return counts;
}
const course = (length: number, isValidated: boolean): Parameters<typeof renderCurves>[0] =>
  Array.from({ length }, (_, epoch) => ({
    epoch,
    loss: 2 / (epoch + 1),
    validationLoss: isValidated ? 2.2 / (epoch + 1) : null,
    score: isValidated ? epoch / length : null,
  }));

test('a PNG with both lines and their names', async () => {
  const counts = await colourCounts(await renderCurves(course(8, true), 'accuracy'));
  for (const colour of ['90a4ae', '1565c0', '37474f']) assert.ok((counts.get(colour) ?? 0) > 100, colour);
});

test('one epoch, none, nothing to validate with, a loss that is not a number: still an image', async () => {
  for (const points of [course(1, true), [], course(5, false)]) {
    assert.ok((await colourCounts(await renderCurves(points, 'MAP50'))).size > 1);
  }
  const broken = [{ epoch: 0, loss: Number.NaN, validationLoss: null, score: null }];
  assert.ok((await renderCurves(broken, 'accuracy')).byteLength > 100);
});
