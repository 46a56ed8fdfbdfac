// The random walk without its machine: what each world promises, which steps follow, and what the checker makes of
// measurements.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { promisedSeconds } from './promise.ts';
import { candidates, nextStep, type StepKind } from './steps.ts';
import { commandsOf, rulesCommand } from './surroundings.ts';
import { countedSeconds, parseMeasurement, type Sample, type Outcome, outcomeOf } from './checker.ts';
import {
  describeStep,
  type Expectation,
  expectationOf,
  initialWorld,
  savedIn,
  type Step,
  type WalkWorld,
  worldAfter,
} from './world.ts';

const roaming = initialWorld('roaming');
const single = initialWorld('single');
const after = (world: WalkWorld, ...steps: Step[]): WalkWorld => steps.reduce(worldAfter, world);

const off = { do: 'power', place: 'home', isOn: false } as const;
const cafeOff = { do: 'power', place: 'cafe', isOn: false } as const;
const down = { do: 'provider', isDown: true } as const;
const cable = { do: 'cable', isIn: true } as const;
const upstream = (place: 'home' | 'cafe', is: 'blackhole' | 'no-dns' | 'captive' | 'reset') =>
  ({ do: 'upstream', place, upstream: is }) as const;

const promises: [what: string, world: WalkWorld, expected: Expectation][] = [
  ['everything works', roaming, 'online'],
  ['the higher network is off', after(roaming, off), 'online'],
  ['both are off', after(roaming, off, cafeOff), 'hotspot'],
  ['both are off, single mode', after(single, off, cafeOff), 'hotspot'],
  ['both are off, cable in', after(roaming, off, cafeOff, cable), 'online'],
  ['the provider is down', after(roaming, down), 'hotspot'],
  ['the provider is down, cable in', after(roaming, down, cable), 'hotspot'],
  ['the provider is down, single mode', after(single, down), 'connected'],
  ['the provider is down and the higher one off, single mode', after(single, down, off), 'hotspot'],
  ['upstream of the higher one dead', after(roaming, upstream('home', 'blackhole')), 'online'],
  ['upstream of both dead', after(roaming, upstream('home', 'captive'), upstream('cafe', 'reset')), 'hotspot'],
  ['upstream of the higher one dead, single mode', after(single, upstream('home', 'captive')), 'connected'],
  ['no DNS at the last one', after(roaming, off, upstream('cafe', 'no-dns')), 'either'],
  ['another password at both', after(roaming, other('home'), other('cafe')), 'hotspot'],
  ['DHCP silent at the only one', after(roaming, cafeOff, { do: 'dhcp', place: 'home', answers: false }), 'hotspot'],
  ['the higher one removed', after(roaming, { do: 'remove', place: 'home' }), 'online'],
  ['the higher one removed, the other off', after(roaming, { do: 'remove', place: 'home' }, cafeOff), 'hotspot'],
  ['the only working one removed: rolled back', after(roaming, cafeOff, { do: 'remove', place: 'home' }), 'online'],
];

function other(place: 'home' | 'cafe'): Step {
  return { do: 'password', place, isOther: true };
}

test('walk: what each world promises', () => {
  for (const [what, world, expected] of promises) assert.equal(expectationOf(world), expected, what);
});

test('walk: a removal that cuts the machine off stays in the world until it is added again', () => {
  const removed = after(roaming, cafeOff, { do: 'remove', place: 'home' });
  assert.deepEqual([removed.cutOff, savedIn(removed)], ['home', ['cafe']]);
  const step = nextStep({ random: () => 0, world: removed, uses: {}, mode: 'roaming', isLost: false });
  assert.deepEqual(step, { do: 'add', place: 'home' });
  assert.deepEqual(savedIn(worldAfter(removed, step)), ['home', 'cafe']);
});

test('walk: a walk of 20 steps has many kinds, keeps one network in the app, and is the same for the same seed', () => {
  const kinds = new Map<StepKind, number>();
  for (let seed = 1; seed <= 100; seed += 1) {
    const walked = walk(seed, 20);
    assert.deepEqual(walked, walk(seed, 20));
    const own = new Set(walked.map(({ step }) => step.do));
    assert.ok(own.size >= 8, `seed ${seed} has ${[...own].join(', ')}`);
    for (const kind of own) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const expected = new Set(walked.map(({ world }) => expectationOf(world)));
    assert.ok(expected.has('online') && expected.has('hotspot'), `seed ${seed} expects ${[...expected].join(', ')}`);
    for (const { world } of walked) assert.ok(savedIn(world).length > 0);
  }
  for (const kind of ['power', 'password', 'upstream', 'dhcp', 'provider', 'cable', 'remove', 'kill-manager', 'reboot'])
    assert.ok((kinds.get(kind as StepKind) ?? 0) > 50, `${kind} is rare`);
});

function walk(seed: number, length: number): { step: Step; world: WalkWorld }[] {
  const random = seededRandom(seed);
  let world = roaming;
  const uses: Partial<Record<StepKind, number>> = {};
  return Array.from({ length }, (_, index) => {
    const step = nextStep({ random, world, uses, mode: index < length / 2 ? 'roaming' : 'single', isLost: false });
    uses[step.do] = (uses[step.do] ?? 0) + 1;
    world = worldAfter(world, step);
    return { step, world };
  });
}

test('walk: after a miss everything is repaired, also what the app has', () => {
  const world = after(roaming, down, other('home'), { do: 'remove', place: 'cafe' });
  const step = nextStep({ random: () => 0.5, world, uses: {}, mode: 'roaming', isLost: true });
  assert.equal(step.do, 'repair');
  const repaired = worldAfter(world, step);
  assert.deepEqual([expectationOf(repaired), savedIn(repaired)], ['online', ['home', 'cafe']]);
});

test('walk: while the machine is offline, the app changes nothing', () => {
  const steps = candidates(after(roaming, down)).map(({ do: kind }) => kind);
  assert.ok(!steps.includes('remove') && !steps.includes('add'));
});

const sample = (seconds: number, more: Partial<Sample> = {}): Sample => ({
  seconds,
  isHotspotOnAir: false,
  station: null,
  contactSeconds: -20,
  ...more,
});
const air = { isHotspotOnAir: true };
const atHome = { station: 'home' } as const;

const outcomes: [what: string, expectation: Expectation, samples: Sample[], outcome: Outcome['is']][] = [
  ['nothing measured', 'online', [], 'open'],
  ['a contact since the step', 'online', [sample(10), sample(90, { contactSeconds: 125 })], 'met'],
  ['a contact that was under way', 'online', [sample(10, { contactSeconds: 3 })], 'open'],
  ['a contact over the link that the step cut', 'online', [sample(90, { contactSeconds: 80 })], 'open'],
  ['online, and the hotspot is still on', 'online', [sample(90, { contactSeconds: 125, ...air })], 'open'],
  ['never online', 'online', [sample(99), sample(101)], 'missed'],
  ['on its network, but no contact', 'online', [sample(99, atHome), sample(101, atHome)], 'missed'],
  ['the hotspot', 'hotspot', [sample(50), sample(60, air)], 'met'],
  ['no hotspot', 'hotspot', [sample(50), sample(101, atHome)], 'missed'],
  ['a contact although nothing works', 'hotspot', [sample(90, { contactSeconds: 125 })], 'contradiction'],
  ['on its network for a while', 'connected', [sample(5, atHome), sample(100, atHome)], 'open'],
  ['on its network for long', 'connected', [sample(5, atHome), sample(90, atHome), sample(160, atHome)], 'met'],
  ['on another network', 'connected', [sample(5, { station: 'cafe' }), sample(160, { station: 'cafe' })], 'missed'],
  ['the hotspot opens meanwhile', 'connected', [sample(5, atHome), sample(90, air), sample(160, air)], 'missed'],
  ['either: the hotspot', 'either', [sample(60, air)], 'met'],
  ['either: online', 'either', [sample(90, { contactSeconds: 125 })], 'met'],
  ['neither', 'either', [sample(101, atHome)], 'missed'],
];

test('walk: the checker', () => {
  for (const [what, expectation, samples, outcome] of outcomes)
    assert.equal(outcomeOf(samples, { expectation, world: roaming, limitSeconds: 100 }).is, outcome, what);
});

test('walk: an internet that died is missed within its time, a lost measurement is not', () => {
  const limit = promisedSeconds('hotspot', down, 2);
  assert.ok(limit > 300 && limit < 600, `${limit} s`);
  assert.equal(countedSeconds(400, false), 0);
  assert.equal(countedSeconds(400, true), 20);
  assert.equal(countedSeconds(4, true), 4);
});

const dump = `BSS 02:00:00:00:01:00(on wlan2)
\tSSID: HomeNet
BSS 02:00:00:00:00:00(on wlan2)
\tSSID: platform-setup-testdev

scanned 0
at home
Station 02:00:00:00:02:00 (on wlan1)
\tauthorized:\tyes
at cafe
Station 02:00:00:00:00:00 (on wlan3)
\tauthorized:\tyes
end of measurement
`;

test('walk: measurements are read, incomplete ones are not', () => {
  const device = { hotspot: 'platform-setup-testdev', address: '02:00:00:00:00:00' };
  const ssids = ['HomeNet', 'platform-setup-testdev'];
  assert.deepEqual(parseMeasurement(dump, device), { isHotspotOnAir: true, station: 'cafe', ssids });
  assert.equal(parseMeasurement(dump.replace('scanned 0', 'scanned 240'), device), undefined);
  assert.equal(parseMeasurement(dump.slice(0, -30), device), undefined);
  const unauthorized = dump.replaceAll('authorized:\tyes', 'authorized:\tno');
  assert.equal(parseMeasurement(unauthorized, device)?.station, null);
});

test('walk: an access point is started again only if it changed, and all of them after a boot', () => {
  const power = (commands: string[]): string[] => commands.filter((command) => command.startsWith('world ap'));
  assert.deepEqual(power(commandsOf(after(roaming, down), roaming)), []);
  assert.deepEqual(power(commandsOf(after(roaming, cafeOff), roaming)), ['world ap off x x cafe']);
  assert.deepEqual(power(commandsOf(after(roaming, other('home')), roaming)), [
    'world ap on HomeNet otherpass123 router',
  ]);
  assert.deepEqual(power(commandsOf(roaming, undefined)).length, 2);
  assert.match(rulesCommand(after(roaming, down)), /device "lan" priority 0;\s+ip daddr != .* drop/);
});

test('walk: steps are described', () => {
  assert.equal(describeStep(down), 'provider down, packets swallowed everywhere');
});
