import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, parsePythons } from './environments.ts';
import { checkRequirements } from './requirements.ts';

const lists: [string, unknown][] = [
  ['', []],
  ['py:3.11=/usr/bin/python3', [{ key: 'py:3.11', python: '/usr/bin/python3' }]],
  ['/usr/bin/python3', [{ key: undefined, python: '/usr/bin/python3' }]],
  [
    ' tf:2.17=/opt/tf/bin/python , /usr/bin/python3,',
    [
      { key: 'tf:2.17', python: '/opt/tf/bin/python' },
      { key: undefined, python: '/usr/bin/python3' },
    ],
  ],
];
for (const [text, wanted] of lists) {
  test(`Pythons by name: "${text}"`, () => assert.deepEqual(parsePythons(text), wanted));
}
const wrong: [string, RegExp][] = [
  ['py:3.11=python3', /absolute path/],
  ['py 3=/usr/bin/python3', /cannot be the name of a container/],
  ['a=/x,a=/y', /named twice/],
];
for (const [text, message] of wrong) {
  test(`Pythons by name, refused: "${text}"`, () => assert.throws(() => parsePythons(text), message));
}

test('an environment: name from its version, end of life, framework, folders beside the system’s', () => {
  const answer = {
    version: '3.11.7',
    executable: '/srv/env/bin/python',
    folders: ['/opt/py/3.11', '/opt/py/3.11/lib', '/srv/env', '/usr', '/usr/local'],
    packages: { numpy: '2.0', torch: '2.5.1' },
  };
  const environment = describe(undefined, answer);
  assert.deepEqual(
    { ...environment, mounts: environment.mounts.map(({ from, to, mode }) => `${mode} ${from} ${to}`) },
    {
      key: 'py:3.11',
      python: '/srv/env/bin/python',
      version: '3.11.7',
      framework: 'pytorch',
      description: 'Python 3.11.7 with numpy 2.0, torch 2.5.1',
      endOfLife: Date.UTC(2027, 9, 31),
      mounts: ['ro /opt/py/3.11 /opt/py/3.11', 'ro /srv/env /srv/env'],
    },
  );
  assert.equal(describe('tf:2', { ...answer, version: '3.99.0' }).endOfLife, undefined);
});

const good = [
  'numpy',
  'numpy==2.0',
  'tensorflow>=2.11,<3',
  'a.b-c_d [x,y] ~=1.4',
  'pandas (>=1.0)',
  'x; python_version < "3.12"',
];
const bad = [
  'evil @ file:///job/src',
  'evil @ https://x/y.whl',
  '--index-url=http://x',
  '-r other.txt',
  '../wheel.whl',
  '/tmp/x.whl',
  'git+https://x/y',
  'a\n--pre',
  'x'.repeat(600),
];
const listed = (texts: readonly string[]): Parameters<typeof checkRequirements>[0] => ({
  missing: texts.map((text) => ({ text, installed: undefined, neededBy: undefined })),
  invalid: [],
});
test('requirements: names with versions pass', () => checkRequirements(listed(good)));
for (const one of bad) {
  test(`requirements, refused: ${JSON.stringify(one.slice(0, 40))}`, () =>
    assert.throws(() => checkRequirements(listed([one])), /SCRIPT_BUILD_FAILED.*is not the name of a package/));
}
test('requirements: too many', () => {
  assert.throws(
    () => checkRequirements(listed(Array.from({ length: 201 }, () => 'x'))),
    /201 packages; the limit is 200/,
  );
});
