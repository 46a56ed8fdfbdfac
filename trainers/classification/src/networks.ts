/** Size of the model files by the networks in them. */
import { modelBytesOf } from '@platform/trainer-engine/model-size';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { headOf } from './head.ts';
import type { OutputKind } from './head.ts';

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
  return modelBytesOf(counts.reduce((a, b) => a + b, 0));
}
