import assert from 'node:assert/strict';
import test from 'node:test';
import { errorTable, PlatformError } from '@platform/contract/errors/errors';
import { FakeClock } from '@platform/kit/testing';
import { networksOf } from '../wire/addresses.ts';
import { SetUpAttempts } from './set-up-attempts.ts';

/** 23 letters, as in codes. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ';
const codeOf = (n: number): string =>
  Array.from({ length: 8 }, (_, place) => letters[Math.floor(n / 23 ** place) % 23]).join('');

function limited() {
  const clock = new FakeClock();
  const attempts = new SetUpAttempts(clock);
  /** @returns seconds to wait, or undefined: admitted. */
  const guess = (code: string, address: string): number | undefined => {
    try {
      attempts.begin(code, networksOf(address));
      return undefined;
    } catch (error) {
      assert.ok(error instanceof PlatformError);
      assert.equal(error.code, 'SET_UP_CODES_LIMITED');
      return Number(error.data['retryAfterS']);
    }
  };
  return { clock, attempts, guess };
}

test('100,000 wrong codes from everywhere keep no right code from its turn', () => {
  const on = limited();
  let admitted = 0;
  for (let n = 0; n < 100_000; n++)
    admitted += Number(on.guess(codeOf(n), `203.0.${n % 256}.${Math.floor(n / 256) % 256}`) === undefined);
  assert.ok(admitted < 12_167 * 20 + 70, `${admitted} guesses`);
  assert.equal(on.guess('ZZZABCDE', '203.0.1.1'), undefined, 'a network that guessed');
  assert.equal(on.guess('ZZYABCDE', '198.51.100.1'), undefined, 'another network');
});

test('the codes with one start are guessed at most 80 times a day beyond the usual limits', async () => {
  const on = limited();
  let admitted = 0;
  for (let minute = 0; minute < 24 * 60; minute++) {
    for (let n = 0; n < 5; n++)
      admitted += Number(on.guess(`ABC${codeOf(minute * 5 + n).slice(3)}`, '203.0.113.7') === undefined);
    await on.clock.advance(60_000);
  }
  // 10 and one a minute of its network.
  assert.ok(admitted <= 80 + 10 + 24 * 60 + 2, `${admitted} guesses`);
});

test('after the time of the refusal an attempt is admitted, and not before', async () => {
  const on = limited();
  let waitS: number | undefined;
  while (waitS === undefined) waitS = on.guess('ABCDEFGH', '203.0.113.7');
  assert.equal(waitS, 60);
  await on.clock.advance((waitS - 2) * 1_000);
  assert.equal(on.guess('ABCDEFGH', '203.0.113.7'), 2);
  await on.clock.advance(2_000);
  assert.equal(on.guess('ABCDEFGH', '203.0.113.7'), undefined);
  assert.match(errorTable.SET_UP_CODES_LIMITED.remedy, /\{retryAfterS\}/);
});

test('the networks of a home count together, and a right code costs nothing', () => {
  const on = limited();
  const home = (n: number): string => `2001:db8:1:${(0x200 + n).toString(16)}::7`;
  for (let n = 0; n < 50; n++) on.attempts.begin('ABCDEFGH', networksOf(home(n))).payBack();
  let admitted = 0;
  for (let n = 0; n < 60; n++) admitted += Number(on.guess('ABCDEFGH', home(n)) === undefined);
  // 20 of the home, of which the last needs a whole token, and 20 of the start.
  assert.equal(admitted, 19 + 20);
});
