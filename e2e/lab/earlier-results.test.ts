import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierResults, merged } from './earlier-results.ts';
import type { Result } from './results.ts';

const text = `# Machines

Written by a command. Measured on the hosts A: AMD EPYC, 2 cores, Node v24.21.0. B: Intel(R) Xeon(R), 4 cores.

Words.

| where | scenario | time | what happened | on | load | commit |
|---|---|---|---|---|---|---|
| vm | boot | 15.6 s | Debian, 6.1 | 2026-11-24, B | 1.5 | 80ed0a02 |
| container | restart | 2 s |  | 2026-11-22, A | 8 | 5b956287+ |
`;
const boot: Result = {
  scenario: 'boot',
  where: 'vm',
  seconds: 15.6,
  note: 'Debian, 6.1',
  on: '2026-11-24',
  load: 1.5,
  machine: 'Intel(R) Xeon(R), 4 cores',
  commit: '80ed0a02',
};
const restart: Result = {
  scenario: 'restart',
  where: 'container',
  seconds: 2,
  note: '',
  on: '2026-11-22',
  load: 8,
  machine: 'AMD EPYC, 2 cores, Node v24.21.0',
  commit: '5b956287+',
};

test('a document gives its results back, with the host of each', () => {
  assert.deepEqual(earlierResults(text), [boot, restart]);
});

test('columns are found by their names; a document of an earlier form lacks the commit', () => {
  const other = `Measured on the hosts A: one.

| scenario | where | time | what happened | on | load |
|---|---|---|---|---|---|
| boot | vm | 1 s | | 2026-11-22, C | 2 |
`;
  const result = { ...boot, seconds: 1, note: '', on: '2026-11-22', load: 2, machine: 'unknown host', commit: '' };
  assert.deepEqual(earlierResults(other), [result]);
});

test('what was measured again replaces its row, everything else stays', () => {
  const again = { ...boot, seconds: 9 };
  const added = { ...boot, where: 'container' };
  assert.deepEqual(merged([boot, restart], [again, added]), [again, restart, added]);
});
