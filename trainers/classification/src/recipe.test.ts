import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsOf } from '@platform/trainer-engine/flags';
import { recipeOf } from './recipe.ts';

const kind = 'single_label_classification';

test('arguments of a job change the recipe; unknown ones are named', () => {
  const { recipe, unknown } = recipeOf({
    kind,
    arguments: { epochs: '3', side: '96', recipe: 'probe', colour: 'red' },
  });
  assert.deepEqual([recipe.epochs, recipe.side, recipe.recipe, unknown], [3, 96, 'probe', ['colour']]);
  assert.equal(recipeOf({ kind, arguments: { recipe: 'probe' }, recipe: 'auto' }).recipe.recipe, 'auto');
});

const wrong: [string, string][] = [
  ['epochs', '0'],
  ['epochs', '201'],
  ['epochs', '2.5'],
  ['epochs', ''],
  ['side', '100'],
  ['side', '352'],
  ['side', '0x60'],
  ['recipe', 'magic'],
];
for (const [key, value] of wrong) {
  test(`refused with field and limit: ${key}=${value}`, () => {
    assert.throws(
      () => recipeOf({ kind, arguments: { [key]: value } }),
      (e: unknown) => {
        assert.ok(e instanceof Error);
        assert.match(e.message, new RegExp(`^INVALID_ARGUMENT: arguments\\.${key} is not valid.*needed`));
        return true;
      },
    );
  });
}

test('flags: all four paths are needed, arguments of the job are let through', () => {
  const argv = ['--dataset_file=a b', '--model_output_directory=o', '--job_file=j', '--events_file=e=1', '--epochs=3'];
  assert.deepEqual(flagsOf(argv), { datasetFile: 'a b', outFolder: 'o', jobFile: 'j', eventsFile: 'e=1' });
  assert.throws(() => flagsOf(argv.slice(1)), /--dataset_file is not valid; give it as --dataset_file=PATH/);
});
