// The language of queries for machines: what a text means, and how a wrong word is reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '../../src/errors/errors.ts';
import { isFieldName, queryFields, versionNumbers } from '../../src/machine/fields.ts';
import { requireQuery } from '../../src/machine/filter.ts';
import { exampleOf, parseMachineQuery, type QueryTerm } from '../../src/machine/query.ts';

/** "not" before negated terms; a text in quotation marks, or the comparison. */
const shown = (term: QueryTerm): string =>
  (term.isNegated ? 'not ' : '') +
  ('text' in term
    ? JSON.stringify(term.text)
    : `${term.comparison.field} ${term.comparison.operator} ${String(term.comparison.value)}`);

const meanings: readonly (readonly [query: string, ...terms: string[]])[] = [
  [''],
  [' \t , '],
  ['barn', '"barn"'],
  ['Barn 4', '"Barn"', '"4"'],
  ['"Barn 4"', '"Barn 4"'],
  ['“Barn 4”', '"Barn 4"'],
  ['"a \\" b"', '"a \\" b"'],
  ['"state:offline"', '"state:offline"'],
  ['-barn', 'not "barn"'],
  ['barn-0388', '"barn-0388"'],
  ['-', '"-"'],
  ['10:30', '"10:30"'],
  ['münchen 農場', '"münchen"', '"農場"'],
  ['state:offline', 'state = offline'],
  ['State:Offline', 'state = offline'],
  ['state!=online', 'state != online'],
  ['server<1.2', 'server < 1.2'],
  ['agent>=0.2.0-rc.1', 'agent >= 0.2.0-rc.1'],
  ['server:main-4f2a', 'server = main-4f2a'],
  ['condition:disk', 'condition ~ disk'],
  ['condition=DISK_FULL', 'condition = DISK_FULL'],
  ['disk_free<2GB', 'disk_free < 2000000000'],
  ['disk_free <= 1.5 GiB pump', 'disk_free <= 1610612736', '"pump"'],
  ['seen>7d', 'seen > 604800000'],
  ['seen<=30min', 'seen <= 1800000'],
  ['seen > 2 h', 'seen > 7200000'],
  ['location:"Hof Lindau"', 'location ~ Hof Lindau'],
  ['-location:"Hof Lindau" -state:online', 'not location ~ Hof Lindau', 'not state = online'],
  ['tag:Barn', 'tag = barn'],
  ['-tag:site/北 tag~ba', 'not tag = site/北', 'tag ~ ba'],
  ['reboot_needed', 'reboot_needed = true'],
  ['-reboot_needed', 'not reboot_needed = true'],
  ['reboot_needed:false', 'reboot_needed = false'],
  // What the filters of earlier versions were, also when separated by commas.
  [
    'architecture=aarch64, disk_free<2GB,reboot_needed',
    'architecture = aarch64',
    'disk_free < 2000000000',
    'reboot_needed = true',
  ],
  ['model~"Pi 4, Rev 1",name~a', 'model ~ Pi 4, Rev 1', 'name ~ a'],
  ['model!=a=b', 'model != a=b'],
  ['temperature>-5.5', 'temperature > -5.5'],
];
for (const [query, ...terms] of meanings)
  test(`a query: ${query}`, () => {
    const read = parseMachineQuery(query);
    assert.deepEqual(read.problem, undefined);
    assert.deepEqual(read.problem ? [] : read.terms.map(shown), terms);
  });

for (const [query, word, problem, instead] of [
  ['barn stat:offline', 'stat:offline', /no field "stat"/, /^state:offline, or "stat:offline" in quotation marks/],
  ['colour:x', 'colour:x', /no field "colour"/, /one of the fields state, seen/],
  ['tags:x', 'tags:x', /no field "tags"/, /^tag:barn, or/],
  ['tag:"a b"', 'tag:"a b"', /a tag of letters/, /^tag:barn$/],
  ['tag<b', 'tag<b', /tag can be compared by = != ~ only/, /^tag:barn$/],
  ['http://a', 'http://a', /no field "http"/, /"http:\/\/a" in quotation marks/],
  ['constructor:x', 'constructor:x', /no field "constructor"/, /one of/],
  ['a, state:of', 'state:of', /the value of state must be online, offline/, /^state:offline$/],
  ['-state:', '-state:', /after state: a value must follow/, /^state:offline$/],
  ['x seen:7d y', 'seen:7d', /seen can be compared by < <= > >= only/, /^seen>7d$/],
  ['seen>soon', 'seen>soon', /a time, for example/, /seen>7d/],
  ['server<main', 'server<main', /a version, for example 1\.4/, /server<1\.2/],
  ['disk_free<much', 'disk_free<much', /a size/, /disk_free<2GB/],
  ['temperature~7', 'temperature~7', /only/, /temperature>70/],
  ['kernel<6', 'kernel<6', /= != ~ only/, /kernel~6\.1/],
  ['a <2GB', 'a <2GB', /no field "a"/, /one of/],
  ['7 <2GB', '<2GB', /before < a field/, /disk_free<2GB/],
  ['location:"Hof', 'location:"Hof', /not closed/, /^"Hof"$/],
  ['a "b', '"b', /not closed/, /^"b"$/],
  ['""', '""', /no text/, /a part of a name/],
  ['"\0"', '"\0"', /no text/, /part/],
] as const)
  test(`a wrong word: ${query.replaceAll('\0', 'NUL')}`, () => {
    const found = parseMachineQuery(query).problem ?? assert.fail('it is valid');
    assert.equal(query.slice(found.start, found.end), word);
    assert.equal(found.word, word);
    assert.match(found.problem, problem);
    assert.match(found.instead, instead);
    assert.throws(
      () => requireQuery(query),
      (error) =>
        error instanceof PlatformError &&
        error.code === 'QUERY_NOT_VALID' &&
        error.message.includes(`character ${found.start + 1},`),
    );
  });

test('longer queries than the limits are refused', () => {
  assert.match(parseMachineQuery('x'.repeat(1_001)).problem?.problem ?? '', /more than 1000 characters/);
  assert.equal(parseMachineQuery('x'.repeat(1_000)).problem, undefined);
  assert.match(parseMachineQuery('x '.repeat(21)).problem?.problem ?? '', /more than 20 words/);
  assert.equal(parseMachineQuery('x '.repeat(20)).problem, undefined);
});

test('the example of each field is a valid query for it', () => {
  for (const field of Object.keys(queryFields)) {
    assert.ok(isFieldName(field));
    const read = parseMachineQuery(exampleOf(field).replace('…', 'x'));
    const [term = assert.fail()] = read.problem ? [] : read.terms;
    assert.equal('comparison' in term && term.comparison.field, field);
  }
});

test('any text is read, and the place of a problem lies in it', () => {
  const pieces = [
    '-',
    '"',
    '\\',
    ',',
    ' ',
    ':',
    '<',
    '=',
    '~',
    'state',
    'seen',
    '7d',
    '2',
    'GB',
    'ä',
    '\u{1f600}',
    '\0',
    '“',
  ];
  let seed = 1;
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
  for (let round = 0; round < 5_000; round += 1) {
    const query = Array.from({ length: next() % 9 }, () => pieces[next() % pieces.length]).join('');
    const { problem } = parseMachineQuery(query);
    if (problem) assert.ok(problem.start < problem.end && problem.end <= query.length, JSON.stringify(query));
  }
});

test('numbers of versions', () => {
  for (const [text, numbers] of [
    ['1', [1]],
    ['v1.4', [1, 4]],
    ['1.4.0', [1, 4, 0, 1]],
    ['1.4.0+build', [1, 4, 0, 1]],
    ['1.4.0-rc.1', [1, 4, 0, 0]],
    ['1.4-rc', undefined],
    ['main', undefined],
    ['1.4.0.1', undefined],
  ] as const)
    assert.deepEqual(versionNumbers(text), numbers, text);
});
