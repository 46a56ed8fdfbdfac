import type { Graph } from '../onnx/graph.ts';

/** So steep that any representable distance from the ends saturates. */
const steep = 2 ** 100;

/**
 * Gradient of ReLU6 for its result `y`. It avoids comparisons, which ONNX Runtime does not vectorize.
 *
 * @returns dy, and zero where y is 0 or 6 (to 1e-7).
 */
export function beforeRelu6(graph: Graph, y: string, dy: string): string {
  const fromMiddle = graph.op('Abs', [graph.op('Sub', [y, graph.scalar(3)])]);
  const isWithin = graph.op('HardSigmoid', [fromMiddle], { alpha: { float: -steep }, beta: { float: 3 * steep } });
  return graph.op('Mul', [dy, isWithin]);
}
/** min(6, max(0, x)) */
export const relu6 = (graph: Graph, x: string): string => graph.op('Clip', [x, graph.scalar(0), graph.scalar(6)]);
