import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listQuery, listSpan, readLogSearch, rulerSpan } from './log-search.ts';

test('what a URL says; what cannot be understood is left out', () => {
  const table: [url: Record<string, unknown>, search: Record<string, unknown>][] = [
    [{}, {}],
    [{ q: 'a', x: 1 }, { q: 'a' }],
    [{ q: 404 }, { q: '404' }],
    [{ hide: 'debug,info' }, { hide: 'info,debug' }],
    [{ hide: 'error,warn,info,debug' }, {}],
    [{ hide: 'loud' }, {}],
    [{ range: '1h', from: 5 }, { range: '1h' }],
    [{ range: 'constructor' }, {}],
    [
      { from: 5, until: 9 },
      { from: 5, until: 9 },
    ],
    [{ from: 9, until: 5 }, {}],
    [{ from: '2026-11-28T14:02:00Z' }, { from: Date.UTC(2026, 10, 28, 14, 2) }],
    [{ from: 'soon', until: 1e300, at: null }, {}],
    [{ line: 7 }, {}],
    [
      { at: 5, line: 7, zone: 'utc' },
      { at: 5, line: '7', zone: 'utc' },
    ],
    [{ zone: 'machine' }, { zone: 'machine' }],
    [{ zone: 'moon' }, {}],
  ];
  for (const [url, search] of table) assert.deepEqual(readLogSearch(url), search, JSON.stringify(url));
});

test('the query of the list names the shown levels', () => {
  assert.equal(listQuery({ q: 'a' }), 'a');
  assert.equal(listQuery({ q: 'a', hide: 'info,debug' }), 'a level:error,warn');
  assert.equal(listQuery({ hide: 'debug' }), 'level:error,warn,info');
});

test('list and ruler show the time of the URL', () => {
  const [hour, day] = [3_600_000, 86_400_000];
  const now = 100 * day;
  assert.deepEqual(listSpan({}, now), {});
  assert.deepEqual(rulerSpan({}, now), { from: now - day, until: now });
  assert.deepEqual(listSpan({ range: '1h' }, now), { from: now - hour });
  assert.deepEqual(rulerSpan({ range: '1h' }, now), { from: now - hour, until: now });
  assert.deepEqual(rulerSpan({ from: 5, until: 9 }, now), { from: 5, until: 9 });
  assert.deepEqual(rulerSpan({ from: now + 5 }, now), { from: now + 5, until: now + 60_005 });
  assert.deepEqual(rulerSpan({ until: now }, now), { from: now - day, until: now });
  assert.deepEqual(rulerSpan({ at: day }, now), { from: day - hour, until: day + hour });
});
