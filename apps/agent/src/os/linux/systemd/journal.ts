import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { UnitExit } from '../../ports.ts';
import { signalNames } from '../../posix/signals.ts';

const answerMs = 10_000;
const mostBytes = 4 * 2 ** 20;
const mostEntries = 200;

/** A run of a unit according to the journal. */
export interface JournalRun {
  /** The program's output, oldest first. */
  lines: readonly string[];
  /** The same, with systemd's own messages about the unit. */
  words: readonly string[];
  exit: UnitExit;
  /** Time of its last entry, ms since 1970. */
  atWall: number;
}

/** Returns the unit's previous run; undefined: there is none, or there is no journal. */
export async function previousRunOf(unit: string, env: NodeJS.ProcessEnv): Promise<JournalRun | undefined> {
  const thisRun = env['INVOCATION_ID'];
  if (thisRun === undefined) return undefined; // not started by systemd, so there is no journal
  const args = ['-u', unit, '-o', 'json', '-n', String(mostEntries), '--no-pager'];
  const { stdout } = await promisify(execFile)('journalctl', args, { timeout: answerMs, maxBuffer: mostBytes });
  return lastRun(stdout, thisRun);
}

/**
 * systemd logs nothing about an exit that it considers clean, including a death by its own SIGTERM. So no other entry
 * names the signal that ended a start that timed out. A stop that takes too long has the result "timeout", too, but
 * only a stop has a job.
 */
function wholeExit(exit: UnitExit, isStop: boolean): UnitExit {
  if (exit.result !== 'timeout') return exit;
  if (isStop) return { ...exit, result: 'stop-timeout' };
  return exit.code === '' ? { ...exit, code: 'killed', status: 'SIGTERM' } : exit;
}

interface Entry {
  run: string;
  text: string;
  /** A message of systemd about the unit. */
  isOfSystemd: boolean;
  /** systemd was requested to stop the unit. */
  isStop: boolean;
  exit: Partial<UnitExit>;
  atWall: number;
}

/**
 * Finds the newest run other than `thisRun` in the output of `journalctl -o json`. systemd logs how a process of a unit
 * ended (EXIT_CODE, EXIT_STATUS). It also logs the unit's result if it failed (UNIT_RESULT). So a unit needs no
 * ExecStopPost for it.
 */
export function lastRun(output: string, thisRun: string): JournalRun | undefined {
  const entries = output.split('\n').flatMap((line) => {
    const entry = entryOf(line);
    return entry && entry.run !== thisRun ? [entry] : [];
  });
  const last = entries.at(-1);
  if (!last) return undefined;
  const own = entries.filter(({ run }) => run === last.run);
  const exit = own.reduce((all, entry) => ({ ...all, ...entry.exit }), { result: '', code: '', status: '' });
  return {
    exit: wholeExit(
      exit,
      own.some(({ isStop }) => isStop),
    ),
    lines: own.filter(({ isOfSystemd }) => !isOfSystemd).map(({ text }) => text),
    words: own.map(({ text }) => text),
    atWall: last.atWall,
  };
}

const textIn = (value: unknown): string | undefined =>
  // journalctl writes bytes that are not text as a list of numbers.
  Array.isArray(value)
    ? Buffer.from(value as number[]).toString('utf8')
    : typeof value === 'string'
      ? value
      : undefined;

function entryOf(line: string): Entry | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  const fields = json as Record<string, unknown>;
  // The unit's own lines carry its run in `_SYSTEMD_INVOCATION_ID`; systemd's lines about it in `INVOCATION_ID`.
  const aboutRun = textIn(fields['INVOCATION_ID']);
  const run = aboutRun ?? textIn(fields['_SYSTEMD_INVOCATION_ID']);
  const text = textIn(fields['MESSAGE']);
  if (run === undefined || text === undefined) return undefined;
  // The gate, which runs before the program, exits, too: only the exit of the main process counts.
  const isMain = textIn(fields['COMMAND']) === 'ExecStart';
  const [code, number] = [textIn(fields['EXIT_CODE']), textIn(fields['EXIT_STATUS'])];
  const status = code === 'exited' || number === undefined ? number : (signalNames[Number(number)] ?? number);
  const result = textIn(fields['UNIT_RESULT']);
  const isOfGate = /^(?:sh|gate)$/.test(textIn(fields['SYSLOG_IDENTIFIER']) ?? '');
  return {
    run,
    text,
    isOfSystemd: aboutRun !== undefined || isOfGate,
    isStop: aboutRun !== undefined && textIn(fields['JOB_TYPE']) === 'stop',
    exit: {
      ...(isMain && code !== undefined && { code }),
      ...(isMain && status !== undefined && { status }),
      ...(result !== undefined && { result }),
    },
    atWall: Math.round(Number(textIn(fields['__REALTIME_TIMESTAMP']) ?? 0) / 1000),
  };
}
