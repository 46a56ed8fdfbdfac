/** The range of a value's numbers, and how int8 stands for it. */

export interface Range {
  low: number;
  high: number;
}
/** real = (stored − zeroPoint) · scale, with stored numbers from −128 to 127. */
export interface Quantization {
  scale: number;
  zeroPoint: number;
}
const [lowestInt8, highestInt8] = [-128, 127];
const steps = highestInt8 - lowestInt8;

/** Share of the images whose extremes are ignored at each end. */
const ignoredShare = 0.05;

/**
 * The range that all but the most extreme images need. The extremes of all images would let one odd image make the steps
 * of every image coarse.
 */
export function rangeOf(images: readonly Range[]): Range {
  const ignored = Math.floor(ignoredShare * images.length);
  const [lows, highs] = [images.map(({ low }) => low), images.map(({ high }) => high)].map((ends) =>
    ends.toSorted((a, b) => a - b),
  );
  return { low: lows?.[ignored] ?? 0, high: highs?.at(-1 - ignored) ?? 0 };
}

/** The range is widened to hold 0, which padding needs exactly. A range of 0 alone has the scale 1. */
export function quantizationOf({ low, high }: Range): Quantization {
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const scale = Math.fround((to - from) / steps);
  if (!Number.isFinite(scale)) throw new Error(`a range from ${low} to ${high} cannot be quantized`);
  if (scale === 0) return { scale: 1, zeroPoint: 0 };
  return { scale, zeroPoint: clampInt8(Math.round(lowestInt8 - from / scale) + 0) };
}

const clampInt8 = (value: number): number => Math.min(highestInt8, Math.max(lowestInt8, value));
/** Halves are rounded to the even number, as ONNX and TensorFlow Lite do. */
function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
export const quantize = (value: number, { scale, zeroPoint }: Quantization): number =>
  clampInt8(roundHalfToEven(value / scale) + zeroPoint);
export const dequantize = (stored: number, { scale, zeroPoint }: Quantization): number => (stored - zeroPoint) * scale;
