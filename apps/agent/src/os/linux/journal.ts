import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { UnitExit } from '../ports.ts';
import { signalNames } from '../posix/signals.ts';

const answerMs = 10_000;
const mostBytes = 4 * 2 ** 20;
const mostEntries = 200;

/** A run of a unit, as the journal has it; oldest first. */
export interface JournalRun {
  /** What the program wrote. */
  lines: readonly string[];
  /** The same with what systemd wrote about it. */
  words: readonly string[];
  exit: UnitExit;
  /** Of its last entry, ms since 1970. */
  atWall: number;
}

/** The unit's run before this one; undefined: there is none, or nobody keeps a journal. */
export async function previousRunOf(unit: string, env: NodeJS.ProcessEnv): Promise<JournalRun | undefined> {
  const thisRun = env['INVOCATION_ID'];
  if (thisRun === undefined) return undefined; // nobody who keeps a journal started this agent
  const args = ['-u', unit, '-o', 'json', '-n', String(mostEntries), '--no-pager'];
  const { stdout } = await promisify(execFile)('journalctl', args, { timeout: answerMs, maxBuffer: mostBytes });
  return lastRun(stdout, thisRun);
}

/**
 * systemd writes nothing about an end that it takes for clean, which is one by its own TERM, too: nothing else in the journal says which
 * signal ended a start that took too long. The result is "timeout" for a stop that took too long as well; only a stop has a job.
 */
function wholeExit(exit: UnitExit, isStop: boolean): UnitExit {
  if (exit.result !== 'timeout') return exit;
  if (isStop) return { ...exit, result: 'stop-timeout' };
  return exit.code === '' ? { ...exit, code: 'killed', status: 'SIGTERM' } : exit;
}

interface Entry {
  run: string;
  text: string;
  /** systemd wrote it about the unit. */
  isOfSystemd: boolean;
  /** Somebody asked systemd to stop the unit. */
  isStop: boolean;
  exit: Partial<UnitExit>;
  atWall: number;
}

/**
 * The newest run that is not `thisRun`, from `journalctl -o json`. systemd notes how a process of a unit ended in fields of its own
 * (EXIT_CODE, EXIT_STATUS), and the result of the unit (UNIT_RESULT) if it failed: so a unit needs no ExecStopPost for it.
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
  // Bytes that are no text come as a list of numbers.
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
  // Lines of the unit carry its own run, those of systemd about the unit the one they tell of.
  const told = textIn(fields['INVOCATION_ID']);
  const run = told ?? textIn(fields['_SYSTEMD_INVOCATION_ID']);
  const text = textIn(fields['MESSAGE']);
  if (run === undefined || text === undefined) return undefined;
  // The gate, which runs before the program, ends too: only the program's own end counts.
  const isMain = textIn(fields['COMMAND']) === 'ExecStart';
  const [code, number] = [textIn(fields['EXIT_CODE']), textIn(fields['EXIT_STATUS'])];
  const status = code === 'exited' || number === undefined ? number : (signalNames[Number(number)] ?? number);
  const result = textIn(fields['UNIT_RESULT']);
  const isOfGate = /^(?:sh|gate)$/.test(textIn(fields['SYSLOG_IDENTIFIER']) ?? '');
  return {
    run,
    text,
    isOfSystemd: told !== undefined || isOfGate,
    isStop: told !== undefined && textIn(fields['JOB_TYPE']) === 'stop',
    exit: {
      ...(isMain && code !== undefined && { code }),
      ...(isMain && status !== undefined && { status }),
      ...(result !== undefined && { result }),
    },
    atWall: Math.round(Number(textIn(fields['__REALTIME_TIMESTAMP']) ?? 0) / 1000),
  };
}
