import { relu, upsample, dropout } from '../autodiff/operations.ts';
import { averagePool, concatChannels, meanOfPositions, windowEvidence } from '../autodiff/pooling.ts';
import type { Tape, Value } from '../autodiff/tape.ts';
import type { Layer, LayerOf } from './layers.ts';

export interface TrainingOptions {
  /** Weights and bias of a convolution, trained or frozen. */
  parametersOf(layer: LayerOf<'conv'>): readonly [weights: Value, bias: Value];
  /** Factor of each channel of each image, [N,C,1,1]; absent: dropout layers do nothing, as in inference. */
  dropoutMask?: Value;
}

/** Emits the layers whose inputs are in `values` with their gradients, NCHW, and adds their outputs to it. */
export function emitTraining(
  tape: Tape,
  layers: readonly Layer[],
  values: Map<number, Value>,
  options: TrainingOptions,
): void {
  const of = (value: number): Value => {
    const found = values.get(value);
    if (!found) throw new Error(`value ${value} is used before it is made`);
    return found;
  };
  for (const layer of layers) values.set(layer.output, emit(tape, layer, of, options));
}

function emit(
  tape: Tape,
  layer: Layer,
  of: (value: number) => Value,
  { parametersOf, dropoutMask }: TrainingOptions,
): Value {
  switch (layer.is) {
    case 'conv': {
      const { stride, depthwise, relu: activation } = layer;
      const y = tape.conv(of(layer.input), ...parametersOf(layer), { stride, depthwise });
      if (activation === 6) return tape.relu6(y);
      return activation ? relu(tape, y) : y;
    }
    case 'add':
      return tape.add(of(layer.inputs[0]), of(layer.inputs[1]));
    case 'relu':
      return relu(tape, of(layer.input));
    case 'dropout':
      return dropoutMask ? dropout(tape, of(layer.input), dropoutMask) : of(layer.input);
    case 'concat':
      return concatChannels(tape, layer.inputs.map(of));
    case 'average-pool':
      return averagePool(tape, of(layer.input), layer.size);
    case 'window-evidence':
      return windowEvidence(tape, of(layer.input), layer.sizes, layer.sharpness);
    case 'mean':
      return meanOfPositions(tape, of(layer.input));
    case 'scale': {
      if (layer.offset) throw new Error('the gradient of a scale with an offset is not implemented');
      return dropout(tape, of(layer.input), tape.frozen(Float32Array.of(layer.factor), [1]));
    }
    case 'upsample':
      if (layer.anchor !== 'center') throw new Error('the gradient of an upsampling by corners is not implemented');
      return upsample(tape, of(layer.input), layer.factor);
    default:
      throw new Error(`the gradient of a layer "${layer.is}" is not implemented`);
  }
}
