import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PowerCut, simDisk, type DiskFaults } from '../os/sim/disk.ts';
import { SimFiles } from '../os/sim/files.ts';
import { decodeChecked, encodeChecked, readChecked, writeChecked } from './checked-file.ts';

const file = 'state/x.json';
const number = (value: unknown): number => {
  const { n } = value as { n: unknown };
  if (typeof n !== 'number') throw new Error('"n" must be a number');
  return n;
};
function world() {
  const [files, faults] = [new SimFiles(), {} as DiskFaults];
  const disk = simDisk(files, faults);
  return { files, faults, disk, read: () => readChecked(disk, file, number) };
}

test('what was written is read; without a file there is neither a value nor a problem', async () => {
  const { disk, read } = world();
  assert.deepEqual(await read(), { value: undefined, problem: undefined });
  await writeChecked(disk, file, { n: 1, later: 'a member of a newer version' });
  assert.deepEqual(await read(), { value: 1, problem: undefined });
});

test('every single damaged byte and every cut is seen', () => {
  const whole = encodeChecked({ n: 12345, text: 'ü' });
  for (let i = 0; i < whole.length - 1; i++) {
    const damaged = whole.slice();
    damaged[i]! ^= 1;
    assert.equal(decodeChecked(damaged), undefined, `byte ${i}`);
    assert.equal(decodeChecked(whole.slice(0, i)), undefined, `cut at ${i}`);
  }
});

const damages: readonly [string, Uint8Array | undefined][] = [
  ['empty', new Uint8Array()],
  ['garbage', Uint8Array.from({ length: 300 }, (_, i) => (i * 37) % 256)],
  ['without a checksum', new TextEncoder().encode('{"n": 3}')],
  ['of wrong types', encodeChecked({ n: 'three' })],
  ['not an object', encodeChecked(null)],
  ['gone', undefined],
];
for (const [name, bytes] of damages) {
  test(`a file that is ${name}: the last good one is used, and it is reported`, async () => {
    const { files, disk, read } = world();
    await writeChecked(disk, file, { n: 1 });
    await writeChecked(disk, file, { n: 2 });
    if (bytes) files.put(file, bytes);
    else files.remove(file);
    const { value, problem } = await read();
    assert.equal(value, 1);
    assert.match(problem ?? '', /state\/x\.json (is damaged|cannot be used|is gone)/);
    files.put(`${file}.last-good`, bytes ?? new Uint8Array());
    assert.equal((await read()).value, undefined);
  });
}

test('a damaged file never becomes the last good one', async () => {
  const { files, disk, read } = world();
  await writeChecked(disk, file, { n: 1 });
  await writeChecked(disk, file, { n: 2 });
  files.put(file, new Uint8Array([1, 2, 3]));
  await writeChecked(disk, file, { n: 3 });
  files.put(file, new Uint8Array());
  assert.equal((await read()).value, 1);
});

test('a power cut in any write leaves the old value or the new one', async () => {
  for (let changes = 1; changes <= 2; changes++) {
    for (const share of [0, 0.4, 0.6, 0.99]) {
      const { faults, disk, read } = world();
      await writeChecked(disk, file, { n: 1 });
      faults.cutIn = { changes, share };
      await assert.rejects(writeChecked(disk, file, { n: 2 }), PowerCut);
      assert.ok([1, 2].includes((await read()).value ?? 0));
    }
  }
});

test('a disk that cannot be read is a problem, not an end', async () => {
  const disk = { ...simDisk(new SimFiles(), {}), read: async () => Promise.reject(new Error('EIO: i/o error, read')) };
  const { value, problem } = await readChecked(disk, file, number);
  assert.equal(value, undefined);
  assert.match(problem ?? '', /EIO/);
});
