import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { attacksOf, attackTable } from '../src/attack-table.ts';

const file = `import test from 'node:test';
test('bombs | floods', async (t) => {
  console.log('noise');
  await t.test('a bomb', () => {});
  await t.test('a flood', () => {});
});
test('by everybody # 2', (t) => {
  t.diagnostic('seed 7');
  t.diagnostic('{"requests":588}');
});
test('one that fails', () => {
  throw new Error('hit');
});
`;

test('the table of attacks has each attack with its result and what it tried', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('a.test.mjs'), file);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap', folder.file('a.test.mjs')];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  const attacks = attacksOf(stdout);
  assert.deepEqual(
    attacks.map(({ seconds, ...rest }) => ({ ...rest, isMeasured: seconds > 0 })),
    [
      { name: 'bombs | floods', isOk: true, kinds: 2, notes: [], isMeasured: true },
      { name: 'by everybody # 2', isOk: true, kinds: 0, notes: ['seed 7', '{"requests":588}'], isMeasured: true },
      { name: 'one that fails', isOk: false, kinds: 0, notes: [], isMeasured: true },
    ],
  );
  const table = attackTable(attacks, { day: '2030-01-31', commit: '0123abcd', machine: 'a machine' });
  assert.match(table, /^\| bombs \\\| floods \| withstood \| 2 \| 0 \| +\|$/m);
  assert.match(table, /^\| by everybody # 2 \| withstood \| +\| 0 \| seed 7<br>\{"requests":588\} \|$/m);
  assert.match(table, /^\| one that fails \| \*\*failed\*\* /m);
});
