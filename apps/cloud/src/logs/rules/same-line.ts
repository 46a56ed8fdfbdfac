/** What of a line its sender does not change when it sends it again. */
export type LineText = {
  /** Microseconds since 1970. */
  timeUs: number;
  /** The time is not its own. */
  isArrivalTime?: boolean;
  level: string;
  loggerName: string;
  message: string;
  /** Caller, stack and fields. */
  rest: unknown;
};

/** An agent marks lines so whose time it does not know, and may know it when it sends them again. */
const estimated = 'time_is';
/** Agents correct the time of a line when they send it. */
const correctionUs = 60_000_000;

type Rest = { fields?: readonly Record<string, unknown>[] } & Record<string, unknown>;

const isMark = (field: Record<string, unknown>): boolean => Object.keys(field).join() === estimated;
const fieldsOf = ({ rest }: LineText): readonly Record<string, unknown>[] => (rest as Rest | null)?.fields ?? [];

/** JSON with sorted keys: the database stores them in its own order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, canonical(member)]));
}

/** The text of a line without its time, for comparisons and hashes. */
export function lineText(line: LineText): string {
  const fields = fieldsOf(line).filter((field) => !isMark(field));
  const { caller, stack } = (line.rest ?? {}) as Rest;
  return JSON.stringify(canonical([line.level, line.loggerName, line.message, caller, stack, fields]));
}

/** Whether a line that comes under the identity of another one is that line, sent again. */
export function isSameLine(a: LineText, b: LineText): boolean {
  const isAnyTime = [a, b].some((line) => line.isArrivalTime === true || fieldsOf(line).some(isMark));
  return (isAnyTime || Math.abs(a.timeUs - b.timeUs) <= correctionUs) && lineText(a) === lineText(b);
}
