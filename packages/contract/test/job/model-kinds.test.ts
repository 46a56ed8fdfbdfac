import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ModelType } from '../../src/gen/platform/app/mltraining/v1/ml_training_pb.ts';
import { jobKinds } from '../../src/job/job.ts';
import {
  builtInKinds,
  isBuiltInKind,
  kindOfModelType,
  mainScoreKeys,
  modelFrameworks,
  modelKind,
  modelKinds,
  scoreName,
} from '../../src/job/model-kinds.ts';

const root = path.resolve(import.meta.dirname, '../../../..');

test('each type of the wire has its kind, by name and number', () => {
  const types = Object.entries(ModelType).filter(([, number]) => number !== ModelType.UNSPECIFIED);
  assert.deepEqual(
    builtInKinds.map((kind) => [kind.toUpperCase(), modelKinds[kind].modelType]),
    types,
  );
  for (const [name, number] of types) assert.equal(kindOfModelType(number)?.toUpperCase(), name);
  assert.deepEqual([kindOfModelType(ModelType.UNSPECIFIED), kindOfModelType(77)], [undefined, undefined]);
});

for (const kind of builtInKinds) {
  test(`${kind} is complete`, () => {
    const { title, shortTitle, minimum, side, outputs, trainer, score, frameworks } = modelKinds[kind];
    assert.ok(existsSync(path.join(root, 'trainers', trainer, 'src', 'main.ts')), trainer);
    assert.ok(title.toLowerCase().startsWith(shortTitle), 'a list shows the start of the title');
    assert.ok(Object.values(minimum).every((least) => least >= 1));
    assert.ok(side.min % side.multipleOf === 0 && side.max % side.multipleOf === 0 && side.min < side.max);
    assert.equal(new Set(outputs).size, outputs.length);
    assert.ok(frameworks.every((one) => modelFrameworks.includes(one)));
    assert.equal(scoreName(score.key), score.name);
    const evaluation = readFileSync(path.join(root, 'packages/contract/src/job/evaluation.ts'), 'utf8');
    assert.match(evaluation, new RegExp(`task: '${kind}'`));
    assert.match(evaluation, new RegExp(`\\b${score.key}: number`));
  });
}

test('titles, words and main scores tell the kinds apart', () => {
  for (const fact of ['title', 'shortTitle', 'question'] as const)
    assert.equal(new Set(builtInKinds.map((kind) => modelKinds[kind][fact])).size, builtInKinds.length, fact);
  assert.equal(mainScoreKeys.length, builtInKinds.length);
  assert.equal(scoreName('my_score'), 'my_score');
});

test('scripts of users and predictions are kinds of jobs without a row', () => {
  assert.deepEqual(jobKinds, [...builtInKinds, 'predict', 'custom']);
  assert.deepEqual(['custom', 'predict', 'toString', undefined].map(modelKind), Array(4).fill(undefined));
  assert.equal(isBuiltInKind('constructor'), false);
});
