/**
 * Gradients of convolutions, as nodes of a graph. Values are NCHW, weights [O,C,k,k], for depthwise convolutions
 * [C,1,k,k]. Nodes that depend only on the weights are created once and reused.
 */
import type { Graph } from '../onnx/graph.ts';

export type Shape4 = readonly [number, number, number, number];

/** y = x convolved with w. */
export interface Convolution {
  x: string;
  from: Shape4;
  w: string;
  kernel: Shape4;
  to: Shape4;
  /** Top, left, bottom, right. */
  pads: readonly [number, number, number, number];
  stride: 1 | 2;
  depthwise: boolean;
}

/** Maximum inputs per output for which a convolution gathers them (im2col): its work grows with their square. */
const maxColumns = 64;

export class ConvolutionGradients {
  readonly #graph: Graph;
  /** Shared nodes by key. */
  readonly #made = new Map<string, string>();
  constructor(graph: Graph) {
    this.#graph = graph;
  }

  #once(key: string, make: () => string): string {
    const made = this.#made.get(key) ?? make();
    this.#made.set(key, made);
    return made;
  }
  #reshape(x: string, shape: readonly number[]): string {
    return this.#graph.op('Reshape', [x, this.#graph.ints(shape)]);
  }
  #sum(x: string, axes: readonly number[]): string {
    return this.#graph.op('ReduceSum', [x, this.#graph.ints(axes)], { keepdims: 0 });
  }

  /**
   * [N,C,H,W] → [C,N·H·W]: sums over images and positions become row sums, and one matrix product computes them all.
   */
  #rows(x: string, [n, c, h, w]: Shape4): string {
    if (n === 1) return this.#reshape(x, [c, h * w]);
    const turned = this.#graph.op('Transpose', [this.#reshape(x, [n, c, h * w])], { perm: [1, 0, 2] });
    return this.#reshape(turned, [c, n * h * w]);
  }

  /** Gradients of bias and weights, as requested. */
  ofParameters(
    one: Convolution,
    dy: string,
    wanted: { bias: boolean; weights: boolean },
  ): { bias: string | undefined; weights: string | undefined } {
    if (one.depthwise) {
      return {
        bias: wanted.bias ? this.#sum(dy, [0, 2, 3]) : undefined,
        weights: wanted.weights ? this.#windows(one, (window) => this.#perChannel(one, window, dy)) : undefined,
      };
    }
    const rows = wanted.bias || wanted.weights ? this.#rows(dy, one.to) : '';
    return {
      bias: wanted.bias ? this.#sum(rows, [1]) : undefined,
      weights: wanted.weights ? this.#ofWeights(one, rows) : undefined,
    };
  }
  #perChannel({ from: [, c] }: Convolution, window: string, dy: string): string {
    return this.#reshape(this.#sum(this.#graph.op('Mul', [window, dy]), [0, 2, 3]), [c, 1, 1, 1]);
  }
  /** One product of dY and its inputs as columns (im2col); for wide kernels one per offset. */
  #ofWeights(one: Convolution, dyRows: string): string {
    const { x, from, kernel, to } = one;
    const [o, c, k] = kernel;
    const [n, , h, w] = to;
    const product = (columns: string, channels: number): string => {
      const across = this.#graph.op('Transpose', [this.#rows(columns, [n, channels, h, w])], { perm: [1, 0] });
      return this.#graph.op('MatMul', [dyRows, across]);
    };
    if (k === 1) return this.#reshape(product(x, from[1]), kernel);
    const columns = c * k * k;
    if (columns <= maxColumns) return this.#reshape(product(this.#gather(one), columns), kernel);
    return this.#windows(one, (window) => this.#reshape(product(window, c), [o, c, 1, 1]));
  }
  /** → [N,C·k·k,H,W]: a convolution that copies each input to an output. It takes a third of the time of slices. */
  #gather({ x, kernel: [, c, k], pads, stride }: Convolution): string {
    const size = c * k * k;
    const pick = this.#once(`pick ${c} ${k}`, () => {
      const identity = Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));
      return this.#graph.constant(identity, [size, c, k, k]);
    });
    return this.#graph.op('Conv', [x, pick], { kernel_shape: [k, k], pads, strides: [stride, stride] });
  }
  /** Applies `gradient` to the inputs under each offset of the kernel; concatenates the results. */
  #windows({ x, kernel, to, pads, stride }: Convolution, gradient: (window: string) => string): string {
    const g = this.#graph;
    const [, , k] = kernel;
    const [, , h, w] = to;
    const [top, left, bottom, right] = pads;
    const padded = g.op('Pad', [x, g.ints([0, 0, top, left, 0, 0, bottom, right])]);
    const perOffset: string[] = [];
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        const ends = g.ints([i + (h - 1) * stride + 1, j + (w - 1) * stride + 1]);
        const steps = g.ints([stride, stride]);
        perOffset.push(gradient(g.op('Slice', [padded, g.ints([i, j]), ends, g.ints([2, 3]), steps])));
      }
    }
    return this.#reshape(g.op('Concat', perOffset, { axis: 3 }), kernel);
  }

  ofInput(one: Convolution, dy: string): string {
    const { w, from, kernel, to, pads, stride, depthwise } = one;
    const [, c, height, width] = from;
    const [, , k] = kernel;
    const group = depthwise ? c : 1;
    const [top, left] = pads;
    if (stride === 1) {
      const around = pads.map((pad) => k - 1 - pad);
      return this.#graph.op('Conv', [dy, this.#turned(one)], { kernel_shape: [k, k], group, pads: around });
    }
    const [tall, wide] = [2 * to[2], 2 * to[3]];
    if (depthwise && k > 2) {
      const around = [k - 1 - top, k - 1 - left, height - tall + top, width - wide + left];
      const spread = this.#spread(dy, tall, wide);
      return this.#graph.op('Conv', [spread, this.#turned(one)], { kernel_shape: [k, k], group, pads: around });
    }
    const outputPadding = [height - (tall - stride + k - top - pads[2]), width - (wide - stride + k - left - pads[3])];
    const attributes = { pads, strides: [stride, stride], group, kernel_shape: [k, k], output_padding: outputPadding };
    return this.#graph.op('ConvTranspose', [dy, w], attributes);
  }
  /** The rotated kernel, with input and output channels swapped. */
  #turned({ w, kernel: [, , k], depthwise }: Convolution): string {
    return this.#once(`turned ${w}`, () => {
      const g = this.#graph;
      const far = -(2 ** 31);
      const round =
        k === 1 ? w : g.op('Slice', [w, g.ints([-1, -1]), g.ints([far, far]), g.ints([2, 3]), g.ints([-1, -1])]);
      return depthwise ? round : g.op('Transpose', [round], { perm: [1, 0, 2, 3] });
    });
  }
  /**
   * Inserts zeros between values, along height and width. A convolution of the result with the rotated kernel takes
   * half the time of ONNX Runtime's depthwise transposed convolution. An element-wise product is faster than padding in
   * between.
   */
  #spread(dy: string, tall: number, wide: number): string {
    const g = this.#graph;
    const grid = this.#once(`grid ${tall} ${wide}`, () => {
      const ones = Float32Array.from({ length: tall * wide }, (_, i) =>
        (i % wide) % 2 === 0 && Math.floor(i / wide) % 2 === 0 ? 1 : 0,
      );
      return g.constant(ones, [1, 1, tall, wide]);
    });
    const scales = this.#once('twice', () => g.constant(Float32Array.of(1, 1, 2, 2), [4]));
    const repeat = { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' };
    return g.op('Mul', [g.op('Resize', [dy, '', scales], repeat), grid]);
  }
}
