/** IEEE half precision to single. */
export function halfToFloat(half: Uint16Array<ArrayBuffer>): Float32Array {
  return new Float32Array(new Float16Array(half.buffer, half.byteOffset, half.length));
}
