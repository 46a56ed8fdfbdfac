import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrainerSetting, recipes, settingProblem } from '../../src/job/trainer-settings.ts';

const table = [
  ['recipe', ['auto', 'compact', 'accurate', 'probe'], ['', 'Auto', 'fast']],
  ['epochs', ['1', '200'], ['0', '201', '-1', '1.5', '1e2', ' 1', '99999999999']],
  ['max_model_megabytes', ['1', '14', '1000'], ['0', '1001', '1.5']],
  ['side', ['96', '160', '320'], ['95', '100', '352', '0', 'x']],
] as const;

for (const [key, good, bad] of table) {
  test(`setting ${key}`, () => {
    for (const value of good) assert.equal(settingProblem(key, value, 'single_label_classification'), undefined, value);
    for (const value of bad)
      assert.match(settingProblem(key, value, 'multi_label_classification') ?? '', /needed/, value);
  });
}

test('a detector may use larger images', () => {
  const side = (value: string): string | undefined => settingProblem('side', value, 'object_detection');
  assert.deepEqual([side('352'), side('512')], [undefined, undefined]);
  assert.equal(side('544'), 'pixels, a multiple of 32 from 96 to 512, are needed');
});

test('a detector has the recipes of classifiers, and its files may have a limit', () => {
  for (const recipe of recipes) assert.equal(settingProblem('recipe', recipe, 'object_detection'), undefined, recipe);
  assert.equal(settingProblem('max_model_megabytes', '20', 'object_detection'), undefined);
  assert.equal(settingProblem('recipe', 'fast', 'object_detection'), 'one of auto, compact, accurate, probe is needed');
});

test('only own names are settings', () => {
  assert.deepEqual(['epochs', 'toString', 'epoch'].map(isTrainerSetting), [true, false, false]);
});
