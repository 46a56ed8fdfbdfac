import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindsFor } from './completion.ts';

const command = (value: string, ...names: string[]) =>
  [value, { value, arguments: new Map(names.map((name) => [name, {}])) }] as const;
const commands = new Map([
  command('train'),
  command('train submit'),
  command('train check'),
  command('train get', 'job'),
  command('dataset upload', 'dataset', 'folder'),
  command('logs', 'machine'),
]);

const table: readonly [string, string[]][] = [
  ['train get |', ['job']],
  ['train get parts|', ['job']],
  ['train submit --dataset |', ['dataset']],
  ['train submit --dataset=pa|', ['dataset']],
  ['train check --dataset |', ['dataset']],
  ['train submit --gpus |', []],
  ['train submit --dat|', []],
  ['dataset upload |', ['dataset']],
  ['logs |', ['machine']],
  ['train |', []],
  ['|', []],
];
for (const [line, kinds] of table)
  test(`names asked for at: ${line}`, () => {
    assert.deepEqual(kindsFor(commands, line.replace('|', '').split(' ')), kinds);
  });
