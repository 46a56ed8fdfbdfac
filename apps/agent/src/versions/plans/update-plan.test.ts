import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RestartDecision } from '../../state/may-restart.ts';
import { idOf, versionOf, type Release, type UpdateAttempt } from '../../state/state.ts';
import type { Bad, Trial } from '../../state/trial-file.ts';
import { nextAttempt, describeReason } from './next-update.ts';
import { shownUrl, shownVersion } from '../../state/version-names.ts';
import { plan, type Goal, type Have, type Step } from './update-plan.ts';

const hash = (letter: string) => letter.repeat(64);
const release = (version: string, letter = 'a', more: Partial<Release> = {}): Release => ({
  version,
  sha256: letter === '' ? '' : hash(letter),
  url: `https://r/${version}`,
  sizeBytes: 0,
  target: '',
  isUnsigned: false,
  deltas: [],
  desired: 'stable',
  ...more,
});
const goal = (of: Release | string | undefined, more: Partial<Goal> = {}): Goal => ({
  want:
    of === undefined
      ? undefined
      : typeof of === 'string'
        ? { is: 'installed', id: of }
        : { is: 'release', release: of },
  revision: 1,
  configSha256: '',
  pin: '',
  isUrgent: false,
  clearance: 0,
  isFresh: true,
  ...more,
});
const [a, b, c, own] = ['1.0.0', '1.1.0', '1.2.0', 'customURL'].map((version, i) =>
  idOf(version, hash('abcd'[i]!)),
) as [string, string, string, string];
const sized = (...ids: string[]) => ids.map((id) => ({ id, sizeBytes: 100 * 2 ** 20 }));
const have = (more: Partial<Have>): Have => ({
  versions: [],
  linked: null,
  running: null,
  previous: null,
  trial: undefined,
  quarantined: [],
  known: null,
  leftovers: [],
  isHeldBack: false,
  mayActivate: true,
  mayRestart: false,
  ...more,
});
const bad = (id: string, clearance = 0): Bad => ({ id, clearance, since: 1_767_225_600, reason: 'it hurts' });
const trial = (from: string, to: string): Trial => ({
  from,
  to,
  starts: 1,
  clearance: 0,
  since: 0,
  needs: 'local',
  boot: '',
  cuts: 0,
});
const b11 = release('1.1.0', 'b');

const rows: [name: string, goal: Goal, have: Have, steps: string][] = [
  ['nothing is wanted', goal(undefined), have({ versions: sized(a), linked: a }), ''],
  ['nothing is there', goal(release('1.0.0')), have({}), 'download 1.0.0'],
  ['it failed a moment ago', goal(release('1.0.0')), have({ isHeldBack: true }), ''],
  ['downloaded', goal(release('1.0.0')), have({ versions: sized(a) }), `activate ${a}`],
  ['in use', goal(release('1.0.0')), have({ versions: sized(a), linked: a, running: a, mayRestart: true }), ''],
  ['nothing is there, and it is disabled', goal(release('1.0.0'), { isDisabled: true }), have({}), ''],
  [
    'nothing is there, it is disabled, and an operator pinned it',
    goal(release('1.0.0'), { isDisabled: true, pin: '1.0.0' }),
    have({}),
    'download 1.0.0',
  ],
  [
    'it is disabled, and there',
    goal(b11, { isDisabled: true }),
    have({ versions: sized(a, b), linked: a }),
    `activate ${b}`,
  ],
  ['a newer one', goal(b11), have({ versions: sized(a), linked: a, running: a }), 'download 1.1.0'],
  ['it is there', goal(b11), have({ versions: sized(a, b), linked: a, running: a }), `activate ${b}`],
  ['not started from bin/', goal(b11), have({ versions: sized(a, b), linked: a, mayActivate: false }), ''],
  ['used at the next restart', goal(b11), have({ versions: sized(a, b), linked: b, running: a }), ''],
  [
    'a restart may be',
    goal(b11),
    have({ versions: sized(a, b), linked: b, running: a, mayRestart: true }),
    `restart ${a} ${b}`,
  ],
  [
    'back to a cached one',
    goal(release('1.0.0')),
    have({ versions: sized(a, b), linked: b, running: b }),
    `activate ${a}`,
  ],
  ['same version, other bytes', goal(release('1.0.0', 'd')), have({ versions: sized(a), linked: a }), 'download 1.0.0'],
  [
    'same bytes, other name',
    goal(release('customURL', 'a')),
    have({ versions: sized(a), linked: a, running: a, mayRestart: true }),
    '',
  ],
  ['quarantined and gone', goal(b11), have({ versions: sized(a), linked: a, quarantined: [bad(b)] }), ''],
  ['quarantined and there', goal(b11), have({ versions: sized(a, b), linked: a, quarantined: [bad(b)] }), ''],
  ['quarantined under another name', goal(release('customURL', 'b')), have({ linked: a, quarantined: [bad(b)] }), ''],
  [
    'cleared',
    goal(b11, { clearance: 1 }),
    have({ versions: sized(a, b), linked: a, quarantined: [bad(b)] }),
    `activate ${b}`,
  ],
  [
    'rolled back while it runs: restart, whatever it does',
    goal(b11),
    have({ versions: sized(a, b), linked: a, running: b, quarantined: [bad(b)] }),
    `restart ${b} ${a}`,
  ],
  [
    'an own build, never fetched',
    goal(release('customURL', '')),
    have({ versions: sized(a), linked: a }),
    'download customURL',
  ],
  [
    'an own build, unchanged',
    goal(release('customURL', '')),
    have({ versions: sized(a, own), linked: a, known: own }),
    `activate ${own}`,
  ],
  ['an own build in use', goal(release('customURL', '')), have({ versions: sized(own), linked: own, known: own }), ''],
  [
    'an own build whose file is gone',
    goal(release('customURL', '')),
    have({ versions: sized(a), linked: a, known: own }),
    'download customURL',
  ],
  [
    'an own build that was refused',
    goal(release('customURL', '')),
    have({ linked: a, known: own, quarantined: [bad(own)] }),
    '',
  ],
  ['pinned to one that is here', goal(b), have({ versions: sized(a, b), linked: a, running: a }), `activate ${b}`],
  ['pinned to one that is gone', goal(b), have({ versions: sized(a), linked: a, running: a }), ''],
  ['three are kept', goal(release('1.0.0')), have({ versions: sized(b, c, a), linked: a, running: a }), ''],
  [
    'the oldest of four goes',
    goal(release('1.0.0')),
    have({ versions: sized(own, b, c, a), linked: a, running: a }),
    `remove ${own}`,
  ],
  [
    'never the one that runs',
    goal(release('1.0.0')),
    have({ versions: sized(own, b, c, a), linked: a, running: own }),
    `remove ${b}`,
  ],
  [
    'never the previous one',
    goal(release('1.0.0')),
    have({ versions: sized(own, b, c, a), linked: a, previous: own }),
    `remove ${b}`,
  ],
  [
    'never the one before the trial',
    goal(release('1.0.0')),
    have({ versions: sized(own, b, c, a), linked: a, trial: trial(own, a) }),
    `remove ${b}`,
  ],
  [
    'what is left of downloads goes, once nothing is to be fetched',
    goal(release('1.0.0')),
    have({ versions: sized(a), linked: a, leftovers: ['agent-1.part'] }),
    'forget agent-1.part',
  ],
  ['and stays while something is', goal(b11), have({ leftovers: ['agent-1.part'], isHeldBack: true }), ''],
  [
    'made ready for the next start, and another one is desired: not that one then',
    goal(release('1.2.0', 'c')),
    have({ versions: sized(a, b), linked: b, running: a, trial: { ...trial(a, b), starts: 0 } }),
    `activate ${a}, download 1.2.0`,
  ],
  [
    'the same while the other one cannot be fetched',
    goal(release('1.2.0', 'c')),
    have({ versions: sized(a, b), linked: b, running: a, trial: { ...trial(a, b), starts: 0 }, isHeldBack: true }),
    `activate ${a}`,
  ],
  [
    'the same while the other one is quarantined; parts of downloads go',
    goal(release('1.2.0', 'c')),
    have({
      versions: sized(a, b),
      linked: b,
      running: a,
      trial: { ...trial(a, b), starts: 0 },
      quarantined: [bad(c)],
      leftovers: ['server-1.part'],
    }),
    `activate ${a}, forget server-1.part`,
  ],
  [
    'made ready, and nothing is desired any more',
    goal(undefined),
    have({ versions: sized(a, b), linked: b, running: a, trial: { ...trial(a, b), starts: 0 } }),
    `activate ${a}`,
  ],
  [
    'made ready, and the management server was not heard yet',
    goal(undefined, { isFresh: false }),
    have({ versions: sized(a, b), linked: b, running: a, trial: { ...trial(a, b), starts: 0 } }),
    '',
  ],
  [
    'started once already: its trial decides',
    goal(release('1.2.0', 'c')),
    have({ versions: sized(a, b), linked: b, running: b, trial: trial(a, b) }),
    'download 1.2.0',
  ],
  [
    'of large ones fewer are kept',
    goal(release('1.0.0')),
    have({ versions: [b, c, a].map((id) => ({ id, sizeBytes: 200 * 2 ** 20 })), linked: a, previous: c }),
    `remove ${b}`,
  ],
];
const wordOf = (s: Step): string => {
  if (s.do === 'download') return `download ${s.version}`;
  if (s.do === 'restart') return `restart ${s.from} ${s.to}`;
  return `${s.do} ${s.do === 'forget' ? s.part : s.id}`;
};
for (const [name, wanted, world, steps] of rows) {
  test(`plan: ${name}`, () => {
    const shown = plan(wanted, world).map((s) => wordOf(s));
    assert.equal(shown.join(', '), steps);
  });
}

test('whatever is there, following the plan ends with the wanted version in use and at most three kept', () => {
  for (let n = 0; n < 2 ** 6; n++) {
    const all = [a, b, c, own, idOf('x', hash('e'))];
    let world = have({ versions: sized(...all.filter((_, i) => n & (1 << i))), linked: n & 32 ? a : null });
    if (world.linked && !world.versions.some((v) => v.id === a)) continue;
    for (let turn = 0; turn < 10; turn++) {
      const [step] = plan(goal(b11), world);
      if (!step) break;
      if (step.do === 'download') world = { ...world, versions: [...world.versions, ...sized(b)] };
      if (step.do === 'activate') world = { ...world, linked: step.id };
      if (step.do === 'remove') world = { ...world, versions: world.versions.filter((v) => v.id !== step.id) };
    }
    assert.equal(world.linked, b);
    assert.ok(world.versions.length <= 3 && world.versions.some((v) => v.id === b));
  }
});

test('ids are folder names and give their version back', () => {
  assert.equal(idOf('1.0.0-dev.7', hash('e')), `1.0.0-dev.7-${'e'.repeat(12)}`);
  assert.equal(idOf('../../etc', hash('e')), `..-..-etc-${'e'.repeat(12)}`);
  assert.equal(idOf('', hash('e')), `unnamed-${'e'.repeat(12)}`);
  assert.equal(versionOf(idOf('1.0.0-dev.7', hash('e'))), '1.0.0-dev.7');
});

const attempt = (at: UpdateAttempt['at']): UpdateAttempt => ({
  id: b,
  version: '1.1.0',
  from: '1.0.0',
  at,
  code: '',
  reason: '',
  sinceWall: 1,
  downloadedBytes: 0,
  sizeBytes: 0,
  isByDelta: false,
});
const went: [name: string, before: UpdateAttempt['at'], have: Partial<Have>, after: string, desired?: string | null][] =
  [
    ['not started yet', 'staged', { linked: b, running: a, trial: trial(a, b) }, 'staged'],
    ['started', 'staged', { linked: b, running: b, trial: trial(a, b) }, 'trying'],
    ['proven', 'trying', { linked: b, running: b }, 'healthy'],
    ['the first there is', 'staged', { linked: b, running: b }, 'healthy'],
    ['rolled back', 'trying', { linked: a, running: a, quarantined: [bad(b)] }, 'reverted it hurts'],
    [
      'rolled back before this agent saw it start',
      'staged',
      { linked: a, running: a, quarantined: [bad(b)] },
      'reverted it hurts',
    ],
    ['another is desired by now', 'staged', { linked: c, running: c }, 'superseded', c],
    ['another is desired by now, and it was started already', 'trying', { linked: c, running: a }, 'superseded', c],
    ['another is desired by now, and it still runs', 'trying', { linked: c, running: b }, 'trying', c],
    ['another is desired by now, of which nothing is known', 'staged', { linked: a, running: a }, 'staged', null],
    ['it is desired and not linked yet', 'staged', { linked: a, running: a }, 'staged', b],
    ['proven, and stopped before anybody looked', 'trying', { linked: b, running: null }, 'healthy'],
    ['long over', 'healthy', { linked: c, running: c }, 'healthy'],
  ];
for (const [name, before, world, after, desired = b] of went) {
  test(`an update goes on: ${name}`, () => {
    const next = nextAttempt(attempt(before), have(world), 2, desired)!;
    assert.equal(`${next.at} ${next.reason}`.trim(), after);
  });
}

const urls = { [own]: 'https://builds.example/mine' };
const mine = release('customURL', '', {
  url: 'https://me:pw@builds.example/mine?token=t',
  desired: 'https://me:pw@builds.example/mine?token=t',
});
const disabled = { isDisabled: true };
const whys: [goal: Goal, have: Have, why: string, about?: { elsewhere?: string; wait?: RestartDecision }][] = [
  [goal(undefined), have({}), 'No version of platform-server is installed.'],
  [goal(undefined), have({ linked: a, running: a }), '1.0.0 is used. The management server names no version.'],
  [goal(b11), have({ linked: b, running: b, versions: sized(b) }), '1.1.0 (stable) is used, as asked for.'],
  [
    goal(b11),
    have({ linked: b, running: b, versions: sized(a, b), trial: trial(a, b) }),
    '1.1.0 (stable) is in use on trial since start 1; if it fails, 1.0.0 is back.',
  ],
  [
    goal(b11),
    have({ linked: b, running: a, versions: sized(a, b) }),
    '1.0.0 is used. 1.1.0 (stable) is installed and is used from the next restart on.',
  ],
  [
    goal(b11),
    have({ linked: a, running: a, versions: sized(a), quarantined: [bad(b)] }),
    '1.0.0 is used. 1.1.0 (stable) is wanted but quarantined on this machine since 2026-01-01 00:00 UTC: it hurts. Choose another version, or clear the quarantine.',
  ],
  [
    goal(a, { pin: '1.0.0' }),
    have({ linked: a, running: a, versions: sized(a) }),
    '1.0.0 (pinned on this machine) is used, as asked for.',
  ],
  [goal(b11), have({ linked: a, running: a }), '1.0.0 is used. 1.1.0 (stable) is to be downloaded.'],
  [
    goal(b11),
    have({ linked: a, running: null, versions: sized(a, b), mayActivate: false }),
    '1.0.0 is installed. 1.1.0 (stable) is downloaded but not used: this agent was not started from bin/platform-server.',
  ],
  [
    goal(b11),
    have({ linked: null, running: null, versions: [], mayActivate: false }),
    'No version of platform-server is installed. 1.1.0 (stable) is wanted, and not downloaded: this agent was not started from bin/platform-server.',
  ],
  [
    goal(b11),
    have({ mayActivate: false }),
    '9.9.9 runs and is not installed: it was not started from bin/platform-server, so it never replaces itself. 1.1.0 (stable) is wanted, and not downloaded.',
    { elsewhere: '9.9.9' },
  ],
  [
    goal(b11),
    have({ linked: b, running: a, versions: sized(a, b) }),
    '1.0.0 is used. 1.1.0 (stable) is installed and is used from the next restart on. It waits for the window Fri 02:00 UTC.',
    { wait: { is: 'denied', reason: 'it waits for the window Fri 02:00 UTC', untilWall: 1 } },
  ],
  [
    goal(b11),
    have({ linked: b, running: null, versions: sized(b) }),
    '1.1.0 (stable) is installed, as asked for, and does not run now.',
  ],
  [
    goal(b11, disabled),
    have({ linked: b, running: null, versions: sized(b) }),
    '1.1.0 (stable) is installed, as asked for, and does not run: disable_platform_server is true.',
  ],
  [
    goal(b11, disabled),
    have({}),
    'No version of platform-server is installed. 1.1.0 (stable) is wanted, and not downloaded while disable_platform_server is true.',
  ],
  [
    goal(mine),
    have({ linked: own, running: own, versions: sized(own), known: own }),
    'https://builds.example/mine (sha256 dddddddddddd) is used, as asked for.',
  ],
  [
    goal(mine),
    have({ linked: own, running: own, versions: sized(own) }),
    'https://builds.example/mine (sha256 dddddddddddd) is used. https://builds.example/mine?… is to be downloaded.',
  ],
];
for (const [wanted, world, why, about] of whys) {
  test(`why: ${why}`, () =>
    assert.equal(
      describeReason('platform-server', wanted, world, undefined, undefined, {
        urls,
        elsewhere: '',
        wait: undefined,
        ...about,
      }),
      why,
    ));
}

test('a build by URL is named by that URL and its hash, without what may be secret in it', () => {
  const id = idOf('customURL+1.2.3', hash('f'));
  assert.equal(shownVersion(own, urls), 'https://builds.example/mine (sha256 dddddddddddd)');
  assert.equal(shownVersion(id, {}), 'a build by URL (1.2.3, sha256 ffffffffffff)');
  assert.equal(shownVersion(a, urls), '1.0.0');
  assert.equal(shownUrl('https://me:pw@b.example:8443/x?sig=1#sha256=2'), 'https://b.example:8443/x?…');
  assert.equal(shownUrl('file:///opt/mine'), 'file:///opt/mine');
  assert.equal(shownUrl(`https://b.example/${'x'.repeat(500)}`).length, 300);
});
