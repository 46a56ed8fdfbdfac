import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classesIn } from './classes.ts';
import { cyclesIn } from './cycles.ts';
import { type Counts, excess, lowered } from './limits.ts';

const limits: Counts = { a: { run: 100, open: 80 } };
const rows: [what: string, found: Counts, problems: string[], lowered: Counts][] = [
  ['the same', { a: { run: 100, open: 80 } }, [], { a: { run: 100, open: 80 } }],
  ['one is shorter', { a: { run: 70, open: 80 } }, [], { a: { run: 70, open: 80 } }],
  ['one grew', { a: { run: 101, open: 80 } }, ['a: run is 101, the limit is 100'], { a: { run: 100, open: 80 } }],
  ['one is gone', { a: { run: 100 } }, ['a: open needs no limit any more: run npm run ratchet'], { a: { run: 100 } }],
  [
    'one is new',
    { a: { run: 100, open: 80, close: 61 } },
    ['a: close is 61, the limit is none'],
    { a: { run: 100, open: 80 } },
  ],
  ['a unit is new', { ...limits, b: { run: 61 } }, ['b: run is 61, the limit is none'], limits],
  [
    'one was renamed',
    { a: { run: 100, start: 75 } },
    ['a: start is 75, the limit is none', 'a: open needs no limit any more: run npm run ratchet'],
    { a: { run: 100, start: 75 } },
  ],
  [
    'one was renamed and grew',
    { a: { run: 100, start: 81 } },
    ['a: start is 81, the limit is none', 'a: open needs no limit any more: run npm run ratchet'],
    { a: { run: 100 } },
  ],
  [
    'nothing is left',
    {},
    Object.keys(limits['a']!).map((n) => `a: ${n} needs no limit any more: run npm run ratchet`),
    {},
  ],
];
for (const [what, found, problems, next] of rows) {
  test(`limits: ${what}`, () => {
    assert.deepEqual(excess(limits, found), problems);
    assert.deepEqual(lowered(limits, found), next);
  });
}

const graphs: [edges: string, cycles: string[][]][] = [
  ['a>b b>c', []],
  ['a>b b>a', [['a', 'b']]],
  ['a>b b>c c>b c>d', [['b', 'c']]],
  [
    'a>b b>a c>d d>c a>c',
    [
      ['c', 'd'],
      ['a', 'b'],
    ],
  ],
  ['a>c b>c c>d d>b', [['b', 'c', 'd']]],
];
for (const [edges, cycles] of graphs) {
  test(`cycles of ${edges}`, () => {
    const graph = new Map<string, Set<string>>();
    for (const edge of edges.split(' ')) {
      const [from = '', to = ''] = edge.split('>');
      graph.set(from, (graph.get(from) ?? new Set()).add(to));
    }
    assert.deepEqual(cyclesIn(graph), cycles);
  });
}

const classes: [what: string, source: string, found: [name: string, lines: number][]][] = [
  ['one line for each member', 'export class A {\n  a = 1;\n  b = 2;\n}\n\nconst c = 3;\n', [['A', 4]]],
  ['blank lines do not count', 'class A {\n\n  a = 1;\n\n}\n', [['A', 3]]],
  [
    'a class in a class',
    'class A {\n  of() {\n    class B {\n      b = 1;\n    }\n  }\n}\n',
    [
      ['A', 7],
      ['B', 3],
    ],
  ],
  [
    'two of them',
    'abstract class A {\n}\nexport default class B {\n}\n',
    [
      ['A', 2],
      ['B', 2],
    ],
  ],
];
for (const [what, source, found] of classes) {
  test(`lines of a class: ${what}`, () =>
    assert.deepEqual(
      classesIn('x.ts', source).map(({ name, lines }) => [name, lines]),
      found,
    ));
}
