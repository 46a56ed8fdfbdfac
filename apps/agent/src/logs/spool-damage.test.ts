import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simDisk } from '../os/sim/disk.ts';
import { checksum } from '../storage/checksum.ts';
import { decodeRecords, encodeRecord } from './spool-record.ts';
import { Spool } from './spool.ts';
import { line, sealed, tiny, small, world, put, all, drain } from '../../test/spool-world.ts';

const sequences = (bytes: Uint8Array) => decodeRecords(bytes, 'boot').map((r) => r.sequence);

const rubbish: readonly [string, Uint8Array][] = [
  ['empty', new Uint8Array()],
  ['garbage', Uint8Array.from({ length: 5_000 }, (_, i) => (i * 131) % 256)],
  ['lines of another program', new TextEncoder().encode('hello\nworld\n'.repeat(50))],
  ['lines of a newer version that mean nothing here', sealed('{"v":2,"lines":[1,2,3]}')],
  ['lines with wrong types', sealed('{"s":"one","t":null,"l":7,"n":[],"m":{}}')],
];
for (const [name, bytes] of rubbish) {
  test(`a segment that is ${name}: skipped, reported, and the others are read`, async () => {
    const { spool, open, files } = await world(tiny);
    for (const m of ['a', 'b', 'c', 'd']) await put(spool, m);
    const last = files.names().findLast((n) => n.endsWith('.seg'));
    files.put(last!, bytes);
    const again = await open();
    await put(again, 'e');
    assert.deepEqual(await all(again), ['1 a', '2 b', '3 c', '5 e']);
    assert.equal(again.problems.length, bytes.length > 0 ? 1 : 0);
  });
}

test('an old segment that was damaged is not read at the start; its lines are counted as lost when it is their turn', async () => {
  const { spool, open, files } = await world(tiny);
  for (const m of ['a', 'b', 'c', 'd', 'e']) await put(spool, m);
  const segments = files.names().filter((n) => n.endsWith('.seg'));
  files.put(segments[1]!, new Uint8Array([1, 2, 3]));
  const again = await open();
  assert.deepEqual(again.problems, []);
  const got = await drain(again, 9);
  await again.flush();
  got.push(...(await drain(again, 9)));
  assert.deepEqual(
    got.map((r) => r.message),
    ['a', 'c', 'd', 'e', 'log lines were dropped'],
  );
  assert.deepEqual([got.at(-1)?.fields['lines_dropped'], got.at(-1)?.fields['because']], [1, 'damaged']);
});

test('a segment, a state and a folder that cannot be read: the spool opens and says so', async () => {
  const { files, faults, spool } = await world(tiny);
  for (const m of ['a', 'b', 'c']) await put(spool, m);
  const disk = simDisk(files, faults);
  const broken = async () => Promise.reject(new Error('EIO: i/o error'));
  const segment = files.names().find((n) => n.endsWith('.seg'));
  const unreadable = await Spool.open(
    { ...disk, read: (f) => (f === segment ? broken() : disk.read(f)) },
    small,
    () => 'new',
  );
  assert.match(unreadable.problems.join(), /EIO/);
  await put(unreadable, 'd');
  assert.deepEqual(
    (await all(unreadable)).map((m) => m.split(' ')[1]),
    ['b', 'c', 'd'],
  );
  const nothing = await Spool.open({ ...disk, read: broken, list: broken }, small, () => 'new');
  assert.equal(nothing.problems.length, 2);
  await put(nothing, 'x');
});

test('records: torn and damaged lines are left out, the rest is read', () => {
  assert.equal(checksum(new TextEncoder().encode('123456789')), 'cbf43926');
  const bytes = [1, 2, 3].map((sequence) => encodeRecord({ ...line(`zeile ü ${sequence}`), bootId: 'boot', sequence }));
  const joined = Buffer.concat(bytes);
  for (let cut = 0; cut <= joined.length; cut++) {
    const whole = sequences(joined.subarray(0, cut));
    assert.deepEqual(whole, [1, 2, 3].slice(0, whole.length));
  }
  joined[bytes[0]!.length + 20]! ^= 1;
  assert.deepEqual(sequences(joined), [1, 3]);
});
