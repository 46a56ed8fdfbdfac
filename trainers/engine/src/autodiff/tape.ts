/**
 * Reverse-mode differentiation that emits ONE graph. Each operation adds its forward nodes and records a rule; `finish`
 * runs the rules backwards and adds the backward nodes. ONNX Runtime runs both. Activations are NCHW float32 with
 * static shapes, dense ones [N,D]. Parameters are graph inputs; the outputs are `loss` (a scalar) and `d_<parameter>`.
 * Decision 0157.
 */
import { FLOAT, Graph } from '../onnx/graph.ts';
import { ConvolutionGradients } from './convolution.ts';
import type { Convolution, Shape4 } from './convolution.ts';
import { beforeRelu6, relu6 } from './relu6.ts';

/** A value in the graph. `trained`: it requires a gradient. */
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

export function shape4({ shape }: Value): Shape4 {
  const [a, b, c, d] = shape;
  if (a === undefined || b === undefined || c === undefined || d === undefined || shape.length !== 4) {
    throw new Error(`a value of shape [${shape.join(', ')}] where four dimensions are needed`);
  }
  return [a, b, c, d];
}
function shape2({ shape }: Value): readonly [number, number] {
  const [a, b] = shape;
  if (a === undefined || b === undefined || shape.length !== 2) {
    throw new Error(`a value of shape [${shape.join(', ')}] where two dimensions are needed`);
  }
  return [a, b];
}

/** Pixels added at [start, end] of one axis, as TensorFlow's SAME padding: the odd one goes to the end. */
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
  readonly #convolutions = new ConvolutionGradients(this.graph);

  input(name: string, shape: readonly number[]): Value {
    this.graph.inputs.push({ name, type: FLOAT, dims: shape });
    return { name, shape, trained: false };
  }
  parameter(name: string, values: Float32Array, shape: readonly number[]): Value {
    this.parameters.set(name, { shape, values });
    this.graph.inputs.push({ name, type: FLOAT, dims: shape });
    return { name, shape, trained: true };
  }
  /** A frozen weight. The runtime may fuse a constant and change its layout. */
  frozen(values: Float32Array, shape: readonly number[]): Value {
    return { name: this.graph.constant(values, shape), shape, trained: false };
  }

  #reshape(x: string, shape: readonly number[]): string {
    return this.graph.op('Reshape', [x, this.graph.ints(shape)]);
  }
  #sum(x: string, axes: readonly number[]): string {
    return this.graph.op('ReduceSum', [x, this.graph.ints(axes)], { keepdims: 0 });
  }
  /** Adds to the gradient of a value; frozen values have none. */
  accumulate(value: Value, gradient: string): void {
    if (!value.trained) return;
    const before = this.#gradients.get(value.name);
    this.#gradients.set(value.name, before === undefined ? gradient : this.graph.op('Add', [before, gradient]));
  }
  /**
   * Records an operation that is defined elsewhere. `y` names the node with its result. `finish` calls `rule` with the
   * gradient of `y`; it must accumulate the gradients of the operands.
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

  /** SAME padding. Dense 1×1 with stride 1, dense k×k, or depthwise k×k. Weights [O,C,k,k], depthwise [C,1,k,k]. */
  conv(x: Value, w: Value, bias: Value, { stride = 1, depthwise = false }: ConvOptions = {}): Value {
    const [n, c, height, width] = shape4(x);
    const [o, , k] = shape4(w);
    if (k === 1 && stride !== 1) throw new Error('a 1×1 convolution takes stride 1 alone');
    const [top, bottom] = samePadding(height, k, stride);
    const [left, right] = samePadding(width, k, stride);
    const shape: Shape4 = [n, o, Math.ceil(height / stride), Math.ceil(width / stride)];
    const pads = [top, left, bottom, right] as const;
    const attributes = { pads, strides: [stride, stride], group: depthwise ? c : 1, kernel_shape: [k, k] };
    const name = this.graph.op('Conv', [x.name, w.name, bias.name], attributes);
    const trained = x.trained || w.trained || bias.trained;
    const one: Convolution = {
      x: x.name,
      from: shape4(x),
      w: w.name,
      kernel: shape4(w),
      to: shape,
      pads,
      stride,
      depthwise,
    };
    return this.derive({ name, shape, trained }, (dy) => {
      const own = this.#convolutions.ofParameters(one, dy, { bias: bias.trained, weights: w.trained });
      if (own.bias !== undefined) this.accumulate(bias, own.bias);
      if (own.weights !== undefined) this.accumulate(w, own.weights);
      if (x.trained) this.accumulate(x, this.#convolutions.ofInput(one, dy));
    });
  }

  relu6(x: Value): Value {
    const name = relu6(this.graph, x.name);
    return this.derive({ name, shape: x.shape, trained: x.trained }, (dy) => {
      this.accumulate(x, beforeRelu6(this.graph, name, dy));
    });
  }
  add(a: Value, b: Value): Value {
    const name = this.graph.op('Add', [a.name, b.name]);
    return this.derive({ name, shape: a.shape, trained: a.trained || b.trained }, (dy) => {
      this.accumulate(a, dy);
      this.accumulate(b, dy);
    });
  }
  /** Concatenates along the first axis. */
  concat(values: readonly Value[]): Value {
    const g = this.graph;
    const [first] = values;
    if (!first) throw new Error('nothing to put together');
    if (values.length === 1) return first;
    const names = values.map((one) => one.name);
    const ends = values.map((_, i) => values.slice(0, i + 1).reduce((sum, { shape: [n = 0] }) => sum + n, 0));
    const shape = [ends.at(-1) ?? 0, ...first.shape.slice(1)];
    const trained = values.some((one) => one.trained);
    return this.derive({ name: g.op('Concat', names, { axis: 0 }), shape, trained }, (dy) => {
      for (const [i, value] of values.entries()) {
        if (!value.trained) continue;
        const range = [g.ints([ends[i - 1] ?? 0]), g.ints([ends[i] ?? 0]), g.ints([0])];
        this.accumulate(value, g.op('Slice', [dy, ...range]));
      }
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
   * Emits the scalar `loss`: the mean over the rows of weight · −Σ target · log softmax(logits). targets [N,K] sum to 1
   * per row; weights [N,1].
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
   * targets 0..1 and weights, both [N,K]; labels are independent.
   */
  sigmoidCrossEntropy(logits: Value, targets: Value, weights: Value): void {
    const g = this.graph;
    const [n, k] = shape2(logits);
    const share = g.op('Mul', [weights.name, g.scalar(1 / (n * k))]);
    // max(z, 0) − z·y + log(1 + exp(−|z|)): this form cannot overflow.
    const overhang = g.op('Softplus', [g.op('Neg', [g.op('Abs', [logits.name])])]);
    const linear = g.op('Sub', [g.op('Relu', [logits.name]), g.op('Mul', [logits.name, targets.name])]);
    this.graph.op('Identity', [this.#sum(g.op('Mul', [g.op('Add', [linear, overhang]), share]), [0, 1])], {}, 'loss');
    const difference = g.op('Sub', [g.op('Sigmoid', [logits.name]), targets.name]);
    this.#gradients.set(logits.name, g.op('Mul', [difference, share]));
  }
  /** Runs the rules backwards, names the gradients and encodes the graph. `outputs` are additional results. */
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
