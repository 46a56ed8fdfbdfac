/** Two pretrained networks as one: both see the same image, and the channels of their values are concatenated. */
import type { Layer } from '../network/layers.ts';
import type { Backbone } from './efficientnet.ts';

/** The same layer with its values renumbered; the image stays 0. */
export function shifted(layer: Layer, by: number): Layer {
  const of = (value: number): number => (value === 0 ? 0 : value + by);
  const output = of(layer.output);
  if (layer.is === 'concat') return { ...layer, inputs: layer.inputs.map(of), output };
  if ('inputs' in layer) return { ...layer, inputs: [of(layer.inputs[0]), of(layer.inputs[1])], output };
  return { ...layer, input: of(layer.input), output };
}

/** How both are named together. */
export const bothNames = (first: Backbone, second: Backbone): Pick<Backbone, 'name' | 'license' | 'sha256'> => ({
  name: `${first.name}, and ${second.name}`,
  license: first.license === second.license ? first.license : `${first.license} and ${second.license}`,
  sha256: `${first.sha256}, ${second.sha256}`,
});

/** Networks of the same strides. The layers of the first come first, so its convolutions keep their numbers. */
export function sideBySide(first: Backbone, second: Backbone): Backbone {
  const by = first.layers.length;
  const layers: Layer[] = [...first.layers, ...second.layers.map((layer) => shifted(layer, by))];
  const ends = layers.length;
  const joined = (a: number, b: number): number => {
    layers.push({ is: 'concat', inputs: [a, b + by], output: layers.length + 1 });
    return layers.length;
  };
  const [eight, sixteen, thirtyTwo] = ([8, 16, 32] as const).map((stride) =>
    joined(first.taps[stride], second.taps[stride]),
  );
  joined(by, ends - by);
  return {
    ...bothNames(first, second),
    layers,
    features: first.features + second.features,
    taps: { 8: eight ?? 0, 16: sixteen ?? 0, 32: thirtyTwo ?? 0 },
  };
}
