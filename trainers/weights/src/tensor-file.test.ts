import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldedHalves } from './folding.ts';
import { PickleError } from './pickle.ts';
import { readTensors } from './tensor-file.ts';

const text = (value: string): string => `X${String.fromCharCode(value.length)}\0\0\0${value}`;
const numbers = (values: readonly number[]): string =>
  `(${values.map((one) => `K${String.fromCharCode(one)}`).join('')}t`;
const pickled = (body: string): Buffer => Buffer.from(`\x80\x02${body}.`, 'latin1');

interface TensorSpec {
  values: readonly number[];
  shape: readonly number[];
  strides: readonly number[];
  offset?: number;
}
const tensorOf = (key: string, { values, shape, strides, offset = 0 }: TensorSpec): string => {
  const storage = `(${text('storage')}ctorch\nFloatStorage\n${text(key)}${text('cpu')}K${String.fromCharCode(values.length)}NtQ`;
  return `ctorch._utils\n_rebuild_tensor_v2\n(${storage}K${String.fromCharCode(offset)}${numbers(shape)}${numbers(strides)}\x89NtR`;
};
function fileOf(given: Readonly<Record<string, TensorSpec>>): Buffer {
  const entries = Object.entries(given);
  const named = entries.map(([name, one]) => text(name) + tensorOf(`key of ${name}`, one)).join('');
  const storages = entries.flatMap(([, { values }]) => {
    const size = Buffer.alloc(8);
    size.writeBigInt64LE(BigInt(values.length));
    return [size, Buffer.from(Float32Array.from(values).buffer)];
  });
  return Buffer.concat([
    pickled('\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19'),
    pickled('M\xe9\x03'),
    pickled('}'),
    pickled(`ccollections\nOrderedDict\n)R(${named}u}b`),
    pickled(`](${entries.map(([name]) => text(`key of ${name}`)).join('')}e`),
    ...storages,
  ]);
}

test('tensors come row by row, however they lie in the file', () => {
  const found = readTensors(
    fileOf({
      straight: { values: [1, 2, 3, 4, 5, 6], shape: [2, 3], strides: [3, 1] },
      turned: { values: [1, 2, 3, 4, 5, 6], shape: [2, 3], strides: [1, 2] },
      part: { values: [1, 2, 3, 4, 5, 6], shape: [2], strides: [2], offset: 1 },
    }),
  );
  assert.deepEqual([...found.keys()], ['straight', 'turned', 'part']);
  assert.deepEqual(found.get('straight')?.values, Float32Array.of(1, 2, 3, 4, 5, 6));
  assert.deepEqual(found.get('turned')?.values, Float32Array.of(1, 3, 5, 2, 4, 6));
  assert.deepEqual(found.get('part')?.values, Float32Array.of(2, 4));
});

test('a file that is cut, longer, or reaches beyond itself is refused', () => {
  const whole = fileOf({ a: { values: [1, 2], shape: [2], strides: [1] } });
  const cases: [string, Buffer][] = [
    ['cut in the values', whole.subarray(0, -1)],
    ['cut in the pickles', whole.subarray(0, 30)],
    ['something behind', Buffer.concat([whole, Buffer.from([0])])],
    ['another beginning', whole.subarray(15)],
    ['a view beyond the storage', fileOf({ a: { values: [1, 2], shape: [2], strides: [2] } })],
    [
      'another call',
      Buffer.from(whole.toString('latin1').replace('_rebuild_tensor_v2', '_rebuild_tensor_v3'), 'latin1'),
    ],
  ];
  for (const [what, bytes] of cases) assert.throws(() => readTensors(bytes), PickleError, what);
});

test('batch normalisation is folded: the convolution computes both', () => {
  const one = (values: readonly number[]) => ({ shape: [2], values: Float32Array.from(values) });
  const weights = Float32Array.of(0.5, -1, 2, 0.25);
  const [gain, shift, mean, variance] = [
    [2, -1],
    [0.5, 1],
    [3, -2],
    [4, 0.25],
  ] as const;
  const normalisation = { gain: one(gain), shift: one(shift), mean: one(mean), variance: one(variance) };
  const tensors = new Map(Object.entries({ conv: { shape: [2, 2, 1, 1], values: weights }, ...normalisation }));
  const found = new Float16Array(Uint8Array.from(foldedHalves(tensors)).buffer);
  const x = [1.5, -0.75] as const;
  for (const c of [0, 1] as const) {
    const sum = (weights[2 * c] ?? 0) * x[0] + (weights[2 * c + 1] ?? 0) * x[1];
    const wanted = ((sum - mean[c]) / Math.sqrt(variance[c] + 1e-3)) * gain[c] + shift[c];
    const got = (found[2 * c] ?? 0) * x[0] + (found[2 * c + 1] ?? 0) * x[1] + (found[4 + c] ?? 0);
    assert.ok(Math.abs(got - wanted) < 0.01, `${got} instead of ${wanted}`);
  }
  assert.throws(() => foldedHalves(new Map([...tensors].slice(0, 3))), /conv is not followed by its normalisation/);
});
