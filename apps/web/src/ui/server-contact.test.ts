import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownState, lostSince } from './server-contact.ts';

const now = 1_000_000;
const table: [what: string, contact: Parameters<typeof lostSince>[0], lost: boolean][] = [
  ['nothing was loaded yet', { answered: 0, isFailing: true, waitingSince: 1 }, false],
  ['an answer, nothing waits', { answered: now - 60_000, isFailing: false, waitingSince: undefined }, false],
  ['a call failed since the last answer', { answered: now - 1_000, isFailing: true, waitingSince: undefined }, true],
  ['a call has waited for a moment', { answered: now - 60_000, isFailing: false, waitingSince: now - 9_000 }, false],
  ['a call waits in vain', { answered: now - 60_000, isFailing: false, waitingSince: now - 11_000 }, true],
  ['a slow call, others are answered', { answered: now - 500, isFailing: false, waitingSince: now - 30_000 }, false],
];
for (const [what, contact, isLost] of table)
  test(`contact with the server: ${what}`, () =>
    assert.equal(lostSince(contact, now), isLost ? contact.answered : undefined));

test('without contact no machine is shown as online', () => {
  const online = { tone: 'good', text: 'Online' } as const;
  assert.deepEqual(knownState(online, true), { tone: 'quiet', text: 'Was online' });
  assert.deepEqual(knownState(online, false), online);
});
