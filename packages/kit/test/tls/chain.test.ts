// Our own code verifies certificates while the clock of a machine is unproven: each row runs in both runtimes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { chainRows, madeRow, outcomeOf } from './chain-rows.ts';

for (const [name, row] of Object.entries(chainRows)) {
  test(`certificates: ${name}`, () => assert.equal(outcomeOf(madeRow(row)), row.is));
}

test('certificates: all rows in the runtime of the released programs', () => {
  const bun = path.resolve(
    import.meta.dirname,
    `../../../../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
  );
  const script = `import { outcomeOf } from ${JSON.stringify(path.join(import.meta.dirname, 'chain-rows.ts'))};
    import { text } from 'node:stream/consumers';
    console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map(outcomeOf)));`;
  const input = JSON.stringify(Object.values(chainRows).map(madeRow));
  const outcomes = JSON.parse(execFileSync(bun, ['-e', script], { encoding: 'utf8', input })) as unknown[];
  const names = Object.keys(chainRows);
  assert.deepEqual(
    names.map((name, i) => [name, outcomes[i]]),
    Object.entries(chainRows).map(([name, { is }]) => [name, is]),
  );
});
