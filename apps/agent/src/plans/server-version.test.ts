import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idOf, versionOf, type Release } from '../state.ts';
import { plan, type Have } from './server-version.ts';

const hash = (letter: string) => letter.repeat(64);
const release = (version: string, sha256 = hash('a'), url = `http://r/${version}`): Release => ({
  version,
  sha256,
  url,
});
const a = `1.0.0-${'a'.repeat(12)}`;
const b = `1.1.0-${'b'.repeat(12)}`;
const own = `custom-${'c'.repeat(12)}`;
const have = (more: Partial<Have>): Have => ({
  versions: [],
  linked: null,
  running: null,
  known: null,
  mayRestart: false,
  ...more,
});

const rows: [name: string, want: Release | undefined, have: Have, steps: string][] = [
  ['nothing is wanted', undefined, have({ versions: [a], linked: a }), ''],
  ['nothing is there', release('1.0.0'), have({}), 'download 1.0.0'],
  ['downloaded', release('1.0.0'), have({ versions: [a] }), `link ${a}`],
  ['linked; the process machine starts it', release('1.0.0'), have({ versions: [a], linked: a }), ''],
  ['runs', release('1.0.0'), have({ versions: [a], linked: a, running: a, mayRestart: true }), ''],
  ['a newer one', release('1.1.0', hash('b')), have({ versions: [a], linked: a, running: a }), 'download 1.1.0'],
  [
    'the newer one is there',
    release('1.1.0', hash('b')),
    have({ versions: [a, b], linked: a, running: a }),
    `link ${b}`,
  ],
  ['used at the next restart', release('1.1.0', hash('b')), have({ versions: [a, b], linked: b, running: a }), ''],
  [
    'maintenance is allowed',
    release('1.1.0', hash('b')),
    have({ versions: [a, b], linked: b, running: a, mayRestart: true }),
    `restart ${a} ${b}`,
  ],
  ['back to a cached one', release('1.0.0'), have({ versions: [a, b], linked: b, running: b }), `link ${a}`],
  [
    'same version, other bytes',
    release('1.0.0', hash('d')),
    have({ versions: [a], linked: a, running: a }),
    'download 1.0.0',
  ],
  [
    'an own build, never fetched',
    release('custom', '', 'file:///x'),
    have({ versions: [a], linked: a }),
    'download custom',
  ],
  [
    'an own build, unchanged',
    release('custom', '', 'file:///x'),
    have({ versions: [a, own], linked: a, known: own }),
    `link ${own}`,
  ],
  ['an own build in use', release('custom', '', 'file:///x'), have({ versions: [own], linked: own, known: own }), ''],
  [
    'an own build whose file is gone',
    release('custom', '', 'file:///x'),
    have({ versions: [a], linked: a, known: own }),
    'download custom',
  ],
  ['three are kept', release('1.0.0'), have({ versions: [b, own, a], linked: a, running: a }), ''],
  [
    'the oldest of four goes',
    release('1.0.0'),
    have({ versions: ['x', b, own, a], linked: a, running: a }),
    'remove x',
  ],
  [
    'never the one that runs',
    release('1.0.0'),
    have({ versions: ['x', b, own, a], linked: a, running: 'x' }),
    `remove ${b}`,
  ],
];
for (const [name, want, world, steps] of rows) {
  test(`plan: ${name}`, () => {
    const shown = plan(want, world).map((s) =>
      [s.do, ...(s.do === 'download' ? [s.version] : s.do === 'restart' ? [s.from, s.to] : [s.id])].join(' '),
    );
    assert.equal(shown.join(', '), steps);
  });
}

test('whatever is there, following the plan ends with the wanted version linked and at most three kept', () => {
  for (let n = 0; n < 2 ** 6; n++) {
    const all = [a, b, own, 'x', 'y'];
    let world = have({ versions: all.filter((_, i) => n & (1 << i)), linked: n & 32 ? a : null });
    if (world.linked && !world.versions.includes(a)) continue;
    for (let turn = 0; turn < 10; turn++) {
      const [step] = plan(release('1.1.0', hash('b')), world);
      if (!step) break;
      if (step.do === 'download') world = { ...world, versions: [...world.versions, b] };
      if (step.do === 'link') world = { ...world, linked: step.id };
      if (step.do === 'remove') world = { ...world, versions: world.versions.filter((v) => v !== step.id) };
    }
    assert.equal(world.linked, b);
    assert.ok(world.versions.length <= 3 && world.versions.includes(b));
  }
});

test('ids are folder names and give their version back', () => {
  assert.equal(idOf('1.0.0-dev.7', hash('e')), `1.0.0-dev.7-${'e'.repeat(12)}`);
  assert.equal(idOf('../../etc', hash('e')), `..-..-etc-${'e'.repeat(12)}`);
  assert.equal(idOf('', hash('e')), `unnamed-${'e'.repeat(12)}`);
  assert.equal(versionOf(idOf('1.0.0-dev.7', hash('e'))), '1.0.0-dev.7');
});
