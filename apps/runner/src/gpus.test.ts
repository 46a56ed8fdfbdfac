import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuPool, gpusHere } from './gpus.ts';

const visible: [name: string, value: string, gpus: string[]][] = [
  ['two of them', '0,2', ['0', '2']],
  ['by name', 'GPU-8932f937, GPU-1', ['GPU-8932f937', 'GPU-1']],
  ['none, as an empty value', '', []],
  ['none, as CUDA writes it', '-1', []],
];
for (const [name, value, gpus] of visible) {
  test(`CUDA_VISIBLE_DEVICES: ${name}`, () => assert.deepEqual(gpusHere(value), gpus));
}

test('no GPU is given to two jobs, and all come back', () => {
  const pool = new GpuPool(['0', '1', '2', '10']);
  const [one, two] = [pool.take(2), pool.take(1)];
  assert.deepEqual([one, two, pool.free], [['0', '1'], ['2'], ['10']]);
  assert.throws(() => pool.take(2), RangeError);
  pool.giveBack(one);
  assert.deepEqual(pool.take(3), ['0', '1', '10']);
  pool.giveBack(two);
  assert.deepEqual(pool.free, ['2']);
});
