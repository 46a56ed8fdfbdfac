/** Size of the model files by the networks in them. */
import { PlatformError } from '@platform/contract/errors';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { headOf } from './head.ts';
import type { OutputKind } from './head.ts';
import type { Recipe } from './recipe.ts';

/** Names, shapes and operators of a file, as a share of its weights. */
const overhead = 1.02;

/** Upper estimate of the size of a model file with these networks. */
export function estimateModelBytes(
  networks: readonly Backbone[],
  output: OutputKind,
  geometry: { side: number; classes: number },
): number {
  const counts = networks.flatMap((network) => {
    const { parameters } = headOf(network, output, geometry);
    return [
      ...network.layers.map((layer) => (layer.is === 'conv' ? layer.weights.length + layer.bias.length : 0)),
      ...parameters.map(({ shape }) => shape[0] * (shape[1] + 1)),
    ];
  });
  return Math.ceil(counts.reduce((a, b) => a + b, 0) * 4 * overhead);
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
