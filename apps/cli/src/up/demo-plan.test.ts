import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployedConfig, firstConfig, nextVersion, predictionOf } from './demo-plan.ts';

const use = { organizationId: 'o', modelName: 'objects-10', version: '2' };

test('the model is added once, and what a user wrote stays', () => {
  const edited = { ...firstConfig('/images'), note: 'mine', services: [{ name: 'own', type: 'sensor' }] };
  const deployed = deployedConfig(edited, use);
  assert.ok(deployed);
  assert.equal(deployed['note'], 'mine');
  assert.deepEqual(
    (deployed['services'] as { name: string }[]).map((one) => one.name),
    ['own', 'classifier', 'watch'],
  );
  assert.deepEqual(deployed['components'], firstConfig('/images')['components']);
  assert.equal(deployedConfig(deployed, use), undefined);
});

test('another version replaces the one before', () => {
  const next = deployedConfig(deployedConfig(firstConfig('/p'), use) ?? {}, { ...use, version: '3' });
  assert.ok(next);
  assert.deepEqual(
    (next['packages'] as { version: string }[]).map((one) => one.version),
    ['3'],
  );
  assert.equal((next['services'] as unknown[]).length, 2);
});

const versions: readonly [string, readonly string[], string][] = [
  ['the first', [], '1'],
  ['one more than the largest', ['1', '10', '9'], '11'],
  ['names other than numbers do not count', ['2026-01-01T00-00-00', '1.2', '-4'], '1'],
];
for (const [name, used, next] of versions) test(`next version: ${name}`, () => assert.equal(nextVersion(used), next));

test('an answer without a prediction is refused with its text', () => {
  assert.deepEqual(predictionOf('bear', { label: 'bear', score: 0.9, version: '2' }), {
    expected: 'bear',
    label: 'bear',
    score: 0.9,
    version: '2',
  });
  assert.throws(() => predictionOf('bear', { error: 'no model' }), /no model/);
});
