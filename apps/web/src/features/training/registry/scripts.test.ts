import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentLines } from './scripts.ts';

test('arguments of a script, a line each', () => {
  assert.deepEqual(argumentLines('epochs=20\n\n rate = 0.1 \nname=a=b'), {
    args: { epochs: '20', rate: '0.1', name: 'a=b' },
    problem: undefined,
  });
  for (const [text, problem] of [
    ['epochs', /“epochs” is not of the form key=value/],
    ['=1', /key=value/],
    ['a b=1', /key=value/],
    ['a=1\na=2', /a is given twice/],
  ] as const)
    assert.match(argumentLines(text).problem ?? '', problem);
});
