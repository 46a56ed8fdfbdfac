import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsOf } from '@platform/trainer-engine/flags';
import { resolveRecipe, parseRecipeArguments } from './recipe.ts';

const kind = 'single_label_classification';

test('a job names the recipe accurate and the size of its files', () => {
  const { requested } = parseRecipeArguments({
    kind: 'single_label_classification',
    arguments: { recipe: 'accurate', max_model_megabytes: '40' },
  });
  assert.deepEqual([requested.recipe, requested.maxModelMegabytes], ['accurate', 40]);
});

test('arguments of a job change the recipe; unknown ones are named', () => {
  const { requested, unknown } = parseRecipeArguments({
    kind,
    arguments: { epochs: '3', side: '96', recipe: 'probe', colour: 'red' },
  });
  assert.deepEqual([requested.epochs, requested.side, requested.recipe, unknown], [3, 96, 'probe', ['colour']]);
  assert.equal(parseRecipeArguments({ kind, arguments: { recipe: 'probe' }, recipe: 'auto' }).requested.recipe, 'auto');
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
      () => parseRecipeArguments({ kind, arguments: { [key]: value } }),
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

const hour = 3600;
const plans: [string, Record<string, string>, number, number, number, side: number, epochs: number][] = [
  ['a few large images', {}, 80, 1000, 4 * hour, 224, 20],
  ['images of 200 px are not enlarged', {}, 100, 200, 4 * hour, 160, 18],
  ['tiny images', {}, 100, 64, 4 * hour, 160, 18],
  ['hundreds', {}, 300, 1000, 4 * hour, 224, 12],
  ['two thousand: fewer pixels', {}, 2000, 1000, 4 * hour, 224, 12],
  ['ten thousand: fewer still', {}, 10_000, 1000, 4 * hour, 160, 6],
  ['a hundred thousand within four hours', {}, 100_000, 1000, 4 * hour, 160, 3],
  ['ten minutes in all', {}, 2000, 1000, 600, 160, 7],
  ['requested values are not changed', { side: '96', epochs: '50' }, 10_000, 1000, 600, 96, 50],
  ['only the side is requested', { side: '160' }, 100, 256, 4 * hour, 160, 18],
];
for (const [name, wanted, images, edge, limit, side, epochs] of plans) {
  test(`side and epochs: ${name}`, () => {
    const recipe = resolveRecipe(parseRecipeArguments({ kind, arguments: wanted }).requested, { images, edge }, limit);
    assert.deepEqual([recipe.side, recipe.epochs], [side, epochs]);
  });
}

test('several labels in an image: things are smaller in it, so it is looked at with more pixels', () => {
  const { requested } = parseRecipeArguments({ kind: 'multi_label_classification', arguments: {} });
  const { side, epochs } = resolveRecipe(requested, { images: 120, edge: 320 }, 4 * hour);
  assert.deepEqual([side, epochs], [288, 15]);
});
