/** The pretrained networks of a classifier, by recipe. */
import { PlatformError } from '@platform/contract/errors';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { sideBySide } from '@platform/trainer-engine/pretrained/side-by-side';
import { headOf } from './head.ts';
import type { OutputKind } from './head.ts';
import type { Recipe } from './recipe.ts';

/** `accurate`: two networks side by side, frozen. */
export type NetworkName = 'compact' | 'accurate';

export const readNetwork = (name: NetworkName): Backbone =>
  name === 'compact' ? readEfficientnet() : sideBySide(readEfficientnet(), readEfficientnet('Lite2'));

/** The network that a job trains first. */
export const firstNetwork = ({ recipe }: Pick<Recipe, 'recipe'>): NetworkName =>
  recipe === 'accurate' ? 'accurate' : 'compact';

/** Names, shapes and operators of a file, as a share of its weights. */
const overhead = 1.02;

/** Upper estimate of the size of a model file. */
export function estimateModelBytes(
  backbone: Backbone,
  output: OutputKind,
  geometry: { side: number; classes: number },
): number {
  const own = backbone.layers.flatMap((layer) =>
    layer.is === 'conv' ? [layer.weights.length + layer.bias.length] : [],
  );
  const { parameters } = headOf(backbone, output, geometry);
  const heads = parameters.map(({ shape }) => shape[0] * (shape[1] + 1));
  return Math.ceil([...own, ...heads].reduce((a, b) => a + b, 0) * 4 * overhead);
}

export const megabytesOf = (bytes: number): number => Math.ceil(bytes / 1e5) / 10;

/** @throws PlatformError INVALID_ARGUMENT if the files of the network are larger than the job allows. */
export function requireSmallEnough(bytes: number, { recipe, maxModelMegabytes }: Recipe): void {
  if (maxModelMegabytes === undefined || bytes <= maxModelMegabytes * 1e6) return;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'arguments.max_model_megabytes',
    value: String(maxModelMegabytes),
    limit: `the model files of the recipe ${recipe} have ${megabytesOf(bytes)} MB`,
  });
}
