/** The delivered .tflite file in the official runtime, image by image against the ONNX file. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import type { Evaluation } from '@platform/contract/job/evaluation';
import { decode } from '@platform/trainer-engine/images';
import { openSession } from '@platform/trainer-engine/runtime';
import { sampleIn } from '../../engine/test/sample-in.ts';
import { writeJob } from './job-folder.ts';
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
probability, *others = interpreter.get_output_details()
found, scores = [], []
for pixels in np.fromfile(sys.argv[2], np.uint8).reshape(-1, *image["shape"]):
    interpreter.set_tensor(image["index"], pixels)
    interpreter.invoke()
    found.append(interpreter.get_tensor(probability["index"])[0].tolist())
    scores.append([interpreter.get_tensor(one["index"])[0].tolist() for one in others])
print(json.dumps({
    "image": [image["name"], image["dtype"].__name__, image["shape"].tolist()],
    "outputs": [[one["name"], one["dtype"].__name__, one["shape"].tolist()] for one in [probability, *others]],
    "signatures": interpreter.get_signature_list(),
    "found": found,
    "scores": scores,
}))
`;
interface Printed {
  image: unknown;
  outputs: unknown;
  signatures: unknown;
  found: number[][];
  /** Values of the other outputs. */
  scores: number[][][];
}

for (const [kind, recipe] of [
  ['single_label_classification', 'compact'],
  ['multi_label_classification', 'compact'],
  ['single_label_classification', 'accurate'],
  ['multi_label_classification', 'accurate'],
] as const) {
  test(`${kind}, ${recipe}: the official interpreter says what ONNX Runtime says, image by image`, async () => {
    await using folder = await tempFolder();
    await writeJob(folder.path, { kind, arguments: { recipe, epochs: '1' } });
    const { code, stderr } = await startTrainer(main, folder.path).ended;
    assert.equal(code, 0, stderr);
    const out = path.join(folder.path, jobFiles.out);
    const { side, labels } = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as Evaluation;
    const images = path.join(folder.path, jobFiles.images);
    const pixels: Uint8Array[] = [];
    for (const file of await readdir(images)) pixels.push(await decode(path.join(images, file), side));
    const raw = path.join(folder.path, 'pixels.rgb');
    await writeFile(raw, Buffer.concat(pixels));

    const hasUnlike = kind === 'single_label_classification';
    for (const form of ['shapes', 'shapes.int8']) {
      const { stdout } = await promisify(execFile)(python, ['-c', program, path.join(out, `${form}.tflite`), raw]);
      const printed = JSON.parse(stdout) as Printed;
      assert.deepEqual(printed.image, ['image', 'uint8', [1, side, side, 3]]);
      assert.deepEqual(printed.outputs, [
        ['probability', 'float32', [1, labels.length]],
        ...(hasUnlike ? [['unlike', 'float32', [1, 1]]] : []),
      ]);
      const outputs = hasUnlike ? ['probability', 'unlike'] : ['probability'];
      assert.deepEqual(printed.signatures, { serving_default: { inputs: ['image'], outputs } });
      // Integer arithmetic is rounded differently by each runtime.
      const allowed = form === 'shapes' ? 1e-4 : 0.05;
      const session = await openSession(await readFile(path.join(out, `${form}.onnx`)), 1);
      assert.equal(printed.found.length, pixels.length);
      for (const [i, data] of pixels.entries()) {
        const results = await session.run({ image: { data, dims: [1, side, side, 3] } });
        const expected = results('probability');
        const found = printed.found[i] ?? [];
        const message = `${form}, image ${i}: ${expected.join()} against ${found.join()}, ${printed.scores[i]?.join()}`;
        if (hasUnlike) {
          const [score = Number.NaN] = results('unlike');
          assert.ok(Math.abs(score - (printed.scores[i]?.[0]?.[0] ?? 9)) < allowed, message);
        }
        for (const [k, p] of expected.entries()) assert.ok(Math.abs(p - (found[k] ?? 9)) < allowed, message);
      }
      await session.release();
    }
  });
}

for (const [kind, framework] of [
  ['single_label_classification', 'tflite'],
  ['single_label_classification', 'onnx'],
  ['multi_label_classification', 'tflite'],
] as const) {
  test(`${kind}, ${framework}: the sample program of the model card runs as it stands`, async () => {
    await using folder = await tempFolder();
    await writeJob(folder.path, { kind, framework, arguments: { recipe: 'probe' } });
    const { code, stderr } = await startTrainer(main, folder.path).ended;
    assert.equal(code, 0, stderr);
    const out = path.join(folder.path, jobFiles.out);
    const { side, labels } = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as Evaluation;
    await writeFile(path.join(out, 'sample.py'), sampleIn(await readFile(path.join(out, modelFiles.cardText), 'utf8')));
    const session = await openSession(await readFile(path.join(out, 'shapes.onnx')), 1);
    const images = path.join(folder.path, jobFiles.images);
    for (const file of (await readdir(images)).toSorted().slice(0, 3)) {
      const image = path.join(images, file);
      const { stdout } = await promisify(execFile)(python, ['sample.py', image], { cwd: out });
      const printed = stdout
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(' '));
      const data = await decode(image, side);
      const expected = (await session.run({ image: { data, dims: [1, side, side, 3] } }))('probability');
      for (const [label = '', p] of printed) {
        // Two libraries scale images a little differently.
        assert.ok(Math.abs(Number(p) - (expected[labels.indexOf(label)] ?? 9)) < 0.1, `${file}: ${stdout}`);
      }
      if (kind === 'single_label_classification') assert.equal(printed.length, 3);
    }
    await session.release();
  });
}
