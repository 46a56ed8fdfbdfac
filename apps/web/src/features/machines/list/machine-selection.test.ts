import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSelected, nothingSelected, selectedCount, withMachines } from './machine-selection.ts';

test('machines are selected by their IDs, or all that match', () => {
  const two = withMachines(nothingSelected, ['a', 'b'], true);
  assert.deepEqual([isSelected(two, 'a'), isSelected(two, 'c'), selectedCount(two, 9)], [true, false, 2]);
  const one = withMachines(two, ['a', 'c'], false);
  assert.deepEqual([isSelected(one, 'a'), isSelected(one, 'b'), selectedCount(one, 9)], [false, true, 1]);
  const all = { is: 'all' } as const;
  assert.deepEqual([isSelected(all, 'z'), selectedCount(all, 9)], [true, 9]);
  assert.equal(withMachines(all, ['a'], true), all);
  assert.equal(withMachines(all, ['a'], false), nothingSelected);
});
