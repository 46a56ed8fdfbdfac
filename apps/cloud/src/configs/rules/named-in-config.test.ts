import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesIn, newNames, packageNamed, refusals } from './named-in-config.ts';

const config = {
  packages: [{ package: 'o/a' }, [{ package: 'o/b' }], 'x', { package: 1 }],
  modules: { module_id: 'o:c' },
  services: [{ attributes: { dataset_ids: ['D1', ['d2'], 3] } }, { service_configs: [{ dataset_ids: 'd3' }] }],
  dataset_ids: ['d4'],
  package: 'no entry',
};

test('each name is found with its path, in lists and outside them', () => {
  assert.deepEqual(
    namesIn(config).map(({ kind, name, path }) => `${kind} ${name} ${path}`),
    [
      'package o/a packages[0].package',
      'package o/b packages[1][0].package',
      'package o:c modules.module_id',
      'dataset d4 dataset_ids[0]',
      'dataset D1 services[0].attributes.dataset_ids[0]',
      'dataset d2 services[0].attributes.dataset_ids[1][0]',
      'dataset d3 services[1].service_configs[0].dataset_ids',
    ],
  );
  assert.deepEqual(namesIn({ packages: null, modules: 'x' }), []);
});

test('new is what the revision before does not name anywhere', () => {
  const names = (next: object) => newNames(namesIn({ ...next }), namesIn(config)).map(({ name }) => name);
  assert.deepEqual(names({ modules: [{ module_id: 'o/a' }], dataset_ids: ['d1', 'D4'] }), []);
  assert.deepEqual(names({ packages: [{ package: 'O/a' }, { package: 'd1' }], dataset_ids: ['o/a'] }), [
    'O/a',
    'd1',
    'o/a',
  ]);
});

test('deep and wide configurations are read whole', () => {
  const depth = 50_000;
  let deep: unknown = { dataset_ids: ['d'] };
  for (let n = 0; n < depth; n++) deep = [deep];
  assert.deepEqual(
    namesIn({ deep }).map(({ name }) => name),
    ['d'],
  );
  const wide = Array.from({ length: depth }, (_, n) => ({ package: `o/p${n}` }));
  assert.equal(namesIn({ packages: wide }).length, depth);
  assert.equal(refusals(namesIn({ packages: wide })).length, 500, 'an answer has a limit');
});

test('every form of a name, and texts that name no package', () => {
  for (const [text, owner, name] of [
    ['o/a', 'o', 'a'],
    ['o:a', 'o', 'a'],
    ['a', 'own', 'a'],
  ] as const)
    assert.deepEqual(packageNamed(text, 'own'), { owner, name });
  for (const text of ['', '/a', ':a', 'o/', 'o/a/b', 'o/a:b', 'o/a\0', 'o /a', 'a\n'])
    assert.equal(packageNamed(text, 'own'), undefined, JSON.stringify(text));
});
