// Fragments: which ones a configuration uses, what they become, and how they merge with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeConfig } from '@platform/contract/config/merge';
import { placedProblem, readFragmentUses, resolveFragments } from '@platform/contract/config/fragments';

const id = (digit: number): string => `${digit}0000000-0000-4000-8000-00000000000${digit}`;
const [A, B] = [id(1), id(2)];

const merges: [name: string, layers: object[], merged: object][] = [
  ['nothing', [{}, {}], {}],
  ['a fragment alone', [{ debug: true }, {}], { debug: true }],
  [
    'objects merge by key',
    [{ agent: { a: { x: 1, y: 1 } } }, { agent: { a: { y: 2 }, b: 3 } }],
    { agent: { a: { x: 1, y: 2 }, b: 3 } },
  ],
  [
    '0, false, null and empty values win',
    [
      { a: 1, b: true, c: 'x', d: [1], e: 1 },
      { a: 0, b: false, c: '', d: [], e: null },
    ],
    { a: 0, b: false, c: '', d: [], e: null },
  ],
  [
    'a field by its two names is one field',
    [
      { agent: { version_control: { 'platform-server': '1.0.0' } } },
      { agent: { version_control: { 'viam-server': '2.0.0' } } },
    ],
    { agent: { version_control: { 'viam-server': '2.0.0' } } },
  ],
  ['the later of two fragments wins', [{ a: 1 }, { a: 2 }, {}], { a: 2 }],
  [
    'an object replaces another value, and what is below that',
    [{ a: { x: 1 } }, { a: 5 }, { a: { y: 2 } }],
    { a: { y: 2 } },
  ],
  ['another value replaces an object', [{ a: { x: 1 } }, { a: 5 }], { a: 5 }],
  [
    'resources merge by name, in the order of the first',
    [
      { components: [{ name: 'b', attributes: { fps: 5, path: '/b' } }, { name: 'a' }] },
      { components: [{ name: 'c' }, { name: 'b', attributes: { fps: 0 } }] },
    ],
    { components: [{ name: 'b', attributes: { fps: 0, path: '/b' } }, { name: 'a' }, { name: 'c' }] },
  ],
  [
    'processes merge by id',
    [{ processes: [{ id: 'p', name: 'x' }] }, { processes: [{ id: 'p', log: false }] }],
    { processes: [{ id: 'p', name: 'x', log: false }] },
  ],
  [
    'other lists are replaced',
    [{ agent: { additional_networks: [{ name: 'a' }] } }, { agent: { additional_networks: [{ name: 'b' }] } }],
    { agent: { additional_networks: [{ name: 'b' }] } },
  ],
  [
    'lists inside resources are replaced',
    [{ components: [{ name: 'a', depends_on: ['x'] }] }, { components: [{ name: 'a', depends_on: [] }] }],
    { components: [{ name: 'a', depends_on: [] }] },
  ],
  [
    'entries without a name stay',
    [{ components: [{ type: 'x' }, 3] }, { components: [{ type: 'y' }] }],
    { components: [{ type: 'x' }, 3, { type: 'y' }] },
  ],
  [
    'two of one name in one layer stay two',
    [
      { jobs: [{ name: 'j' }] },
      {
        jobs: [
          { name: 'j', a: 1 },
          { name: 'j', a: 2 },
        ],
      },
    ],
    {
      jobs: [
        { name: 'j', a: 1 },
        { name: 'j', a: 2 },
      ],
    },
  ],
  [
    'a key named __proto__ is a key',
    [JSON.parse('{"__proto__": {"x": 1}}') as object, JSON.parse('{"__proto__": {"y": 2}}') as object],
    JSON.parse('{"__proto__": {"x": 1, "y": 2}}') as object,
  ],
];

for (const [name, layers, merged] of merges)
  test(`merge: ${name}`, () => {
    const { config } = mergeConfig(layers as Record<string, unknown>[]);
    assert.equal(JSON.stringify(config), JSON.stringify(merged));
  });

const uses: [name: string, fragments: unknown, found: string[]][] = [
  ['none', undefined, []],
  ['an ID', [A], [`${A} newest`]],
  ['an object', [{ id: A.toUpperCase(), version: '3' }], [`${A} 3`]],
  ['a version as a number', [{ id: A, version: 3 }], [`${A} 3`]],
  ['latest', [{ id: A, version: 'latest' }], [`${A} newest`]],
  ['an object in place of a list', { id: A }, ['fragments']],
  ['no ID', [{ version: '1' }], ['fragments[0].id']],
  ['a text that is not an ID', ['yard'], ['fragments[0]']],
  ['a tag', [{ id: A, version: 'stable' }], ['fragments[0].version']],
  ['a prefix that is not a text', [{ id: A, prefix: 1 }], ['fragments[0].prefix']],
  ['variables in a list', [{ id: A, variables: [] }], ['fragments[0].variables']],
  ['too many', Array.from({ length: 51 }, () => A), ['fragments']],
];

for (const [name, fragments, found] of uses)
  test(`uses: ${name}`, () => {
    const read = readFragmentUses({ fragments });
    const answers = [
      ...read.uses.map((use) => `${use.id} ${use.version ?? 'newest'}`),
      ...read.problems.map(({ path }) => path),
    ];
    assert.deepEqual(answers, found);
  });

const camera = {
  components: [
    {
      name: 'cam',
      type: 'camera',
      model: 'folder',
      attributes: { path: { $variable: { name: 'dir', default_value: '/d' } } },
    },
  ],
  services: [{ name: 'look', type: 'vision', attributes: { camera: 'cam', fps: { $variable: { name: 'fps' } } } }],
};

type Case = {
  name: string;
  config: Record<string, unknown>;
  merged?: object;
  problems?: string[];
};

const resolves: Case[] = [
  {
    name: 'without fragments: unchanged',
    config: { components: [{ name: 'x' }] },
    merged: { components: [{ name: 'x' }] },
  },
  {
    name: 'variables: given and default',
    config: { fragments: [{ id: A, variables: { fps: 5 } }] },
    merged: {
      components: [{ name: 'cam', type: 'camera', model: 'folder', attributes: { path: '/d' } }],
      services: [{ name: 'look', type: 'vision', attributes: { camera: 'cam', fps: 5 } }],
    },
  },
  {
    name: 'a missing variable is an error with its path',
    config: { fragments: [{ id: A }] },
    problems: ['error fragments[0].variables.fps'],
  },
  {
    name: 'a variable that the fragment does not use',
    config: { fragments: [{ id: A, variables: { fps: 5, fsp: 1 } }] },
    problems: ['warning fragments[0].variables.fsp'],
  },
  {
    name: 'the same fragment twice, with prefixes: names and references differ',
    config: {
      fragments: [
        { id: A, prefix: 'left-', variables: { fps: 1 } },
        { id: A, prefix: 'right-', variables: { fps: 2, dir: '/r' } },
      ],
    },
    merged: {
      components: [
        { name: 'left-cam', type: 'camera', model: 'folder', attributes: { path: '/d' } },
        { name: 'right-cam', type: 'camera', model: 'folder', attributes: { path: '/r' } },
      ],
      services: [
        { name: 'left-look', type: 'vision', attributes: { camera: 'left-cam', fps: 1 } },
        { name: 'right-look', type: 'vision', attributes: { camera: 'right-cam', fps: 2 } },
      ],
    },
  },
  {
    name: 'the machine wins over the fragment',
    config: {
      fragments: [B],
      agent: { advanced_settings: { debug: false } },
    },
    merged: { agent: { advanced_settings: { debug: false, wait_for_update_check: true } } },
  },
  {
    name: 'a fragment that does not exist',
    config: { fragments: [id(9)] },
    problems: ['error fragments[0]'],
  },
  {
    name: 'a revision that does not exist',
    config: { fragments: [{ id: A, version: '7' }] },
    problems: ['error fragments[0]'],
  },
  {
    name: '$set and $unset change the fragment',
    config: {
      fragments: [{ id: A, variables: { fps: 5 } }],
      fragment_mods: [
        {
          fragment_id: A,
          mods: [
            { $set: { 'components.cam.attributes.path': '/m', 'services.look.attributes.min': 0.5 } },
            { $unset: { 'services.look.attributes.fps': '' } },
          ],
        },
      ],
    },
    merged: {
      components: [{ name: 'cam', type: 'camera', model: 'folder', attributes: { path: '/m' } }],
      services: [{ name: 'look', type: 'vision', attributes: { camera: 'cam', min: 0.5 } }],
    },
  },
  {
    name: 'changes that cannot be made',
    config: {
      fragments: [{ id: A, variables: { fps: 5 } }],
      fragment_mods: [
        {
          fragment_id: A,
          mods: [
            { $set: { 'components.nocam.x': 1 } },
            { $rename: { a: 'b' } },
            { $unset: { 'services.look.attributes.x': '' } },
          ],
        },
        { fragment_id: B, mods: [] },
        'x',
      ],
    },
    problems: [
      'error fragment_mods[0].mods[1]',
      'warning fragment_mods[1].fragment_id',
      'error fragment_mods[2]',
      'error fragment_mods[0].mods[0].$set.components.nocam.x',
      'error fragment_mods[0].mods[2].$unset.services.look.attributes.x',
    ],
  },
];

test('what grows without bounds is refused: variables in many places, many changes', () => {
  const many = { list: Array.from({ length: 5_000 }, () => ({ $variable: { name: 'x' } })) };
  const config = { fragments: [{ id: A, variables: { x: 'y'.repeat(100_000) } }] };
  const { problems, config: merged } = resolveFragments(config, () => ({ name: 'many', config: many }));
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['fragments[0].variables'],
  );
  assert.ok(JSON.stringify(merged).length < 2_000_000);
  const mods = Array.from({ length: 1_001 }, () => ({ $set: { debug: true } }));
  const changed = resolveFragments({ fragments: [B], fragment_mods: [{ fragment_id: B, mods }] }, contentOf);
  assert.deepEqual(
    changed.problems.map(({ path }) => path),
    ['fragment_mods'],
  );
});

const contentOf = (use: { id: string; version: number | undefined }) =>
  use.version !== undefined
    ? undefined
    : use.id === A
      ? { name: 'cameras', config: camera }
      : use.id === B
        ? { name: 'base', config: { agent: { advanced_settings: { debug: true, wait_for_update_check: true } } } }
        : undefined;

for (const { name, config, merged, problems = [] } of resolves)
  test(`resolve: ${name}`, () => {
    const resolved = resolveFragments(config, contentOf);
    assert.deepEqual(
      resolved.problems.map(({ severity, path }) => `${severity} ${path}`),
      problems,
    );
    if (merged) assert.equal(JSON.stringify(resolved.config), JSON.stringify(merged));
  });

test('the source of each value is known, with its path in the text where it stands', () => {
  const config = {
    fragments: [B, { id: A, variables: { fps: 5 } }],
    agent: { advanced_settings: { debug: false } },
    components: [{ name: 'own' }, { name: 'cam', attributes: { path: '/m' } }],
  };
  const { config: merged, sourceOf } = resolveFragments(config, contentOf);
  const placeOf = (path: string): string => {
    const { fragment, path: there } = sourceOf(path);
    return `${fragment?.name ?? 'machine'} ${there}`;
  };
  assert.deepEqual(
    (merged['components'] as { name: string }[]).map(({ name }) => name),
    ['cam', 'own'],
  );
  assert.deepEqual(
    [
      'agent.advanced_settings.debug',
      'agent.advanced_settings.wait_for_update_check',
      'components[0].type',
      'components[0].attributes.path',
      'components[1].name',
      'services[0].attributes.fps',
    ].map(placeOf),
    [
      'machine agent.advanced_settings.debug',
      'base agent.advanced_settings.wait_for_update_check',
      'cameras components[0].type',
      'machine components[1].attributes.path',
      'machine components[0].name',
      'cameras services[0].attributes.fps',
    ],
  );
  const placed = placedProblem(
    { path: 'components[0].type', message: 'is wrong.', remedy: 'Change it.', severity: 'error' },
    sourceOf,
  );
  assert.deepEqual(placed, {
    path: 'fragments[1].components[0].type',
    message: 'is wrong.',
    remedy: 'Change it. It stands in the fragment cameras.',
    severity: 'error',
  });
});
