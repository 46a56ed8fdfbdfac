/** No program of this source ran before: a clock that says less is wrong. ms since 1970. */
export const sourceWall = Date.UTC(2026, 10, 1);
/** And none runs that much later. */
export const longestLifeMs = 40 * 365 * 86_400_000;
