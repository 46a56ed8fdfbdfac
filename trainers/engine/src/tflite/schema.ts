/**
 * The numbers of TensorFlow Lite's schema (version 3) that this engine reads and writes: operator codes, tensor types,
 * and the slots of each operator's options.
 */

export const elementTypes = { float32: 0, float16: 1, int32: 2, uint8: 3, int64: 4, bool: 6, int8: 9 } as const;
export type ElementType = keyof typeof elementTypes;

export const activations = { none: 0, relu: 1, relu6: 3 } as const;

type FieldKind = 'byte' | 'int' | 'float' | 'bool';
export interface OptionField {
  /** Slot in the table. */
  slot: number;
  kind: FieldKind;
  /** Value for readers if the field is absent. */
  absent?: number;
}
interface OptionsLayout {
  /** Index of the table in the options union; 0: the operator has none. */
  table: number;
  fields: Readonly<Record<string, OptionField>>;
}
interface OperatorLayout extends OptionsLayout {
  code: number;
  /** Version of the operator in the form used here; runtimes reject unknown versions. */
  version: number;
}

const byte = (slot: number): OptionField => ({ slot, kind: 'byte' });
const int = (slot: number, absent = 0): OptionField => ({ slot, kind: 'int', absent });
const bool = (slot: number): OptionField => ({ slot, kind: 'bool' });
const none: OptionsLayout = { table: 0, fields: {} };
const fused: OptionField = byte(0);
const pool: OptionsLayout = {
  table: 5,
  fields: {
    padding: byte(0),
    strideWidth: int(1),
    strideHeight: int(2),
    filterWidth: int(3),
    filterHeight: int(4),
    activation: byte(5),
  },
};

export const operators = {
  ADD: { code: 0, version: 1, table: 11, fields: { activation: fused } },
  CONCATENATION: { code: 2, version: 1, table: 10, fields: { axis: int(0), activation: byte(1) } },
  CONV_2D: {
    code: 3,
    version: 1,
    table: 1,
    fields: {
      padding: byte(0),
      strideWidth: int(1),
      strideHeight: int(2),
      activation: byte(3),
      dilationWidth: int(4, 1),
      dilationHeight: int(5, 1),
    },
  },
  DEPTHWISE_CONV_2D: {
    code: 4,
    version: 1,
    table: 2,
    fields: {
      padding: byte(0),
      strideWidth: int(1),
      strideHeight: int(2),
      depthMultiplier: int(3),
      activation: byte(4),
      dilationWidth: int(5, 1),
      dilationHeight: int(6, 1),
    },
  },
  AVERAGE_POOL_2D: { code: 1, version: 1, ...pool },
  MAX_POOL_2D: { code: 17, version: 1, ...pool },
  DEQUANTIZE: { code: 6, version: 3, ...none },
  QUANTIZE: { code: 114, version: 1, ...none },
  FULLY_CONNECTED: { code: 9, version: 1, table: 8, fields: { activation: fused } },
  LOGISTIC: { code: 14, version: 1, ...none },
  MUL: { code: 18, version: 1, table: 21, fields: { activation: fused } },
  RESHAPE: { code: 22, version: 1, ...none },
  SOFTMAX: { code: 25, version: 1, table: 9, fields: { beta: { slot: 0, kind: 'float' } } },
  MEAN: { code: 40, version: 1, table: 27, fields: { keepDims: bool(0) } },
  CAST: { code: 53, version: 1, table: 37, fields: { from: byte(0), to: byte(1) } },
  EXP: { code: 47, version: 1, ...none },
  LOG: { code: 73, version: 1, ...none },
  RELU: { code: 19, version: 1, ...none },
  RESIZE_BILINEAR: {
    code: 23,
    version: 3,
    table: 15,
    fields: { alignCorners: bool(2), halfPixelCenters: bool(3) },
  },
  GATHER: { code: 36, version: 1, table: 23, fields: { axis: int(0) } },
  SUB: { code: 41, version: 1, table: 28, fields: { activation: fused } },
  DIV: { code: 42, version: 1, table: 29, fields: { activation: fused } },
  TOPK_V2: { code: 48, version: 1, table: 34, fields: {} },
  SPLIT: { code: 49, version: 1, table: 35, fields: { count: int(0) } },
  MAXIMUM: { code: 55, version: 1, table: 39, fields: {} },
  MINIMUM: { code: 57, version: 1, table: 39, fields: {} },
  GREATER: { code: 61, version: 1, table: 44, fields: {} },
  EQUAL: { code: 71, version: 1, table: 53, fields: {} },
  SQRT: { code: 75, version: 1, ...none },
  REDUCE_MAX: { code: 82, version: 1, table: 27, fields: { keepDims: bool(0) } },
  FLOOR_DIV: { code: 90, version: 1, table: 65, fields: {} },
  FLOOR_MOD: { code: 95, version: 1, table: 72, fields: {} },
  HARD_SWISH: { code: 117, version: 1, ...none },
} as const satisfies Readonly<Record<string, OperatorLayout>>;
export type OperatorName = keyof typeof operators;

/** Versions of the operators that have another one if an operand is int8. */
export const int8Versions: Readonly<Partial<Record<OperatorName, number>>> = {
  ADD: 2,
  CONV_2D: 3,
  DEPTHWISE_CONV_2D: 3,
  DEQUANTIZE: 2,
};

/** Options of an operator by name, all as numbers. */
export type Options<O extends OperatorName> = { [K in keyof (typeof operators)[O]['fields']]?: number };

export const padding = { same: 0, valid: 1 } as const;

/** Slot of each field, in the order of Model, SubGraph, Tensor, Operator … in the schema. */
export const slots = {
  model: { version: 0, operatorCodes: 1, graphs: 2, description: 3, buffers: 4, metadata: 6, signatures: 7, size: 8 },
  operatorCode: { oldCode: 0, version: 2, code: 3, size: 4 },
  graph: { tensors: 0, inputs: 1, outputs: 2, operators: 3, name: 4, size: 5 },
  tensor: { shape: 0, type: 1, buffer: 2, name: 3, quantization: 4, size: 8 },
  quantization: { scale: 2, zeroPoint: 3, dimension: 6, size: 7 },
  operator: { opcode: 0, inputs: 1, outputs: 2, optionsType: 3, options: 4, size: 9 },
  buffer: { bytes: 0, size: 3 },
  metadata: { name: 0, buffer: 1, size: 2 },
  signature: { inputs: 0, outputs: 1, key: 2, graph: 4, size: 5 },
  signaturePort: { name: 0, tensor: 1, size: 2 },
} as const;
