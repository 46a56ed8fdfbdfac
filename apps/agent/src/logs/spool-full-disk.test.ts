import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardSpoolLimits } from './spool.ts';
import { line, at, read, small, world, put, all, drain } from '../../test/spool-world.ts';

test('while the disk is full lines wait in memory, the debug ones go first, and all is stored later', async () => {
  const { spool, faults } = await world({ ...standardSpoolLimits, pendingLines: 3 });
  faults.isFull = true;
  for (const m of ['a', 'b', 'c', 'd']) void spool.append(line(m, m === 'b' ? 'debug' : 'info'));
  await assert.rejects(spool.flush(), /DISK_FULL/);
  faults.isFull = false;
  await spool.flush();
  assert.deepEqual(
    (await spool.next(9)).map((r) => r.message),
    ['a', 'c', 'd', 'log lines were dropped'],
  );
});

test('a write that fails half does not damage the lines after it, nor repeat its own', async () => {
  for (const share of [0.3, 0.6, 0.999]) {
    const { spool, open, faults } = await world();
    await put(spool, 'a');
    faults.cutIn = { changes: 1, share };
    for (const m of ['b', 'c']) void spool.append(line(m));
    await assert.rejects(spool.flush());
    faults.isOff = false;
    await put(spool, 'd');
    assert.deepEqual(
      (await all(await open())).map((m) => m.split(' ')[1]),
      ['a', 'b', 'c', 'd'],
    );
  }
});

test('on a disk without room for the state, taken segments are removed all the same, and no number comes twice', async () => {
  const { spool, open, files, faults } = await world(small);
  for (let i = 0; i < 12; i++) await put(spool, `line ${i}`);
  const before = await drain(spool, 99);
  faults.isFull = true;
  await spool.ack(before.at(-1)!.sequence);
  assert.ok(files.names().filter((n) => n.endsWith('.seg')).length <= 2);
  faults.isFull = false;
  const again = await open();
  await put(again, 'fresh');
  const fresh = (await drain(again, 99)).at(-1)!;
  assert.ok(fresh.sequence > before.at(-1)!.sequence);
});

test('while the disk takes nothing, memory is bounded in lines and bytes, and each lost line is counted', async () => {
  const { spool, faults } = await world({ ...standardSpoolLimits, pendingLines: 50, pendingBytes: 100_000 });
  faults.isFull = true;
  for (let i = 0; i < 1_000; i++) void spool.append(line(`${i} ${'x'.repeat(i % 5 === 0 ? 20_000 : 10)}`));
  await assert.rejects(spool.flush());
  const { waitingLines, droppedLines } = spool.counters;
  assert.equal(waitingLines + droppedLines, 1_000);
  assert.ok(waitingLines <= 50);
  faults.isFull = false;
  await spool.flush();
  const reported = (await drain(spool, 99)).reduce((sum, r) => sum + Number(r.fields['lines_dropped'] ?? 0), 0);
  assert.equal(reported, droppedLines);
});

test('while the disk takes nothing, lines can be sent from memory; each is stored or sent so, never both', async () => {
  const { spool, open, faults } = await world();
  await put(spool, 'a');
  faults.isFull = true;
  void spool.append(line('b'), at(7));
  for (let i = 0; i < 3; i++) {
    assert.equal(spool.nextLoose(9).length, 0, 'not at once');
    await assert.rejects(spool.flush());
  }
  const loose = spool.nextLoose(9);
  assert.deepEqual(
    loose.map((r) => [r.sequence, r.message]),
    [[1, 'b']],
  );
  assert.notEqual(loose[0]?.bootId, spool.bootId);
  void spool.append(line('c'));
  assert.equal(spool.nextLoose(9).length, 1, 'the same again until it is acknowledged');
  assert.deepEqual([spool.hasLoose, spool.counters.waitingLines], [true, 3]);
  faults.isFull = false;
  await spool.flush();
  spool.ackLoose(1);
  assert.deepEqual([spool.hasLoose, spool.nextLoose(9).length], [false, 0]);
  assert.deepEqual(spool.cursor('x'), read(7));
  await spool.saveState();
  assert.deepEqual(
    (await all(await open())).map((m) => m.split(' ')[1]),
    ['a', 'c'],
  );
});
