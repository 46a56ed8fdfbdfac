import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  conditionOf,
  conditionSubjects,
  conditionTable,
  errorCondition,
  isConditionCode,
  isConditionError,
  severityOf,
  type ConditionCode,
  type ConditionData,
  type SeverityOf,
} from '@platform/contract/conditions/conditions';
import { bySeverity } from '@platform/contract/conditions/severity';
import { PlatformError, sentence } from '@platform/contract/errors/errors';

const codes = Object.keys(conditionTable).filter(isConditionCode);

test('every code stands under one subject, in capitals', () => {
  const listed = conditionSubjects.flatMap(({ rows }) => Object.keys(rows));
  assert.deepEqual(listed, codes);
  assert.equal(new Set(listed).size, listed.length, 'a code stands under two subjects');
  for (const code of codes) assert.match(code, /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
});

test('every row says what happened, why, what to do, and until when, in whole sentences', () => {
  for (const code of codes) {
    const { message, cause, remedy, ends } = conditionTable[code];
    assert.match(message.replace(/\.\[ \{\w+\}\]$/, '.'), /^["A-Z{].*\.$|^["A-Z{].*\]\.?$/, code);
    assert.match(cause, /^[`A-Za-z].*\.$/, code);
    assert.match(remedy.replace(/\.\[ \{\w+\}\]$/, '.'), /^[A-Z`{].*\.$/, code);
    assert.match(ends, /^It .*\.$/, code);
    assert.doesNotMatch(sentence(`${message} ${remedy}`, {}), /[[\]]/, `${code}: brackets do not match`);
  }
});

const filled: [name: string, condition: ReturnType<typeof conditionOf>, texts: string][] = [
  [
    'all data',
    conditionOf('SERVER_CRASHES', { failures: 3, exit: 'exit 1', line: 'no camera' }),
    'error: The machine server failed 3 times in a row; last: exit 1, after "no camera".',
  ],
  [
    'data that may be missing',
    conditionOf('SERVER_CRASHES', { failures: 3, exit: 'exit 1', line: undefined }),
    'error: The machine server failed 3 times in a row; last: exit 1.',
  ],
  [
    'a value that is a sentence',
    conditionOf('SERVER_CONFLICT', { conflict: 'Port 8080 is used by process 812.' }),
    'warning: Port 8080 is used by process 812.',
  ],
  [
    'another severity of the row',
    conditionOf('CERTIFICATE_ENDS', { day: '2027-01-01' }, 'error'),
    'error: The certificate of the server ends on 2027-01-01.',
  ],
];
for (const [name, { severity, message }, text] of filled)
  test(`a condition with ${name}`, () => assert.equal(`${severity}: ${message}`, text));

type Data = ConditionData<'SERVER_CRASHES'>;

test('the types know the codes, the placeholders of a row, and the severities that it allows', () => {
  // Each is a type: a wrong one does not compile.
  const facts: readonly true[] = [
    true satisfies 'NO_SUCH_CODE' extends ConditionCode ? false : true,
    true satisfies keyof Data extends 'failures' | 'exit' | 'line' ? true : false,
    true satisfies { failures: 3; exit: '' } extends Data ? true : false,
    true satisfies { failures: 3; line: '' } extends Data ? false : true,
    true satisfies 'note' extends SeverityOf<'CERTIFICATE_ENDS'> ? false : true,
    true satisfies SeverityOf<'SERVER_CRASHES'> extends 'error' ? true : false,
  ];
  assert.equal(facts.length, 6);
});

test('an error that is also a condition has the severity of its row and its own texts', () => {
  const error = new PlatformError('CLOUD_BUSY', { address: 'https://fleet.test', status: 429 });
  assert.ok(isConditionError(error));
  assert.deepEqual(errorCondition(error), {
    code: 'CLOUD_BUSY',
    severity: 'warning',
    message: 'The management server at https://fleet.test is busy (HTTP 429).',
    remedy: 'The agent retries when the server allows it; no action is needed.',
  });
  assert.ok(!isConditionError(new PlatformError('DATASET_NOT_FOUND')));
});

test('the most severe comes first; a code of another program is an error', () => {
  const list = [{ severity: 'note' }, { severity: 'error' }, { severity: 'warning' }] as const;
  assert.deepEqual(
    list.toSorted(bySeverity).map(({ severity }) => severity),
    ['error', 'warning', 'note'],
  );
  assert.deepEqual([severityOf('ELSEWHERE'), severityOf('METADATA_EXPIRED')], ['error', 'warning']);
});
