/** The delivered .tflite file in the official runtime, image by image against the ONNX file. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import { decode } from '@platform/trainer-engine/images';
import { openSession } from '@platform/trainer-engine/runtime';
import { boxesOf } from '@platform/contract/job/model-output';
import { compareDetections } from '../src/measure.ts';
import { sampleIn } from '../../engine/test/sample-in.ts';
import { writeJob } from './job-folder.ts';
import type { Change } from './job-folder.ts';
import { tempFolder } from '../../engine/test/temp-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';

const main = new URL('../src/main.ts', import.meta.url);

const python = process.env['PLATFORM_TEST_PYTHON'] ?? 'python3';
const program = `
import json, sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
(image,) = interpreter.get_input_details()
outputs = interpreter.get_output_details()
found = []
for pixels in np.fromfile(sys.argv[2], np.uint8).reshape(-1, *image["shape"]):
    interpreter.set_tensor(image["index"], pixels)
    interpreter.invoke()
    found.append({one["name"]: interpreter.get_tensor(one["index"]).ravel().tolist() for one in outputs})
ports = [[one["name"], one["dtype"].__name__, one["shape"].tolist()] for one in [image, *outputs]]
print(json.dumps({"ports": ports, "found": found}))
`;
interface Printed {
  ports: unknown;
  found: { location: number[]; category: number[]; score: number[] }[];
}

/** What is learned is what validates, so that rescoring is kept. */
const validateOnTraining: Change = {
  lines: (lines) => [
    ...lines,
    ...lines.filter(({ split }) => split === 'train').map((one) => ({ ...one, split: 'validation' as const })),
  ],
};
for (const [side, change] of [
  [96, { arguments: { recipe: 'probe' } }],
  [448, { arguments: { recipe: 'probe' } }],
  [192, { ...validateOnTraining, arguments: { recipe: 'accurate', epochs: '25' } }],
] as const satisfies [number, Change][]) {
  const { recipe } = change.arguments;
  test(`${recipe} at ${side} px: the official interpreter finds what ONNX Runtime finds, image by image`, async () => {
    await using folder = await tempFolder();
    await writeJob(folder.path, { ...change, arguments: { ...change.arguments, side: String(side) } });
    const { code, stderr } = await startTrainer(main, folder.path).ended;
    assert.equal(code, 0, stderr);
    const out = path.join(folder.path, jobFiles.out);
    const card = await readFile(path.join(out, modelFiles.cardText), 'utf8');
    assert.equal(card.includes('accurate (delivered)'), recipe === 'accurate', card);
    const images = path.join(folder.path, jobFiles.images);
    const pixels: Uint8Array[] = [];
    for (const file of await readdir(images)) pixels.push(await decode(path.join(images, file), side));
    const raw = path.join(folder.path, 'pixels.rgb');
    await writeFile(raw, Buffer.concat(pixels));

    for (const form of ['shapes', 'shapes.int8']) {
      // Integer arithmetic is rounded differently by each runtime, and rounding decides about some boxes.
      const [allowed, most, missingShare] = form === 'shapes' ? [1e-3, 1e-4, 0] : [0.05, 0.05, 0.05];
      const total = { missing: 0, compared: 0 };
      const options = { maxBuffer: 64 * 2 ** 20 };
      const file = path.join(out, `${form}.tflite`);
      const { stdout } = await promisify(execFile)(python, ['-c', program, file, raw], options);
      const printed = JSON.parse(stdout) as Printed;
      assert.deepEqual(printed.ports, [
        ['image', 'uint8', [1, side, side, 3]],
        ['location', 'float32', [1, 50, 4]],
        ['category', 'float32', [1, 50]],
        ['score', 'float32', [1, 50]],
      ]);
      const session = await openSession(await readFile(path.join(out, `${form}.onnx`)), 1);
      assert.equal(printed.found.length, pixels.length);
      for (const [i, data] of pixels.entries()) {
        const results = await session.run({ image: { data, dims: [1, side, side, 3] } });
        const onnx = boxesOf(results('location'), results('category'), results('score'));
        const { location, category, score } = printed.found[i] ?? { location: [], category: [], score: [] };
        const tflite = boxesOf(Float32Array.from(location), Float32Array.from(category), Float32Array.from(score));
        for (const [a, b] of [
          [onnx, tflite],
          [tflite, onnx],
        ] as const) {
          const { missing, compared, maxDifference } = compareDetections(a, b, allowed);
          total.missing += missing;
          total.compared += compared;
          assert.ok(maxDifference < most, `${form}, image ${i}: ${maxDifference}`);
        }
      }
      await session.release();
      assert.ok(total.missing <= missingShare * total.compared, `${form}: ${JSON.stringify(total)}`);
    }
  });
}

test('the sample program of the model card runs as it stands', async () => {
  await using folder = await tempFolder();
  await writeJob(folder.path, { arguments: { recipe: 'probe', side: '96' } });
  const { code, stderr } = await startTrainer(main, folder.path).ended;
  assert.equal(code, 0, stderr);
  const out = path.join(folder.path, jobFiles.out);
  await writeFile(path.join(out, 'sample.py'), sampleIn(await readFile(path.join(out, modelFiles.cardText), 'utf8')));
  const session = await openSession(await readFile(path.join(out, 'shapes.onnx')), 1);
  const labels = (await readFile(path.join(out, modelFiles.labels), 'utf8')).trimEnd().split('\n');
  const card = JSON.parse(await readFile(path.join(out, modelFiles.cardJson), 'utf8')) as {
    thresholds: Record<string, number>;
  };
  const images = path.join(folder.path, jobFiles.images);
  for (const file of (await readdir(images)).toSorted().slice(0, 3)) {
    const image = path.join(images, file);
    const { stdout } = await promisify(execFile)(python, ['sample.py', image], { cwd: out });
    const printed = stdout.split('\n').filter(Boolean);
    const results = await session.run({ image: { data: await decode(image, 96), dims: [1, 96, 96, 3] } });
    const found = boxesOf(results('location'), results('category'), results('score'));
    const sure = found.filter(({ label, score }) => score >= (card.thresholds[labels[label] ?? ''] ?? 1) + 0.1);
    for (const { label } of sure)
      assert.ok(
        printed.some((line) => line.startsWith(`${labels[label]} 0.`)),
        `${file}: ${stdout}`,
      );
    for (const line of printed) assert.match(line, /^\w+ [01]\.\d+ \[/);
  }
  await session.release();
});
