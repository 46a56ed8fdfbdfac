import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CaptureSpool } from '../src/captures/spool.ts';
import { spoolFolder, startResource } from '../src/resources/factory.ts';
import { annotationsFrom } from '../src/resources/prediction.ts';
import type { Detection, ImageAnnotations } from '../src/annotations.ts';
import type { Reading } from '../src/resources/prediction.ts';
import type { Model } from '../src/resources/resource.ts';
import { PredictedImages } from '../src/resources/predicted-images.ts';
import { RunningResources } from '../src/resources/running.ts';
import { jpeg } from './codecs.ts';
import { colourImage } from './colour-images.ts';

const box = (score: number, [left = 0, top = 0, right = 0, bottom = 0]: readonly number[]): Detection => ({
  label: 'cup',
  score,
  x_min_normalized: left,
  y_min_normalized: top,
  x_max_normalized: right,
  y_max_normalized: bottom,
});
const cup = box(0.75, [0, 0, 0.5, 0.5]);
const origin = { model: 'm', version: '1' };
const reading: Reading = { task: 'object_detection', detections: [cup, box(0.25, [0, 0, 1, 1])] };
const good: Model = { origin, labels: ['cup'], predict: async () => ({ ...reading, ...origin, milliseconds: 1 }) };
const broken: Model = { origin, labels: ['cup'], predict: () => Promise.reject(new Error('out of order')) };

test('what a model finds becomes annotations that the management server takes', () => {
  const probabilities = { cup: 1.5, plate: 0.25 };
  const single: Reading = { task: 'single_label_classification', label: 'cup', score: 1.5, probabilities };
  const labels = [
    { label: 'cup', score: 1.5 },
    { label: 'plate', score: 0.25 },
  ];
  const detections = (...all: Detection[]): Reading => ({ task: 'object_detection', detections: all });
  const rows: [string, Reading, Partial<ImageAnnotations>][] = [
    ['one label', single, { classifications: [{ label: 'cup', score: 1 }] }],
    ['one label that is not sure', { ...single, score: 0.4 }, {}],
    [
      'several labels',
      { ...single, task: 'multi_label_classification', labels },
      { classifications: [{ label: 'cup', score: 1 }] },
    ],
    ['boxes', reading, { bboxes: [cup] }],
    ['a box that reaches beyond the image', detections(box(0.75, [-1, 0, 0.5, 0.5])), { bboxes: [cup] }],
    ['boxes without an area', detections(box(0.75, [0.5, 0, 0.5, 1]), box(0.75, [2, 0, 3, 1])), {}],
  ];
  for (const [name, of, wanted] of rows)
    assert.deepEqual(annotationsFrom(of, 0.5), { bboxes: [], classifications: [], ...wanted }, name);
});

test('an image is kept whatever becomes of its prediction', async () => {
  await using folder = await tempFolder();
  const bytes = await colourImage('red');
  const clock = new FakeClock();
  const { log } = captureLog(clock);
  const running = new RunningResources();
  const image = async () => ({ bytes, format: 'jpeg' as const, source: 'a.jpg' });
  const stop = async () => {};
  await running.put('cam', '1', { offer: { is: 'camera', camera: { image } }, stop });
  const spool = new CaptureSpool();
  const engine = { load: () => Promise.reject(new Error('not asked')) };
  const captureFolder = folder.path;
  const base = { is: 'capture', name: 'keep', camera: 'cam', everyMs: 1000, datasetIds: [], tags: [] } as const;
  const spec = { ...base, predict: { model: 'net', minimumScore: 0.5 } };
  const annotations = { bboxes: [cup], classifications: [] };
  const rows: [string, Model | undefined, typeof base | typeof spec, ImageAnnotations | undefined, RegExp][] = [
    ['no model is named', undefined, base, undefined, /^undefined$/],
    ['the model is not there yet', undefined, spec, undefined, /model.*net/],
    ['the model fails', broken, spec, undefined, /out of order/],
    ['the model answers', good, spec, annotations, /^undefined$/],
  ];
  for (const [name, model, of, wanted, problem] of rows) {
    if (model) await running.put('net', name, { offer: { is: 'model', model }, stop });
    const before = spool.added.get();
    const capturing = await startResource(of, {
      running,
      engine,
      jpeg,
      spool,
      predicted: new PredictedImages(),
      captureFolder,
      clock,
      log,
    });
    if (spool.added.get() === before) await spool.added.changed(new AbortController().signal);
    await clock.advance(1); // the capture ends, and the next one is due much later
    await capturing.stop();
    assert.match(String(capturing.failure?.()), problem, name);
    const waiting = await spool.waiting(spoolFolder(captureFolder, of));
    assert.equal(waiting.length, 1, name);
    for (const one of waiting) {
      assert.deepEqual(one.record.annotations, wanted, name);
      await spool.done(one);
    }
  }
});
