/** Reorders the axes of a four-dimensional tensor: OHWI → OIHW is [0,3,1,2], 1HWC → C1HW is [3,0,1,2]. */
export function permute4(
  values: Float32Array,
  dims: readonly [number, number, number, number],
  order: readonly [number, number, number, number],
): Float32Array {
  const strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1] as const;
  const size = (axis: 0 | 1 | 2 | 3): number => dims[order[axis]] ?? 0;
  const stride = (axis: 0 | 1 | 2 | 3): number => strides[order[axis]] ?? 0;
  const out = new Float32Array(values.length);
  let to = 0;
  for (let a = 0; a < size(0); a++) {
    for (let b = 0; b < size(1); b++) {
      for (let c = 0; c < size(2); c++) {
        for (let d = 0; d < size(3); d++) {
          out[to++] = values[a * stride(0) + b * stride(1) + c * stride(2) + d * stride(3)] ?? 0;
        }
      }
    }
  }
  return out;
}
