// docs/operations/retention.md says what the options do by default, and names all of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { cloudOptions } from '../src/options.ts';

const page = path.resolve(import.meta.dirname, '../../../docs/operations/retention.md');
const rows = [...readFileSync(page, 'utf8').matchAll(/^\| [^|]+ \| (\d+)[^|]* \| `--([a-z-]+)` \|$/gm)];
const documented = Object.fromEntries(rows.map(([, value, option = '']) => [option, Number(value)]));

test('the page on retention has each option with its default', () => {
  const isRetention = (name: string): boolean => /^(?!backup).*(Days|Hours|MibPerMachine|Revisions)$/.test(name);
  const options = Object.entries(cloudOptions([], {})).filter(([name]) => isRetention(name));
  const flag = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  assert.deepEqual(documented, Object.fromEntries(options.map(([name, value]) => [flag(name), value])));
});
