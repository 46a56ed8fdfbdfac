import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attemptResult,
  candidates,
  inOrder,
  isOnline,
  isPrimary,
  primaryOf,
  roundOf,
  withSightings,
  type Choice,
  type JoinAnswer,
  type KnownNetwork,
  type Mode,
  type Observation,
  type Sightings,
} from '../../src/state-machines/network-rules.ts';
import { home, min, nothing, onWifi, sec, spare, wired } from './play.ts';

const network = (profile: string, priority: number, isHidden = false): KnownNetwork => ({
  profile,
  ssid: profile.toUpperCase(),
  priority,
  isHidden,
});

const online: [name: string, seen: Partial<Observation>, single: boolean, roaming: boolean][] = [
  ['nothing', {}, false, false],
  ['primary WiFi, internet', onWifi('home'), true, true],
  ['primary WiFi, no internet (rule 1)', onWifi('home', 'limited'), true, false],
  ['primary WiFi, captive portal', onWifi('home', 'portal'), true, false],
  ['primary WiFi, unknown', onWifi('home', 'unknown'), true, false],
  ['fallback WiFi, internet', onWifi('spare'), true, true],
  ['fallback WiFi, no internet', onWifi('spare', 'limited'), false, false],
  ['fallback WiFi, management server only', { ...onWifi('spare', 'limited'), isCloudReached: true }, true, true],
  ['cable, internet', wired, true, true],
  ['cable to a device, no internet', { hasOtherLink: true, connectivity: 'limited' }, false, false],
  ['cable, management server only', { hasOtherLink: true, connectivity: 'none', isCloudReached: true }, true, true],
  ['no link, but an old answer of the server', { isCloudReached: true }, false, false],
  ['no link, but an old check', { connectivity: 'full' }, false, false],
];
test('online by the rule of the mode', async (t) => {
  for (const [name, more, single, roaming] of online)
    await t.test(name, () => {
      const seen = { ...nothing, known: [spare, home], ...more };
      assert.deepEqual([isOnline(seen, 'single', null), isOnline(seen, 'roaming', null)], [single, roaming]);
    });
});

test('the primary network: highest priority, or entered last; a tie has several', () => {
  const known = [network('b', 5), network('a', 5), network('c', -999), network('d', 999, true)];
  assert.equal(primaryOf(known, null)?.profile, 'd');
  assert.equal(primaryOf(known, 'c')?.profile, 'c');
  assert.equal(primaryOf(known, 'gone')?.profile, 'd');
  assert.equal(primaryOf([], null), undefined);
  assert.equal(primaryOf([network('low', -999)], null)?.profile, 'low');
  const two = known.slice(0, 3);
  assert.deepEqual(
    ['a', 'b', 'c', 'x'].map((profile) => isPrimary(profile, two, null)),
    [true, true, false, false],
  );
  assert.deepEqual(
    ['a', 'b', 'c'].map((profile) => isPrimary(profile, two, 'c')),
    [false, false, true],
  );
  assert.equal(isPrimary('x', [], null), true);
  assert.equal(isPrimary('just entered', two, 'just entered'), true);
});

test('descending priority, ties in the same order whatever order the manager lists', () => {
  const known = [network('b', 5), network('a', 5), network('c', -999), network('d', 999)];
  const order = ['d', 'a', 'b', 'c'];
  assert.deepEqual(
    inOrder(known).map(({ profile }) => profile),
    order,
  );
  assert.deepEqual(
    inOrder(known.toReversed()).map(({ profile }) => profile),
    order,
  );
  const twins = [
    { ...network('z', 1), ssid: 'S' },
    { ...network('y', 1), ssid: 'S' },
  ];
  assert.deepEqual(
    inOrder(twins).map(({ profile }) => profile),
    ['y', 'z'],
  );
});

const yes = (
  connectivity: 'full' | 'limited' | 'portal' | 'unknown',
  isCloudReached = false,
  isIpv6Only = false,
): JoinAnswer => ({
  ok: true,
  connectivity,
  isCloudReached,
  isIpv6Only,
});
const results: [name: string, answer: JoinAnswer, mode: Mode, leads: boolean, expected: string][] = [
  ['failed', { ok: false, reason: 'wrong-password' }, 'single', true, 'wrong-password'],
  ['internet', yes('full'), 'roaming', false, 'ok'],
  ['management server', yes('limited', true), 'roaming', false, 'ok'],
  ['single, primary: joined is enough', yes('limited'), 'single', true, 'ok'],
  ['single, fallback: no internet', yes('limited'), 'single', false, 'no-internet'],
  ['roaming, primary: no internet', yes('limited'), 'roaming', true, 'no-internet'],
  ['roaming, primary: not checked', yes('unknown'), 'roaming', true, 'unchecked'],
  ['roaming: captive portal', yes('portal'), 'roaming', true, 'portal'],
  ['roaming: IPv6 only, no internet', yes('limited', false, true), 'roaming', true, 'ipv6-only'],
  ['roaming: IPv6 only, internet', yes('full', false, true), 'roaming', true, 'ok'],
  ['roaming: IPv6 only, captive portal', yes('portal', false, true), 'roaming', true, 'portal'],
];
test('the result of a join', async (t) => {
  for (const [name, answer, mode, leads, expected] of results)
    await t.test(name, () => assert.equal(attemptResult(answer, mode, leads), expected));
});

const [a, b, c, hidden] = [network('a', 9), network('b', 5), network('c', 1), network('h', 7, true)];
const all = [c, hidden, a, b];
const at = (first: number, last = first) => ({ first, last });
const now = 100 * min;
const seenNow: Sightings = { A: at(now), B: at(now), C: at(now) };
type ChoiceRow = [name: string, more: Partial<Choice>, normal: string, provisioning: string];
const rows: ChoiceRow[] = [
  ['single: only the first in normal mode', {}, 'a', 'a h b c'],
  ['roaming: all', { mode: 'roaming' }, 'a h b c', 'a h b c'],
  ['single: no other one while the first is not visible', { sightings: { B: at(now) } }, '', 'h b'],
  ['single: the hidden one leads', { known: [hidden, b], sightings: {} }, 'h', 'h'],
  ['single: the one that was entered leads', { chosen: 'c' }, 'c', 'a h b c'],
  ['the connected one is left out', { mode: 'roaming', connected: 'h' }, 'a b c', 'a b c'],
  ['seen: a moment before 60 s', { known: [a], sightings: { A: at(0, now - 60 * sec + 1) } }, 'a', 'a'],
  ['seen: 60 s ago', { known: [a], sightings: { A: at(0, now - 60 * sec) } }, '', ''],
  [
    'tried: a moment before the retry',
    { known: [a], sightings: { A: at(0, now) }, tried: { a: now - 10 * min + 1 } },
    '',
    '',
  ],
  ['tried: the retry', { known: [a], sightings: { A: at(0, now) }, tried: { a: now - 10 * min } }, 'a', 'a'],
  ['tried, then returned', { known: [a], sightings: { A: at(now - sec, now) }, tried: { a: now - 2 * sec } }, 'a', 'a'],
  ['tried in the moment of its return', { known: [a], sightings: { A: at(now) }, tried: { a: now } }, '', ''],
  ['hidden, tried: a moment before the retry', { known: [hidden], tried: { h: now - 10 * min + 1 } }, '', ''],
  ['hidden, tried: the retry', { known: [hidden], tried: { h: now - 10 * min } }, 'h', 'h'],
  ['nothing known', { known: [] }, '', ''],
];
const choice: Choice = {
  known: all,
  sightings: seenNow,
  tried: {},
  mode: 'single',
  chosen: null,
  connected: null,
  retryMs: 10 * min,
  unseenMs: 60 * sec,
};
test('candidates', async (t) => {
  for (const [name, more, normal, provisioning] of rows)
    await t.test(name, () => {
      const given = { ...choice, ...more };
      assert.equal(candidates(given, 'normal', now).join(' '), normal);
      assert.equal(candidates(given, 'provisioning', now).join(' '), provisioning);
    });
});

test('a round: each known network once, those visible after a scan; what was just tried as well', () => {
  const given = { ...choice, sightings: { B: at(now) }, tried: { b: now } };
  assert.equal(roundOf(given, true, now).join(' '), 'h b');
  assert.equal(roundOf(given, false, now).join(' '), 'a h b c');
  assert.equal(roundOf({ ...given, connected: 'a' }, false, now).join(' '), 'h b c');
});

test('sightings: a gap of 60 s starts again, an old result changes nothing, foreign networks are not kept', () => {
  const seen = (ssid: string, when: number): Observation => ({
    ...nothing,
    known: [a],
    visible: [{ ssid, seen: when }],
  });
  const first = withSightings({}, seen('A', 10), 60 * sec);
  assert.deepEqual(first, { A: at(10) });
  assert.deepEqual(withSightings(first, seen('A', 10 + 60 * sec - 1), 60 * sec), { A: at(10, 10 + 60 * sec - 1) });
  assert.deepEqual(withSightings(first, seen('A', 10 + 60 * sec), 60 * sec), { A: at(10 + 60 * sec) });
  assert.deepEqual(withSightings(first, seen('A', 5), 60 * sec), first);
  assert.deepEqual(withSightings(first, seen('Other', 20), 60 * sec), first);
  assert.deepEqual(withSightings(first, { ...seen('A', 20), known: [b] }, 60 * sec), {});
});
