export type Random = () => number;

/** mulberry32 seeded with a hash of the parts: 0 ≤ x < 1. Equal parts give equal sequences. */
export function seeded(...parts: (string | number)[]): Random {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(parts.join('\n'))) state = Math.imul(state ^ byte, 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
