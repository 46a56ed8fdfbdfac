import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '@platform/contract/config/config';
import { referenceProblems } from '@platform/contract/config/references';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { readConfigText } from './config-edit.ts';
import { examples, isEmptyConfig, parts } from './config-parts.ts';

const problemsOf = (text: string) => {
  const json = JSON.parse(text) as unknown;
  return [...checkConfig(json), ...referenceProblems(json, { knowledge: platformServerKnowledge, isCertain: true })]
    .filter(({ severity }) => severity === 'error')
    .map(({ path }) => path);
};

test('each example is a configuration that can be saved', () => {
  assert.equal(examples.length, 3);
  for (const { title, add } of examples) {
    const added = add(readConfigText('{}\n'));
    assert.ok(added, title);
    assert.deepEqual(problemsOf(added.text), [], title);
    assert.equal(isEmptyConfig(JSON.parse(added.text)), false);
  }
});

test('all parts are added one after the other, twice, with names of their own; only your own has a type to write', () => {
  let text = '{ "custom": 1.0 }';
  for (const part of [...parts, ...parts]) text = part.add(readConfigText(text))?.text ?? text;
  const { components, services } = JSON.parse(text) as Record<string, { name: string }[]>;
  assert.deepEqual(
    [...(components ?? []), ...(services ?? [])].map(({ name }) => name),
    [
      'camera-1',
      'sensor-1',
      'component-1',
      'camera-2',
      'sensor-2',
      'component-2',
      'model-1',
      'capture-1',
      'model-2',
      'capture-2',
    ],
  );
  assert.deepEqual([...new Set(problemsOf(text).map((path) => path.replace(/.*\./, '')))], ['type']);
  assert.match(text, /^\{ "custom": 1\.0, /);
});

test('what has no place is not added, and nothing is overwritten', () => {
  const config = readConfigText('{ "agent": {}, "components": {}, "services": 7 }');
  for (const part of parts) assert.equal(part.add(config), undefined, part.title);
});

test('an empty configuration', () => {
  const table: [text: string, isEmpty: boolean][] = [
    ['{}', true],
    ['{ "agent": {}, "components": [] }', true],
    ['{ "agent": { "x": 1 } }', false],
    ['{ "services": [{}] }', false],
    ['7', false],
  ];
  for (const [text, isEmpty] of table) assert.equal(isEmptyConfig(JSON.parse(text)), isEmpty, text);
});
