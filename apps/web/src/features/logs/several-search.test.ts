import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostMachines } from '@platform/contract/logs/query';
import { idsOf, readSeveralSearch, withLines, withMachines } from './several-search.ts';

const many = Array.from({ length: mostMachines + 3 }, (_, n) => `m${n}`);

test('the machines of a URL are some IDs, or those of a query, and never too many', () => {
  assert.deepEqual(readSeveralSearch({}), {});
  assert.deepEqual(readSeveralSearch({ ids: 'a,,b,a', of: 'tag:barn', q: 'x' }), { q: 'x', ids: 'a,b' });
  assert.deepEqual(readSeveralSearch({ ids: ',', of: '' }), { of: '' });
  assert.deepEqual(readSeveralSearch({ ids: ['a'], of: 12 }), { of: '12' });
  assert.equal(idsOf(readSeveralSearch({ ids: many.join(',') })).length, mostMachines);
  assert.equal(idsOf(withMachines({}, many)).length, mostMachines);
});

test('other machines keep the time and the query of the lines, and another time keeps the machines', () => {
  const search = { q: 'x', at: 5, line: '7', of: 'tag:barn' };
  assert.deepEqual(withMachines(search, ['a', 'b']), { q: 'x', at: 5, ids: 'a,b' });
  assert.deepEqual(withMachines({ ids: 'a', range: '1h' }, []), { range: '1h' });
  assert.deepEqual(withLines(search, { range: '1d' }), { range: '1d', of: 'tag:barn' });
  assert.deepEqual(withLines({ ids: 'a', at: 5 }, {}), { ids: 'a' });
});
