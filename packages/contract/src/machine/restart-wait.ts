// Shows what a version waits for. For the web app and both command lines.

/** A restart that waits, and when the wait may end, ms since 1970. */
export interface RestartWaitView {
  /** A clause: "it waits for the window Sat 22:00 Europe/Berlin". */
  readonly reason: string;
  readonly untilMs: number | undefined;
}

const minuteMs = 60_000;

/**
 * Adds the time left to a text that contains the reason: "It waits for the window Sat 22:00 Europe/Berlin (in 3 h)."
 *
 * @param format - text for a time in ms.
 */
export function withTimeLeft(
  text: string,
  wait: RestartWaitView | undefined,
  nowMs: number,
  format: (ms: number) => string,
): string {
  const left = (wait?.untilMs ?? nowMs) - nowMs;
  const clause = wait?.reason.slice(1) ?? ''; // at the beginning of a sentence, its first letter is a capital
  const begin = text.indexOf(clause);
  if (left <= 0 || clause === '' || begin === -1) return text;
  const end = begin + clause.length;
  return `${text.slice(0, end)} (in ${format(Math.ceil(left / minuteMs) * minuteMs)})${text.slice(end)}`;
}
