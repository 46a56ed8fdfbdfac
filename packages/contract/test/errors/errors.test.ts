import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PlatformError,
  connectCode,
  errorCodeOf,
  errorInfoOf,
  errorSubjects,
  errorTable,
  httpStatusOf,
  isErrorCode,
  retryOf,
  sentence,
  type ErrorCode,
} from '@platform/contract/errors/errors';

const codes = Object.keys(errorTable).filter(isErrorCode);

test('every code stands under one subject, in capitals', () => {
  const listed = errorSubjects.flatMap(({ rows }) => Object.keys(rows));
  assert.deepEqual(listed, codes);
  assert.equal(new Set(listed).size, listed.length, 'a code stands under two subjects');
  for (const code of codes) assert.match(code, /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
});

test('every row says what happened and what to do, in whole sentences', () => {
  for (const code of codes) {
    const { message, remedy, rpc } = errorTable[code];
    // In brackets at the end: a whole sentence that is not always there.
    assert.match(message.replace(/\.\[ \{\w+\}\]$/, '.'), /^["A-Z{].*\.$|^["A-Z{].*\]\.$/, code);
    assert.match(remedy.replace(/\.\[ \{\w+\}\]$/, '.'), /^[A-Z`].*\.$/, code);
    assert.ok(rpc in connectCode, code);
    assert.doesNotMatch(sentence(message, {}), /[[\]]/, `${code}: brackets do not match`);
  }
});

test('the gRPC numbers are 1 to 16, each once', () => {
  assert.deepEqual(
    Object.values(connectCode),
    Array.from({ length: 16 }, (_, n) => n + 1),
  );
});

const sentences: [template: string, data: Record<string, string | number>, text: string][] = [
  ['There is no dataset[ {datasetId}].', { datasetId: 'd-1' }, 'There is no dataset d-1.'],
  ['There is no dataset[ {datasetId}].', {}, 'There is no dataset.'],
  ['Port {port} is in use.', { port: 8080 }, 'Port 8080 is in use.'],
  ['Port {port} is in use.', {}, 'Port ? is in use.'],
  ['Full[ of {a} and {b}].', { a: 1 }, 'Full.'],
  ['Label "{label}" has {count}.', { label: '{count}', count: 0 }, 'Label "{count}" has 0.'],
  ['It failed: {problem}.', { problem: 'No room. Delete x.' }, 'It failed: No room. Delete x.'],
  ['It failed[: {problem}].', { problem: 'No room.' }, 'It failed: No room.'],
  ['It failed[: {problem}].', { problem: '[x] {y}' }, 'It failed: [x] {y}.'],
];
for (const [template, data, text] of sentences)
  test(`${template} with ${JSON.stringify(data)}`, () => assert.equal(sentence(template, data), text));

test('an error has its code first, then what happened and the remedy; the cause stays behind', () => {
  const cause = new Error('socket closed');
  const error = new PlatformError('PORT_IN_USE', { port: 80 }, cause);
  assert.equal(
    error.message,
    'PORT_IN_USE: Another program uses port 80. Stop that program, or choose another port with --port (0: any free port).',
  );
  assert.equal(error.cause, cause);
  assert.deepEqual(errorInfoOf(error), {
    reason: 'PORT_IN_USE',
    domain: 'platform',
    metadata: {
      port: '80',
      what: 'Another program uses port 80.',
      remedy: 'Stop that program, or choose another port with --port (0: any free port).',
    },
  });
});

const recognised: [name: string, error: unknown, code: ErrorCode | undefined][] = [
  ['one of ours', new PlatformError('DISK_FULL'), 'DISK_FULL'],
  ['one of ours from another copy of this module', { code: 'DISK_FULL' }, 'DISK_FULL'],
  [
    'an RPC error with our message',
    Object.assign(new Error('[not_found] PART_NOT_FOUND: …'), { rawMessage: 'PART_NOT_FOUND: There is no part.' }),
    'PART_NOT_FOUND',
  ],
  ['its text alone', new Error('[not_found] PART_NOT_FOUND: There is no part.'), 'PART_NOT_FOUND'],
  ['a code of the operating system', Object.assign(new Error('no space'), { code: 'ENOSPC' }), undefined],
  ['a name that an object has anyway', { code: 'toString' }, undefined],
  ['a code in the middle', new Error('failed with PART_NOT_FOUND: x'), undefined],
  ['nothing', undefined, undefined],
];
for (const [name, error, code] of recognised) test(`code of ${name}`, () => assert.equal(errorCodeOf(error), code));

test('retry and HTTP status come from the row', () => {
  assert.equal(retryOf(new PlatformError('OFFLINE')), 'later');
  assert.equal(retryOf(new Error('bug')), undefined);
  assert.deepEqual(
    [
      httpStatusOf('NOT_AUTHENTICATED'),
      httpStatusOf('PART_NOT_FOUND'),
      httpStatusOf('DATASET_NAME_TAKEN'),
      httpStatusOf('INTERNAL'),
    ],
    [401, 404, 409, 500],
  );
});
