import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecipeName } from '@platform/contract/job/trainer-settings';
import { hasSecondNetwork, isFineTuned } from '@platform/trainer-engine/job-arguments';
import { addSecondNetwork, readDetector } from './feature-maps.ts';
import { estimateModelBytes } from './networks.ts';
import { recipeOf } from './recipe.ts';

test('recipes: what each trains', () => {
  const table: [RecipeName | undefined, RecipeName, boolean, boolean][] = [
    [undefined, 'compact', true, false],
    ['compact', 'compact', true, false],
    ['accurate', 'accurate', true, true],
    ['auto', 'auto', true, true],
    ['probe', 'probe', false, false],
  ];
  for (const [given, wanted, tuned, second] of table) {
    const { recipe } = recipeOf({ arguments: given === undefined ? {} : { recipe: given } });
    assert.deepEqual([recipe.recipe, isFineTuned(recipe), hasSecondNetwork(recipe)], [wanted, tuned, second]);
  }
});

test('the largest file is an argument of detectors, too', () => {
  assert.equal(recipeOf({ arguments: {} }).recipe.maxModelMegabytes, undefined);
  assert.equal(recipeOf({ arguments: { max_model_megabytes: '20' } }).recipe.maxModelMegabytes, 20);
});

test('the second network comes after the others, which keep their numbers; it makes the file larger', () => {
  const detector = readDetector();
  const second = addSecondNetwork(detector);
  assert.deepEqual(second.layers.slice(0, detector.layers.length), detector.layers);
  assert.ok(second.layers.every(({ output }, i) => output === i + 1));
  assert.deepEqual(second.taps, detector.taps);
  assert.deepEqual(
    second.cells.map(({ channels, stride }) => [channels, stride]),
    [
      [208, 32],
      [120, 16],
    ],
  );
  assert.match(second.name, /CenterNet.*Lite0.*Lite2/);
  assert.notEqual(second.sha256, detector.sha256);
  const shape = { side: 448, labels: 5, hidden: 64 };
  const [small, large] = [detector, second].map((one) => estimateModelBytes(one, shape) / 1e6);
  assert.ok(small && small > 17.5 && small < 18.5, `${small} MB`);
  assert.ok(large && large > 32 && large < 33.5, `${large} MB`);
});
