/** Adds the item to the set; removes it if the set has it. */
export const toggleItem = <T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> =>
  set.has(item) ? new Set([...set].filter((one) => one !== item)) : new Set([...set, item]);
