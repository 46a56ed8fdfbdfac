import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestProblem } from './manifest-problem.ts';

const hash = 'a'.repeat(64);
const rowsOf = (name: string) => ({
  name,
  columns: ['id', 'part_id'],
  rows: 2,
  file: `${name}.copy.gz`,
  sizeBytes: 9,
  sha256: hash,
});
const text = JSON.stringify({
  version: '0.1.0',
  number: 1,
  createdOn: '2026-11-26T19:38:32.123Z',
  installationId: 'c9a64dfd-0ad8-4d5c-8bb7-1a3b64d3f1b6',
  database: {
    postgres: '18.4',
    diskBytes: 9_000_000,
    migrations: [{ name: '0001_baseline.sql', sha256: hash }],
    tables: [rowsOf('part'), rowsOf('part_log')],
    partitions: [
      { name: 'part_log_20261028', parent: 'part_log', bound: "FOR VALUES FROM ('2026-10-28') TO ('2026-10-29')" },
    ],
    sequences: [{ name: 'part_log_line_id', value: '7' }],
  },
  blobs: { file: 'blobs.txt', sha256: hash, count: 1, bytes: 7 },
  keys: { sha256: hash },
});

test('a manifest is one', () => assert.equal(manifestProblem(JSON.parse(text)), undefined));

type Row = Record<string, unknown>;
interface Loose {
  database?: { tables: Row[]; partitions: Row[]; sequences: Row[] };
  blobs: Row;
  keys: Row;
}
const table = (of: Loose, more: Row): void => void Object.assign(of.database?.tables[1] ?? {}, more);
const partition = (of: Loose, more: Row): void => void Object.assign(of.database?.partitions[0] ?? {}, more);
const sequence = (of: Loose, more: Row): void => void Object.assign(of.database?.sequences[0] ?? {}, more);
const day = "FOR VALUES FROM ('2026-10-28') TO ('2026-10-29')";

const rows: [what: string, change: (manifest: Loose) => void, problem: RegExp][] = [
  [
    'SQL behind a bound',
    (of) => partition(of, { bound: `${day}; create table pwned ()` }),
    /partitions\[0\]\.bound is .*pwned/,
  ],
  ['a function in a bound', (of) => partition(of, { bound: day.replace("'2026-10-28'", 'pg_sleep(9)') }), /\.bound is/],
  [
    'a partition with quotes',
    (of) => partition(of, { name: 'a" partition of b --' }),
    /^database\.partitions\[0\]\.name is/,
  ],
  [
    'a parent in another schema',
    (of) => partition(of, { parent: 'pg_catalog.pg_class' }),
    /partitions\[0\]\.parent is/,
  ],
  ['a file elsewhere', (of) => table(of, { file: '../../../../etc/shadow' }), /^database\.tables\[1\]\.file is/],
  [
    'a column with SQL',
    (of) => table(of, { columns: ['id', 'x) from program --'] }),
    /^database\.tables\[1\]\.columns is/,
  ],
  ['no columns', (of) => table(of, { columns: [] }), /^database\.tables\[1\]\.columns is \[\]/],
  ['a table without a hash', (of) => table(of, { sha256: undefined }), /tables\[1\]\.sha256 is missing/],
  [
    'a sequence with SQL',
    (of) => sequence(of, { value: '1); drop table part' }),
    /^database\.sequences\[0\]\.value is/,
  ],
  ['the folder above', ({ blobs }) => Object.assign(blobs, { file: '..' }), /^blobs\.file is "\.\."/],
  ['a hash that is an object', ({ keys }) => Object.assign(keys, { sha256: {} }), /^keys\.sha256 is \{\}/],
  ['no list of tables', (of) => Object.assign(of.database ?? {}, { tables: 'all' }), /^database\.tables is not a list/],
  ['no database', (of) => delete of.database, /^database\.\w+ is not a list/],
];
for (const [what, change, problem] of rows)
  test(`no manifest: ${what}`, () => {
    const manifest = JSON.parse(text) as Loose;
    change(manifest);
    assert.match(manifestProblem(manifest) ?? '', problem);
  });
test('no manifest: a text', () => assert.equal(manifestProblem('x'), 'it is not an object'));
