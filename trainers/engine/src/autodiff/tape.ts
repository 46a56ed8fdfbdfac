/**
 * Reverse-mode differentiation that emits ONE graph: each operation adds its forward nodes and remembers a rule, `finish`
 * runs the rules backwards and adds the backward nodes. ONNX Runtime runs both. Activations are NCHW float32 with fixed
 * shapes, dense ones [N,D]. Parameters are graph inputs; the results are `loss` (a scalar) and `d_<parameter>`.
 */
import { FLOAT, Graph } from '../onnx/graph.ts';

/** A value in the graph. `trained`: a gradient flows into it. */
export interface Value {
  readonly name: string;
  readonly shape: readonly number[];
  readonly trained: boolean;
}
export interface Parameter {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}
export interface ConvOptions {
  stride?: 1 | 2;
  depthwise?: boolean;
}
type Shape4 = readonly [number, number, number, number];

export function shape4({ shape }: Value): Shape4 {
  const [a, b, c, d] = shape;
  if (a === undefined || b === undefined || c === undefined || d === undefined || shape.length !== 4) {
    throw new Error(`a value of shape [${shape.join(', ')}] where four dimensions are needed`);
  }
  return [a, b, c, d];
}
export function shape2({ shape }: Value): readonly [number, number] {
  const [a, b] = shape;
  if (a === undefined || b === undefined || shape.length !== 2) {
    throw new Error(`a value of shape [${shape.join(', ')}] where two dimensions are needed`);
  }
  return [a, b];
}

/** Pixels added at [start, end] of one axis, as TensorFlow does for SAME: the odd one goes to the end. */
export function samePadding(size: number, kernel: number, stride: number): readonly [number, number] {
  const total = Math.max((Math.ceil(size / stride) - 1) * stride + kernel - size, 0);
  return [total >> 1, total - (total >> 1)];
}

export class Tape {
  readonly graph = new Graph();
  readonly parameters = new Map<string, Parameter>();
  /** Value name → name of the node with its gradient. */
  readonly #gradients = new Map<string, string>();
  readonly #rules: (() => void)[] = [];

  input(name: string, shape: readonly number[]): Value {
    this.graph.inputs.push({ name, type: FLOAT, dims: shape });
    return { name, shape, trained: false };
  }
  parameter(name: string, values: Float32Array, shape: readonly number[]): Value {
    this.parameters.set(name, { shape, values });
    this.graph.inputs.push({ name, type: FLOAT, dims: shape });
    return { name, shape, trained: true };
  }
  /** A frozen weight. As a constant the runtime may fuse it and lay it out anew. */
  frozen(values: Float32Array, shape: readonly number[]): Value {
    return { name: this.graph.constant(values, shape), shape, trained: false };
  }

  #reshape(x: string, shape: readonly number[]): string {
    return this.graph.op('Reshape', [x, this.graph.ints(shape)]);
  }
  #sum(x: string, axes: readonly number[]): string {
    return this.graph.op('ReduceSum', [x, this.graph.ints(axes)], { keepdims: 0 });
  }
  /** Adds to the gradient of a value; frozen ones take none. */
  accumulate(value: Value, gradient: string): void {
    if (!value.trained) return;
    const before = this.#gradients.get(value.name);
    this.#gradients.set(value.name, before === undefined ? gradient : this.graph.op('Add', [before, gradient]));
  }
  /**
   * An operation that is defined elsewhere: `y` names the node with its result, `rule` is called by `finish` with the
   * gradient of `y` and accumulates those of the operands.
   */
  derive(y: Value, rule: (dy: string) => void): Value {
    if (y.trained) {
      this.#rules.push(() => {
        const dy = this.#gradients.get(y.name);
        if (dy !== undefined) rule(dy);
      });
    }
    return y;
  }

  /** SAME padding. Dense 1×1 with stride 1, dense k×k, depthwise k×k; weights [O,C,k,k], depthwise [C,1,k,k]. */
  conv(x: Value, w: Value, bias: Value, { stride = 1, depthwise = false }: ConvOptions = {}): Value {
    const [n, c, height, width] = shape4(x);
    const [o, , k] = shape4(w);
    if (k === 1 && stride !== 1) throw new Error('a 1×1 convolution takes stride 1 alone');
    const [top, bottom] = samePadding(height, k, stride);
    const [left, right] = samePadding(width, k, stride);
    const shape: Shape4 = [n, o, Math.ceil(height / stride), Math.ceil(width / stride)];
    const group = depthwise ? c : 1;
    const pads = [top, left, bottom, right];
    const attributes = { pads, strides: [stride, stride], group, kernel_shape: [k, k] };
    const name = this.graph.op('Conv', [x.name, w.name, bias.name], attributes);
    const trained = x.trained || w.trained || bias.trained;
    return this.derive({ name, shape, trained }, (dy) => {
      const learns = bias.trained || w.trained;
      const dyRows = learns && !depthwise ? this.#rows(dy, shape) : undefined;
      if (bias.trained) this.accumulate(bias, dyRows ? this.#sum(dyRows, [1]) : this.#sum(dy, [0, 2, 3]));
      if (w.trained) this.accumulate(w, this.#convWeightGradient(x, w, { dy, dyRows, shape, pads, stride }));
      if (!x.trained) return;
      if (stride === 1) {
        this.accumulate(x, this.#sameConvInputGradient(w, dy, { k, group, pads, depthwise }));
        return;
      }
      const outputPadding = [
        height - ((shape[2] - 1) * stride + k - top - bottom),
        width - ((shape[3] - 1) * stride + k - left - right),
      ];
      const transposed = { ...attributes, output_padding: outputPadding };
      this.accumulate(x, this.graph.op('ConvTranspose', [dy, w.name], transposed));
    });
  }
  /** [N,C,H,W] → [C,N·H·W]: sums over all pictures and places are then sums along rows, and one product sums them all. */
  #rows(x: string, [n, c, h, w]: Shape4): string {
    const turned = this.graph.op('Transpose', [this.#reshape(x, [n, c, h * w])], { perm: [1, 0, 2] });
    return this.#reshape(turned, [c, n * h * w]);
  }
  /**
   * One matrix product per offset of the kernel: windows of the padded input against dY.
   *
   * @param dyRows - absent: the convolution is depthwise.
   */
  #convWeightGradient(
    x: Value,
    w: Value,
    {
      dy,
      dyRows,
      shape,
      pads,
      stride,
    }: { dy: string; dyRows: string | undefined; shape: Shape4; pads: readonly number[]; stride: number },
  ): string {
    const g = this.graph;
    const [n, c] = shape4(x);
    const [o, , k] = shape4(w);
    const [, , h, v] = shape;
    const [top = 0, left = 0, bottom = 0, right = 0] = pads;
    const padded = k === 1 ? x.name : g.op('Pad', [x.name, g.ints([0, 0, top, left, 0, 0, bottom, right])]);
    const perOffset: string[] = [];
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        const ends = g.ints([i + (h - 1) * stride + 1, j + (v - 1) * stride + 1]);
        const window =
          k === 1 ? padded : g.op('Slice', [padded, g.ints([i, j]), ends, g.ints([2, 3]), g.ints([stride, stride])]);
        if (dyRows === undefined) {
          perOffset.push(this.#reshape(this.#sum(g.op('Mul', [window, dy]), [0, 2, 3]), [c, 1, 1, 1]));
          continue;
        }
        const columns = g.op('Transpose', [this.#rows(window, [n, c, h, v])], { perm: [1, 0] });
        perOffset.push(this.#reshape(g.op('MatMul', [dyRows, columns]), [o, c, 1, 1]));
      }
    }
    const [only] = perOffset;
    if (k === 1 && only !== undefined) return only;
    return this.#reshape(g.op('Concat', perOffset, { axis: 3 }), w.shape);
  }
  /** A convolution of dY with the weights turned round, in and out swapped. */
  #sameConvInputGradient(
    w: Value,
    dy: string,
    { k, group, pads, depthwise }: { k: number; group: number; pads: readonly number[]; depthwise: boolean },
  ): string {
    const g = this.graph;
    const far = -(2 ** 31);
    const turned =
      k === 1
        ? w.name
        : g.op('Slice', [w.name, g.ints([-1, -1]), g.ints([far, far]), g.ints([2, 3]), g.ints([-1, -1])]);
    const weights = depthwise ? turned : g.op('Transpose', [turned], { perm: [1, 0, 2, 3] });
    return g.op('Conv', [dy, weights], { kernel_shape: [k, k], group, pads: pads.map((pad) => k - 1 - pad) });
  }

  relu6(x: Value): Value {
    const g = this.graph;
    const name = g.op('Clip', [x.name, g.scalar(0), g.scalar(6)]);
    return this.derive({ name, shape: x.shape, trained: x.trained }, (dy) => {
      const inside = g.op('And', [g.op('Greater', [name, g.scalar(0)]), g.op('Less', [name, g.scalar(6)])]);
      this.accumulate(x, g.op('Where', [inside, dy, g.scalar(0)]));
    });
  }
  add(a: Value, b: Value): Value {
    const name = this.graph.op('Add', [a.name, b.name]);
    return this.derive({ name, shape: a.shape, trained: a.trained || b.trained }, (dy) => {
      this.accumulate(a, dy);
      this.accumulate(b, dy);
    });
  }
  /** [N,C,H,W] → [N,C]. */
  averagePool(x: Value): Value {
    const [n, c, h, w] = shape4(x);
    const g = this.graph;
    const name = g.op('ReduceMean', [x.name], { axes: [2, 3], keepdims: 0 });
    return this.derive({ name, shape: [n, c], trained: x.trained }, (dy) => {
      const share = this.#reshape(g.op('Mul', [dy, g.scalar(1 / (h * w))]), [n, c, 1, 1]);
      this.accumulate(x, g.op('Expand', [share, g.ints(x.shape)]));
    });
  }
  /** [N,D] · [K,D]ᵀ + [K] → [N,K]. */
  dense(x: Value, w: Value, bias: Value): Value {
    const [n] = shape2(x);
    const [k] = shape2(w);
    const g = this.graph;
    const name = g.op('Gemm', [x.name, w.name, bias.name], { transB: 1 });
    const trained = x.trained || w.trained || bias.trained;
    return this.derive({ name, shape: [n, k], trained }, (dy) => {
      this.accumulate(w, g.op('MatMul', [g.op('Transpose', [dy], { perm: [1, 0] }), x.name]));
      this.accumulate(bias, this.#sum(dy, [0]));
      this.accumulate(x, g.op('MatMul', [dy, w.name]));
    });
  }
  /**
   * Emits the scalar `loss`: the mean over the rows of weight · −Σ target · log softmax(logits).
   * targets [N,K] sum to 1 per row; weights [N,1].
   */
  softmaxCrossEntropy(logits: Value, targets: Value, weights: Value): void {
    const g = this.graph;
    const [n] = shape2(logits);
    const logP = g.op('LogSoftmax', [logits.name], { axis: 1 });
    const perRow = g.op('Mul', [g.op('Mul', [logP, targets.name]), weights.name]);
    g.op('Mul', [this.#sum(perRow, [0, 1]), g.scalar(-1 / n)], {}, 'loss');
    const difference = g.op('Sub', [g.op('Exp', [logP]), targets.name]);
    const scaled = g.op('Mul', [difference, g.op('Mul', [weights.name, g.scalar(1 / n)])]);
    this.#gradients.set(logits.name, scaled);
  }
  /**
   * Emits the scalar `loss`: the mean over rows and columns of weight · binary cross entropy of sigmoid(logits).
   * targets 0..1 and weights, both [N,K]: each label is there or not, whatever the others are.
   */
  sigmoidCrossEntropy(logits: Value, targets: Value, weights: Value): void {
    const g = this.graph;
    const [n, k] = shape2(logits);
    const share = g.op('Mul', [weights.name, g.scalar(1 / (n * k))]);
    // max(z, 0) − z·y + log(1 + exp(−|z|)), which no logit makes overflow.
    const overhang = g.op('Softplus', [g.op('Neg', [g.op('Abs', [logits.name])])]);
    const linear = g.op('Sub', [g.op('Relu', [logits.name]), g.op('Mul', [logits.name, targets.name])]);
    this.graph.op('Identity', [this.#sum(g.op('Mul', [g.op('Add', [linear, overhang]), share]), [0, 1])], {}, 'loss');
    const difference = g.op('Sub', [g.op('Sigmoid', [logits.name]), targets.name]);
    this.#gradients.set(logits.name, g.op('Mul', [difference, share]));
  }
  /** Runs the rules backwards, names the gradients, encodes. `outputs` are further results wanted beside them. */
  finish(outputs: readonly string[]): Buffer {
    for (const rule of this.#rules.toReversed()) rule();
    for (const name of outputs) this.graph.outputs.push({ name, type: FLOAT });
    for (const name of this.parameters.keys()) {
      const gradient = this.#gradients.get(name);
      if (gradient === undefined) continue;
      this.graph.op('Identity', [gradient], {}, `d_${name}`);
      this.graph.outputs.push({ name: `d_${name}`, type: FLOAT });
    }
    return this.graph.encode();
  }
}
