import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { toLogLine } from '../../entities/log/log-lines.ts';
import { gapsOf, logRows, type LogRow } from './log-rows.ts';
import { utcZone } from './log-zone.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 10, 28);
const line = (hours: number, bootId = '', partId = 'barn') => ({
  ...toLogLine(
    create(LogEntrySchema, { time: timestampFromMs(start + hours * hour), bootId, position: BigInt(hours * 10) }),
  ),
  partId,
  cursor: '',
});
const shown = (row: LogRow): string => (row.is === 'line' ? String((row.line.time - start) / hour) : row.is);
const { dayOf } = utcZone;

test('dates, starts and gaps stand between the lines', () => {
  const table: [lines: ReturnType<typeof line>[], gaps: [number, number][], expected: string][] = [
    [[], [], ''],
    [[line(1), line(2)], [], 'date 1 2'],
    [[line(23), line(24), line(25), line(50)], [], 'date 23 date 24 25 date 50'],
    [[line(1, 'a'), line(2, 'a'), line(3, 'b'), line(4), line(5, 'b')], [], 'date 1 2 start 3 4 5'],
    [[line(1), line(5)], [[2, 4]], 'date 1 gap 5'],
    [[line(1), line(3), line(5)], [[2, 4]], 'date 1 3 5'],
    [
      [line(3), line(5)],
      [
        [1, 2],
        [3, 5],
      ],
      'date 3 gap 5',
    ],
    [[line(23), line(25)], [[23.5, 24.5]], 'date 23 gap date 25'],
  ];
  for (const [lines, hours, expected] of table) {
    const gaps = hours.map(([from, until]) => ({ from: start + from * hour, until: start + until * hour }));
    assert.equal(
      logRows(lines, { dayOf, gaps: new Map([['barn', gaps]]), showsStarts: true })
        .map(shown)
        .join(' '),
      expected,
    );
  }
  assert.equal(
    logRows([line(1, 'a'), line(2, 'b')], { dayOf, gaps: new Map(), showsStarts: false })
      .map(shown)
      .join(' '),
    'date 1 2',
  );
});

test('each machine has its own starts and gaps among the lines of several', () => {
  const gaps = new Map([
    ['barn', [{ from: start + 2 * hour, until: start + 4 * hour }]],
    ['gate', [{ from: start + 3 * hour, until: start + 6 * hour }]],
  ]);
  const lines = [line(1, 'a'), line(2, 'b', 'gate'), line(3, 'b', 'gate'), line(5, 'a'), line(6, 'c', 'gate')];
  const rows = logRows(lines, { dayOf, gaps, showsStarts: true });
  assert.equal(
    rows.map((row) => (row.is === 'gap' || row.is === 'start' ? `${row.is}:${row.partId}` : shown(row))).join(' '),
    'date 1 2 3 gap:barn 5 gap:gate start:gate 6',
  );
});

test('each row has a key of its own', () => {
  const rows = logRows([line(1, 'a'), line(30, 'b'), line(31, 'a')], { dayOf, gaps: new Map(), showsStarts: true });
  assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
});

test('a gap is longer than five minutes, and than two averages', () => {
  const minute = 60_000;
  assert.deepEqual(gapsOf([0, minute, 6 * minute]), []);
  assert.deepEqual(gapsOf([0, minute, 10 * minute]), [{ from: 2 * minute, until: 10 * minute }]);
  assert.deepEqual(gapsOf([0, 10 * minute, 30 * minute], 10 * minute), []);
});
