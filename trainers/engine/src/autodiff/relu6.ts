import type { Graph } from '../onnx/graph.ts';

/** Steeper than any distance from the ends can be small. */
const steep = 2 ** 100;

/**
 * The gradient before a ReLU6 with the result `y`. Without comparisons, which ONNX Runtime makes one value at a time.
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
