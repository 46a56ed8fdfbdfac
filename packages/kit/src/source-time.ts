/** No program of this source ran before this instant: an earlier clock is wrong. ms since 1970. */
export const sourceWall = Date.UTC(2026, 10, 1);
/** No program of this source runs longer than this after `sourceWall`. */
export const longestLifeMs = 40 * 365 * 86_400_000;
