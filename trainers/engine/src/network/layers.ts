/**
 * A network as a list of layers: the single description for the training graph, the ONNX file and the TensorFlow Lite
 * file. Values are numbered; 0 is the image, RGB 0..255 as float32. Shapes have no batch dimension; each format uses
 * its own layout.
 */

export type Dims4 = readonly [number, number, number, number];

export interface ConvLayer {
  is: 'conv';
  input: number;
  depthwise: boolean;
  stride: 1 | 2;
  /** 6: ReLU6. */
  relu: boolean | 6;
  /** [O,I,k,k]; depthwise [C,1,k,k]. SAME padding, the odd pixel at the end. */
  dims: Dims4;
  weights: Float32Array;
  bias: Float32Array;
}
export interface UpsampleLayer {
  is: 'upsample';
  input: number;
  factor: number;
  /** Bilinear; a pixel's position is its upper left corner or its centre. */
  anchor: 'corner' | 'center';
}
export type Layer = { output: number } & (
  | ConvLayer
  | UpsampleLayer
  | { is: 'add'; inputs: readonly [number, number] }
  /** The second operand may have one value per channel. */
  | { is: 'multiply'; inputs: readonly [number, number] }
  /** x · factor + offset. */
  | { is: 'scale'; input: number; factor: number; offset?: number }
  | { is: 'concat'; inputs: readonly number[] }
  /** Mean of each block of size × size positions; the size divides height and width. */
  | { is: 'average-pool'; input: number; size: number }
  /**
   * log mean exp(sharpness · mean of a window) / sharpness over all square windows of these sides, on a map of edge ×
   * edge positions. Height and width become 1. Near the mean for a sharpness of 0, near the highest for a large one.
   */
  | { is: 'window-evidence'; input: number; edge: number; sizes: readonly number[]; sharpness: number }
  /** Over height and width, which become 1. */
  | { is: 'mean'; input: number }
  /** The identity outside training. */
  | { is: 'dropout'; input: number }
  | { is: 'relu' | 'sigmoid' | 'hard-sigmoid' | 'hard-swish'; input: number }
);
export type LayerOf<K extends Layer['is']> = Extract<Layer, { is: K }>;

export function inputsOf(layer: Layer): readonly number[] {
  return 'inputs' in layer ? layer.inputs : [layer.input];
}

/**
 * The layers that the values `wanted` depend on, in their order.
 *
 * @param done - values that exist already.
 */
export function needed(
  layers: readonly Layer[],
  wanted: readonly number[],
  done: ReadonlyMap<number, unknown> = new Map(),
): Layer[] {
  const values = new Set(wanted);
  const kept: Layer[] = [];
  for (const layer of layers.toReversed()) {
    if (!values.has(layer.output) || done.has(layer.output)) continue;
    kept.push(layer);
    for (const input of inputsOf(layer)) values.add(input);
  }
  return kept.toReversed();
}

/** The windows of a layer by their size. `share`: of all windows. */
export function windowsOf({ edge, sizes }: LayerOf<'window-evidence'>): { size: number; share: number }[] {
  if (sizes.length === 0 || sizes.some((size) => size > edge)) {
    throw new Error(`windows of ${sizes.join(', ')} positions on a map of ${edge}`);
  }
  const total = sizes.reduce((sum, size) => sum + (edge - size + 1) ** 2, 0);
  return sizes.map((size) => ({ size, share: (edge - size + 1) ** 2 / total }));
}

export interface Size {
  channels: number;
  height: number;
  width: number;
}
/** Sizes of all values for an image of the given size. */
export function sizesOf(layers: readonly Layer[], image: Size): Map<number, Size> {
  const sizes = new Map([[0, image]]);
  const of = (value: number): Size => {
    const found = sizes.get(value);
    if (!found) throw new Error(`value ${value} is used before it is made`);
    return found;
  };
  for (const layer of layers) {
    const [first = 0] = inputsOf(layer);
    const from = of(first);
    sizes.set(layer.output, sizeAfter(layer, from, of));
  }
  return sizes;
}
function sizeAfter(layer: Layer, from: Size, of: (value: number) => Size): Size {
  switch (layer.is) {
    case 'conv': {
      const { stride, dims } = layer;
      return { channels: dims[0], height: Math.ceil(from.height / stride), width: Math.ceil(from.width / stride) };
    }
    case 'upsample':
      return { ...from, height: from.height * layer.factor, width: from.width * layer.factor };
    case 'concat':
      return { ...from, channels: layer.inputs.reduce((sum, one) => sum + of(one).channels, 0) };
    case 'average-pool':
      return { ...from, height: from.height / layer.size, width: from.width / layer.size };
    case 'mean':
    case 'window-evidence':
      return { ...from, height: 1, width: 1 };
    default:
      return from;
  }
}
