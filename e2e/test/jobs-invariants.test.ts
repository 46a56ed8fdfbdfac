/** docs/invariants.md: each test that it names exists, and it names what the property test checks. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { checkout } from '../src/up-process.ts';

const read = (file: string): string => readFileSync(path.join(checkout, file), 'utf8');
const rows = [...read('docs/invariants.md').matchAll(/^\| (I-\d+)( \*)? \| .* \| (.*) \|$/gm)];

test('every test that an invariant names exists', () => {
  assert.ok(rows.length >= 16);
  for (const [, name, , tests = ''] of rows) {
    const named = [...tests.matchAll(/`([^`]+)` ([^;]+)/g)];
    assert.ok(named.length > 0, name);
    for (const [, file = '', title = ''] of named) {
      assert.ok(read(file).includes(title.trim()), `${name}: ${file} has no test "${title.trim()}"`);
    }
  }
});

test('the invariants marked * are those that the property test checks', () => {
  const checked = ['job-invariants', 'job-workload'].flatMap(
    (file) => read(`e2e/src/${file}.ts`).match(/\bI-\d+/g) ?? [],
  );
  const marked = rows.flatMap(([, name, star]) => (star ? [name] : []));
  assert.deepEqual([...new Set(checked)].toSorted(), marked.toSorted());
});
