const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Round lengths for an axis. */
const lengths = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 28].map((n) => n * day),
];

/** The shortest round interval in ms of which at most `most` touch the time. */
export const intervalOf = ({ from, until }: { from: number; until: number }, most: number): number =>
  lengths.find((length) => Math.ceil(until / length) - Math.floor(from / length) <= most) ?? 366 * day;
