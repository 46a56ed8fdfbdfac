import { elementTypes } from '@platform/trainer-engine/tflite/schema';
import type { ElementType, OperatorName } from '@platform/trainer-engine/tflite/schema';
import type { TfliteGraph } from '@platform/trainer-engine/tflite/writer';

/** Short forms of common operators. A tensor is its number in the graph. */
export function tensorOps(g: TfliteGraph) {
  return {
    number: (value: number): number => g.constant(Float32Array.of(value), []),
    whole: (value: number): number => g.constant(Int32Array.of(value), []),
    binary: (
      name: OperatorName,
      a: number,
      b: number,
      shape: readonly number[],
      type: ElementType = 'float32',
    ): number => g.op(name, [a, b], { shape, type }),
    toFloat: (x: number, from: ElementType, shape: readonly number[]): number =>
      g.op('CAST', [x], { shape }, { from: elementTypes[from], to: elementTypes.float32 }),
    reshape: (x: number, shape: readonly number[], name?: string): number =>
      g.op('RESHAPE', [x, g.constant(Int32Array.from(shape), [shape.length])], {
        shape,
        type: 'float32',
        ...(name === undefined ? {} : { name }),
      }),
  };
}
export type TensorOps = ReturnType<typeof tensorOps>;
