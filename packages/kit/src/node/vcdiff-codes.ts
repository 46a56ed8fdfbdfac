// Definitions shared by encoder and decoder of VCDIFF patches (RFC 3284, section 5.6).

export const codeKinds = { none: 0, add: 1, run: 2, copy: 3 } as const;

/**
 * The instructions of the 256 codes, six numbers per code: kind, size and mode of the first, then of the second. Size
 * 0: the size follows the code.
 */
export const codeTable: Uint8Array = makeCodeTable();

function makeCodeTable(): Uint8Array {
  const { add, run, copy } = codeKinds;
  const rows: number[][] = [];
  const two = (first: readonly number[], second: readonly number[] = [0, 0, 0]): void => {
    rows.push([...first, ...second]);
  };
  two([run, 0, 0]);
  for (let size = 0; size <= 17; size++) two([add, size, 0]);
  for (let mode = 0; mode <= 8; mode++)
    for (const size of [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]) two([copy, size, mode]);
  for (let mode = 0; mode <= 8; mode++)
    for (let size = 1; size <= 4; size++)
      for (let copied = 4; copied <= (mode <= 5 ? 6 : 4); copied++) two([add, size, 0], [copy, copied, mode]);
  for (let mode = 0; mode <= 8; mode++) two([copy, 4, mode], [add, 1, 0]);
  return Uint8Array.from(rows.flat());
}

/** RFC 1950; xdelta3 and our encoder write it for each window. */
export function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + 3_800, bytes.length); // the sums must stay exact between two reductions
    for (; at < end; at++) {
      a += bytes[at] ?? 0;
      b += a;
    }
    a %= 65_521;
    b %= 65_521;
  }
  return b * 65_536 + a;
}
