import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Level } from '@platform/kit';
import { seededRandom } from '@platform/kit/testing';
import { PowerCut } from '../os/sim/disk.ts';
import type { SpoolRecord } from './spool-record.ts';
import type { Spool } from './spool.ts';
import { line, at, read, small, world, put, all } from '../../test/spool-world.ts';

test('lines come back in order with numbers of their own, until they are acknowledged', async () => {
  const { spool } = await world();
  await put(spool, 'a', 'b');
  await put(spool, 'c');
  assert.deepEqual(
    (await spool.next(2)).map((r) => r.message),
    ['a', 'b'],
  );
  await spool.ack(1);
  assert.deepEqual(
    (await spool.next(9)).map((r) => [r.sequence, r.message, r.fields]),
    [
      [2, 'b', { n: 1 }],
      [3, 'c', { n: 1 }],
    ],
  );
  await spool.ack(3);
  assert.deepEqual(await spool.next(9), []);
});

test('a line that is not stored yet is not sent', async () => {
  const { spool } = await world();
  void spool.append(line('a'));
  assert.deepEqual(await spool.next(9), []);
});

test('everything survives a new start, numbers go on, and the cursor is kept', async () => {
  const { spool, open } = await world(small);
  for (const m of ['a', 'b', 'c', 'd', 'e']) await put(spool, m);
  void spool.append(line('f'), at(77));
  await spool.flush();
  await spool.ack(2);
  const again = await open();
  assert.notEqual(again.bootId, spool.bootId);
  assert.deepEqual(again.cursor('x'), read(77));
  await put(again, 'g');
  const got = await all(again);
  assert.deepEqual(got.slice(-5), ['3 c', '4 d', '5 e', '6 f', '7 g']);
});

test('numbers go on even when all segments are gone', async () => {
  const { spool, open, files } = await world(small);
  for (const m of ['a', 'b', 'c', 'd']) await put(spool, m);
  await all(spool);
  await spool.saveState();
  for (const name of files.names().filter((n) => n.endsWith('.seg'))) files.remove(name);
  const again = await open();
  await put(again, 'e');
  assert.deepEqual(await all(again), ['5 e']);
});

test('segments that the cloud has taken are removed', async () => {
  const { spool, files } = await world(small);
  for (let i = 0; i < 20; i++) await put(spool, `line ${i}`);
  await all(spool);
  assert.equal(files.names().filter((n) => n.endsWith('.seg')).length, 1);
});

test('a damaged state is made anew from the segments: the same ids, everything again', async () => {
  const { spool, open, files } = await world();
  await put(spool, 'a', 'b');
  await spool.ack(1);
  files.put('spool/state', new TextEncoder().encode('00000000 {"bootId":"evil"'));
  const again = await open();
  assert.deepEqual(
    (await again.next(9)).map((r) => [r.bootId, r.sequence, r.message]),
    [
      [spool.bootId, 1, 'a'],
      [spool.bootId, 2, 'b'],
    ],
  );
});

test('beyond the limit debug lines go first, then the oldest', async () => {
  const { spool, files } = await world(small);
  for (let i = 0; i < 8; i++) await put(spool, `info ${i}`, line(`debug ${i}`, 'debug'));
  for (let i = 8; i < 12; i++) await put(spool, `info ${i}`);
  const bytes = files
    .names()
    .filter((n) => n.endsWith('.seg'))
    .reduce((sum, n) => sum + files.get(n)!.bytes.length, 0);
  assert.ok(bytes <= small.totalBytes + small.segmentBytes, `${bytes}`);
  const got = await all(spool);
  const infos = got.filter((m) => m.includes('info')).map((m) => Number(m.split(' ')[2]));
  assert.deepEqual(
    infos,
    Array.from({ length: infos.length }, (_, i) => 12 - infos.length + i),
    'the newest, without a gap',
  );
  const debugKept = got.filter((m) => m.includes('debug')).map((m) => Number(m.split(' ')[2]));
  assert.ok(
    debugKept.every((n) => n >= 6),
    debugKept.join(' '),
  );
});

test('dropped lines are counted exactly', async () => {
  const { spool } = await world({ ...small, totalBytes: 700 });
  const got: { level: string; fields: Record<string, unknown> }[] = [];
  for (let i = 0; i < 40; i++) await put(spool, line(`l${i}`, i % 2 ? 'debug' : 'info'));
  await put(spool, 'last');
  for (let b = await spool.next(9); b.length > 0; b = await spool.next(9)) {
    got.push(...b);
    await spool.ack(b.at(-1)!.sequence);
  }
  await put(spool, 'end');
  got.push(...(await spool.next(9)));
  const reported = got.reduce((sum, r) => sum + Number(r.fields['lines_dropped'] ?? 0), 0);
  const kept = got.filter((r) => !('lines_dropped' in r.fields)).length;
  assert.equal(reported, 42 - kept);
  assert.equal(spool.counters.droppedLines, reported);
});

test('dropped lines are reported with their times, reason and number, and a dropped notice passes its count on', async () => {
  const { spool } = await world({ ...small, totalBytes: 500 });
  for (let i = 0; i < 60; i++) await put(spool, { ...line(`l${i}`, 'warn'), time: 1_000 * i });
  await spool.flush();
  const got: SpoolRecord[] = [];
  for (let b = await spool.next(9); b.length > 0; b = await spool.next(9)) {
    got.push(...b);
    await spool.ack(b.at(-1)!.sequence);
  }
  const notices = got.filter((r) => r.message === 'log lines were dropped');
  const first = notices[0]!;
  assert.equal(notices.map((r) => String(r.fields['from'])).toSorted()[0], '1970-01-01T00:00:00.000Z');
  assert.equal(first.fields['because'], 'no room');
  const lines = got.filter((r) => r.message !== 'log lines were dropped');
  assert.equal(
    notices.reduce((sum, r) => sum + Number(r.fields['lines_dropped']), 0),
    60 - lines.length,
  );
});

test('beyond the limit warnings outlive infos, errors outlive warnings', async () => {
  const { spool } = await world({ ...small, totalBytes: 1500 });
  const levels: Level[] = ['error', 'warn', 'info', 'debug'];
  for (let i = 0; i < 40; i++) await put(spool, line(`${levels[i % 4]} number ${i}`, levels[i % 4]));
  const got = (await all(spool)).filter((m) => m.includes('number'));
  const count = (level: string) => got.filter((m) => m.includes(level)).length;
  assert.ok(
    count('error') >= count('warn') && count('warn') >= count('info') && count('info') >= count('debug'),
    got.join(),
  );
  assert.ok(count('error') > count('info') + 2, got.join());
});

test('a batch is bounded in bytes, but never empty', async () => {
  const { spool } = await world();
  await put(spool, 'x'.repeat(5_000), 'a', 'b', 'y'.repeat(900));
  assert.equal((await spool.next(99, 1_000)).length, 1);
  await spool.ack(1);
  assert.equal((await spool.next(99, 1_000)).length, 2);
});

test('a source that was read without a line to keep moves its cursor in order', async () => {
  const { spool, open } = await world();
  void spool.append(line('a'), at(5));
  void spool.move({ source: 'x', file: 'f', offset: 9 });
  await spool.flush();
  assert.deepEqual(spool.cursor('x'), read(9));
  await spool.saveState();
  assert.deepEqual((await open()).cursor('x'), read(9));
});

test('a dropped debug line does not take the cursor with it', async () => {
  const { spool, open } = await world(small);
  void spool.append(line('x', 'debug'), at(9));
  await spool.flush();
  for (let i = 0; i < 9; i++) await put(spool, `some longer line with the number ${i}`);
  await put(spool, line('y', 'debug'));
  for (let i = 0; i < 9; i++) await put(spool, `some longer line with the number ${i}`);
  const again = await open();
  assert.equal(
    (await again.next(99)).some((r) => r.level === 'debug'),
    false,
  );
  assert.deepEqual(again.cursor('x'), read(9));
});

test('the power may fail in any write: what was acknowledged comes out once, in order, with one number for ever', async () => {
  const random = seededRandom(11);
  for (let cut = 1; cut <= 60; cut++) {
    for (const share of [0, 0.3, 0.7, 0.999]) {
      const { files, faults, open } = await world({ ...small, totalBytes: 1e6 });
      const durable: string[] = [];
      const cloud = new Map<string, string>(); // boot ID and sequence → message, deduplicated as the server does
      faults.cutIn = { changes: cut, share };
      let spool: Spool | undefined;
      let written = 0;
      let cursor = 0; // of the newest acknowledged line that has one
      for (let turn = 0; turn < 40 || !spool; turn++) {
        try {
          if (!spool) {
            spool = await open();
            const known = spool.cursor('x')?.offset ?? 0;
            assert.ok(known >= cursor, `cut ${cut}/${share}: the cursor went back from ${cursor} to ${known}`);
          }
          if (random() < 0.6) {
            const mine = Array.from({ length: 1 + Math.floor(random() * 3) }, () => `m${++written}`);
            const offset = random() < 0.3 ? written : undefined;
            for (const m of mine) {
              const stored = spool.append(line(m), offset === undefined ? undefined : at(offset));
              void stored.then(() => ((cursor = offset ?? cursor), durable.push(m)));
            }
            await spool.flush();
          } else {
            const batch = await spool.next(4);
            for (const r of batch) {
              const key = `${r.bootId}/${r.sequence}`;
              assert.equal(cloud.get(key) ?? r.message, r.message, `cut ${cut}: number ${key} was given twice`);
              cloud.set(key, r.message);
            }
            const last = batch.at(-1);
            if (last) await spool.ack(last.sequence);
            if (random() < 0.2) await spool.saveState();
          }
        } catch (error) {
          assert.ok(error instanceof PowerCut);
          spool = undefined; // the next turn starts a new agent
          faults.cutIn ??= { changes: 1 + Math.floor(random() * 20), share };
        }
      }
      delete faults.cutIn;
      faults.isOff = false;
      for (let batch = await spool.next(9); batch.length > 0; batch = await spool.next(9)) {
        for (const r of batch) cloud.set(`${r.bootId}/${r.sequence}`, r.message);
        await spool.ack(batch.at(-1)!.sequence);
      }
      const arrived = [...cloud.values()].filter((m) => /^m\d+$/.test(m));
      assert.deepEqual(arrived, [...new Set(arrived)], `cut ${cut}/${share}: a line came twice`);
      const isKept = durable.filter((m) => arrived.includes(m));
      assert.deepEqual(isKept, durable, `cut ${cut}/${share}: an acknowledged line is lost`);
      assert.ok(files.names().length < 20);
    }
  }
});
