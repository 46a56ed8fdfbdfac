/** A time from one moment to another, in ms. */
export interface Interval {
  readonly from: number;
  readonly until: number;
}

/** What is left of a time, in parts of their own. */
export const without = (time: Interval, taken: readonly Interval[]): Interval[] =>
  taken
    .filter(({ from, until }) => from < time.until && until > time.from)
    .reduce<Interval[]>(
      (left, { from, until }) =>
        left.flatMap((one) =>
          [
            { from: one.from, until: Math.min(one.until, from) },
            { from: Math.max(one.from, until), until: one.until },
          ].filter((part) => part.from < part.until),
        ),
      [time],
    );
