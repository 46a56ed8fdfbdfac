import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { SearchLogsResponseSchema } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { emptyWindow, type LogWindow, windowOf, withFresh, withNewer, withOlder } from './log-window.ts';

/** Lines "ms:position". */
const page = (lines: string, hasMore = false) =>
  create(SearchLogsResponseSchema, {
    hasMore,
    lines: lines
      .split(' ')
      .filter((one) => one !== '')
      .map((one) => {
        const [ms, position] = one.split(':');
        const time = timestampFromMs(Number(ms));
        return { entry: { time, position: BigInt(position ?? 0), message: one }, cursor: `at ${one}` };
      }),
  });
const shown = ({ lines, hasOlder, hasNewer }: LogWindow): string =>
  `${hasOlder ? '… ' : ''}${lines.map(({ message }) => message).join(' ')}${hasNewer ? ' …' : ''}`;

test('pages come in before and after, in the order of time', () => {
  const first = windowOf(page('4:4 3:3', true), page('5:5', true));
  assert.equal(shown(first), '… 3:3 4:4 5:5 …');
  const older = withOlder(first, page('2:2 1:1'));
  assert.equal(shown(older), '1:1 2:2 3:3 4:4 5:5 …');
  assert.equal(shown(withNewer(older, page('6:6'))), '1:1 2:2 3:3 4:4 5:5 6:6');
  assert.equal(older.lines[0]?.cursor, 'at 1:1');
});

test('beyond the limit, the lines at the other end go, and can be loaded again', () => {
  const four = windowOf(page('4:4 3:3 2:2 1:1'));
  assert.equal(shown(withOlder(four, page('0:9'), 4)), '0:9 1:1 2:2 3:3 …');
  assert.equal(shown(withNewer(four, page('5:5'), 4)), '… 2:2 3:3 4:4 5:5');
  assert.equal(shown(withFresh(four, [page('5:5')], 4)), '… 2:2 3:3 4:4 5:5');
});

test('lines that arrive are shown once, at their time, also if another sender was quicker', () => {
  const known = windowOf(page('30:3 20:2 10:1'));
  assert.equal(shown(withFresh(known, [page('20:2 25:5 30:3'), page('30:4 40:6')])), '10:1 20:2 25:5 30:3 30:4 40:6');
  assert.equal(shown(withFresh(emptyWindow, [page('2:2 1:1')])), '1:1 2:2');
});

test('nothing new keeps the same list, so that nothing is drawn again', () => {
  const known = windowOf(page('30:3 20:2'));
  assert.equal(withFresh(known, [page('20:2 30:3')]), known);
  assert.equal(withFresh(known, []), known);
});
