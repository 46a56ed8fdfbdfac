/** How a process ended, as the process port reports it. */
export interface ProcessExit {
  code: number | null;
  signal: string | null;
  isOutOfMemory?: boolean;
  leftBehind?: readonly { pid: number; command: string }[];
}

const keptLines = 20;
const longestLine = 300;
const longestCommand = 80;

/** Prepares the last lines of a program for a report: few, short, printable, secrets masked. */
export function reportedLines(lines: readonly string[], mask: (text: string) => string): string[] {
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-keptLines)
    .map((line) => {
      const text = mask(line.replaceAll('\t', ' ').replaceAll(controls, ''));
      // A lone surrogate is not valid text: a report that contains one cannot be sent.
      return (text.length > longestLine ? `${text.slice(0, longestLine - 1)}…` : text).toWellFormed();
    });
}

/** Colour sequences of a terminal and all other control characters. */
const controls = /\p{Cc}\[[0-9;?]*[A-Za-z]|\p{Cc}/gu;

const outOfMemory = 'killed by the kernel because memory ran out';

/** For display: "exit 3", "signal SIGKILL", "unknown". */
export function exitReason({ code, signal, isOutOfMemory, leftBehind = [] }: ProcessExit): string {
  if (isOutOfMemory === true) return outOfMemory;
  const how = signal !== null ? `signal ${signal}` : code !== null ? `exit ${code}` : 'unknown';
  const [first] = leftBehind;
  if (code !== 0 || !first) return how;
  return `it went into the background: its first process ended with exit 0, process ${first.pid} (${first.command.slice(0, longestCommand)}) went on and was ended`;
}

/**
 * The first process of a service must keep running. If it exits with 0 and leaves others, it went into the background.
 */
export const isInBackground = ({ code, leftBehind = [] }: ProcessExit): boolean => code === 0 && leftBehind.length > 0;

/** The agent ended the process, because it was not ready within `limitMs`. */
export const notReadyReason = (limitMs: number, exit: ProcessExit): string =>
  `not ready within ${durationText(limitMs)}; the agent ended it (${exitReason(exit)})`;

function durationText(ms: number): string {
  const [count, unit] = ms >= 60_000 ? [Math.round(ms / 60_000), 'minute'] : [Math.round(ms / 1000), 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const unitResults: Readonly<Record<string, string>> = {
  'oom-kill': outOfMemory,
  timeout: 'not ready in time; systemd ended it',
  'stop-timeout': 'it did not end in time after a stop request; systemd ended it',
  watchdog: 'it hung: systemd ended it because it showed no sign of life',
  protocol: 'it ended before it was ready',
};

/** A clause for display; undefined: no failure. */
export function unitExitReason(of: Readonly<Record<'result' | 'code' | 'status', string>>): string | undefined {
  const { result, code, status } = of;
  const how = code === 'exited' ? `exit ${status}` : code === '' ? '' : `signal ${status}`;
  const known = unitResults[result];
  if (known !== undefined) return how === '' ? known : `${known} (${how})`;
  if (result === 'success' || (result === '' && how === '')) return undefined;
  return how === '' ? result : how;
}
