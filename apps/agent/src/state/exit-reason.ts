/** How a process ended; as the port has it. */
export interface ProcessExit {
  code: number | null;
  signal: string | null;
  isOutOfMemory?: boolean;
  leftBehind?: readonly { pid: number; command: string }[];
}

const keptLines = 20;
const longestLine = 300;
const longestCommand = 80;

/** Last lines of a program, made fit for a report: few, short, printable, secrets masked. */
export function reportedLines(lines: readonly string[], mask: (text: string) => string): string[] {
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-keptLines)
    .map((line) => {
      const text = mask(line.replaceAll('\t', ' ').replaceAll(controls, ''));
      // Half of a pair of code units is no text: a report that held it would not be sent.
      return (text.length > longestLine ? `${text.slice(0, longestLine - 1)}…` : text).toWellFormed();
    });
}

/** Colours of a terminal, and every other control character. */
const controls = /\p{Cc}\[[0-9;?]*[A-Za-z]|\p{Cc}/gu;

const outOfMemory = 'killed by the kernel because memory ran out';

/** As people read it: "exit 3", "signal SIGKILL", "unknown". */
export function exitReason({ code, signal, isOutOfMemory, leftBehind = [] }: ProcessExit): string {
  if (isOutOfMemory === true) return outOfMemory;
  const how = signal !== null ? `signal ${signal}` : code !== null ? `exit ${code}` : 'unknown';
  const [first] = leftBehind;
  if (code !== 0 || !first) return how;
  return `it went into the background: its first process ended with exit 0, process ${first.pid} (${first.command.slice(0, longestCommand)}) went on and was ended`;
}

/** The first process of a service stays: one that ends well and leaves others behind went into the background. */
export const isInBackground = ({ code, leftBehind = [] }: ProcessExit): boolean => code === 0 && leftBehind.length > 0;

/** The agent gave up on it: `limitMs` is what it had to get ready in. */
export const notReadyReason = (limitMs: number, exit: ProcessExit): string =>
  `not ready within ${durationText(limitMs)}; the agent ended it (${exitReason(exit)})`;

function durationText(ms: number): string {
  const [count, unit] = ms >= 60_000 ? [Math.round(ms / 60_000), 'minute'] : [Math.round(ms / 1000), 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const unitResults: Readonly<Record<string, string>> = {
  'oom-kill': outOfMemory,
  timeout: 'not ready in time; systemd ended it',
  'stop-timeout': 'it was asked to stop and did not end in time; systemd ended it',
  watchdog: 'it hung: systemd ended it because it showed no sign of life',
  protocol: 'it ended before it was ready',
};

/** In words; undefined: it ended as asked. */
export function unitExitReason({
  result,
  code,
  status,
}: Readonly<Record<'result' | 'code' | 'status', string>>): string | undefined {
  const how = code === 'exited' ? `exit ${status}` : code === '' ? '' : `signal ${status}`;
  const known = unitResults[result];
  if (known !== undefined) return how === '' ? known : `${known} (${how})`;
  if (result === 'success' || (result === '' && how === '')) return undefined;
  return how === '' ? result : how;
}
