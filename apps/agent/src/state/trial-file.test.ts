import assert from 'node:assert/strict';
import { test } from 'node:test';
import { badLine, quarantineCode, readBadLines, unreached, wasOnlyUnreached, withBad, type Bad } from './trial-file.ts';

const one = '1.0.0-000000000001';
const two = '2.0.0-000000000002';
const since = 1_790_000_000;
const entry = (more: Partial<Bad> = {}): Bad => ({ id: one, clearance: 0, since, reason: 'it hangs', ...more });

/** What the gate script does: it removes the lines that begin with the id, and appends a line without a code. */
const addedByGate = (text: string, id: string, reason: string): string =>
  `${text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(`${id} `))
    .map((line) => `${line}\n`)
    .join('')}${id} 0 ${since} ${reason}\n`;

const sentence = `after 10 minutes: ${unreached}`;

test('the code of an entry survives the file', () => {
  const text = withBad(withBad('', entry({ code: 'CLOUD_UNREACHED', reason: 'any sentence' })), entry({ id: two }));
  assert.deepEqual(readBadLines(text), [
    entry({ code: 'CLOUD_UNREACHED', reason: 'any sentence' }),
    entry({ id: two }),
  ]);
});

const rows: [name: string, bad: Partial<Bad>, isReleased: boolean][] = [
  ['the code, whatever the sentence', { code: 'CLOUD_UNREACHED', reason: 'reworded' }, true],
  ['another code, whatever the sentence', { code: 'NOT_READY', reason: sentence }, false],
  ['no code', { reason: sentence }, false],
];
for (const [name, bad, isReleased] of rows) {
  test(`only failing to reach the server releases from quarantine: ${name}`, () => {
    const [read] = readBadLines(badLine(entry(bad)));
    assert.equal(read && wasOnlyUnreached(read), isReleased);
  });
}

test('a code of a newer agent is kept when the file is rewritten, and releases nothing', () => {
  const text = withBad(`${one} 0 ${since} ${sentence}\ncode ${one} NEWER_CODE\n`, entry({ id: two }));
  assert.match(text, new RegExp(`^code ${one} NEWER_CODE$`, 'm'));
  assert.equal(wasOnlyUnreached(readBadLines(text)[0]!), false);
});

test('the code of a replaced entry is not taken for that of its successor', () => {
  const before = badLine(entry({ code: 'CLOUD_UNREACHED', reason: sentence }));
  assert.deepEqual(readBadLines(addedByGate(before, one, 'it did not start')), [entry({ reason: 'it did not start' })]);
  assert.deepEqual(readBadLines(withBad(before, entry())), [entry()]);
});

test('a line that is damaged or of another version gives no code', () => {
  for (const line of [`code ${two} CLOUD_UNREACHED`, `code ${one}`, `code ${one} no code`, `code ${one} lower`])
    assert.deepEqual(readBadLines(`${badLine(entry())}${line}\n`), [entry()], line);
});

test('one failed check is the code of the trial; of several there is none', () => {
  assert.equal(quarantineCode([{ code: 'CLOUD_UNREACHED' }]), 'CLOUD_UNREACHED');
  assert.equal(quarantineCode([{ code: 'CLOUD_UNREACHED' }, { code: 'NOT_READY' }]), 'SEVERAL_CHECKS');
});
