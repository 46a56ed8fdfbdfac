/**
 * A version in use that has not passed the health check yet. It is stored as one line, because the gate reads it in
 * a shell script: "<from> <to> <starts> <clearance> <since> <needs> <boot> <cuts>".
 */
export interface Trial {
  /** The version to restore if this one fails. */
  from: string;
  to: string;
  /** Number of starts, without those in `cuts`; incremented before each start. */
  starts: number;
  /** Clearance of the quarantine entry if it fails. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  /** `cloud`: to pass the health check, it also has to reach the management server, as the previous version did. */
  needs: 'cloud' | 'local';
  /** Boot ID of its last start, or `interrupted`; empty: unknown. */
  boot: string;
  /** Starts that a reboot or a requested stop cut short. They are not in `starts`. */
  cuts: number;
}

export const mostStarts = 3;
/** Power cuts and requested restarts during a trial. The limit also stops a version that crashes the machine. */
export const mostCuts = 5;
export const trialReason = `it did not pass the health check in ${mostStarts} starts`;
export const cutsReason = `it was cut short ${mostCuts + 1} times, by a power cut or a restart, before it had passed the health check`;
/** How often a file that the disk damaged during its trial is fetched again. */
export const mostRefetches = 2;
export const damagedReason = `its file was damaged on the disk ${mostRefetches + 1} times`;
/** Replaces the boot ID after a requested stop. */
export const interrupted = 'interrupted';

const idPattern = /^[A-Za-z0-9._+-]+-[0-9a-f]{12}$/;
export const isId = (text: string | undefined): text is string => text !== undefined && idPattern.test(text);

/** Compares the content hashes only, not the version strings. */
export const isSameContent = (a: string, b: string): boolean => a.slice(-12) === b.slice(-12);

const boot = /^[A-Za-z0-9-]{2,40}$/;
/** A number from 0 to 99 without leading zeros, which a shell would read as octal. */
const count = (text: string | undefined): number | undefined =>
  /^(0|[1-9]\d?)$/.test(text ?? '') ? Number(text) : undefined;
const whole = (text: string | undefined): number => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : 0);

export const trialLine = ({ from, to, starts, clearance, since, needs, boot: last, cuts }: Trial): string =>
  `${from} ${to} ${starts} ${clearance} ${since} ${needs} ${boot.test(last) ? last : '-'} ${cuts}\n`;

/** Undefined: the text is not a trial line. */
export function readTrialLine(text: string): Trial | undefined {
  const [from, to, started, clearance, since, needs, last = '', cuts] = text.split('\n')[0]?.split(' ') ?? [];
  const starts = count(started);
  if (!isId(from) || !isId(to) || starts === undefined) return undefined;
  return {
    from,
    to,
    starts,
    clearance: whole(clearance),
    since: whole(since),
    needs: needs === 'cloud' ? 'cloud' : 'local',
    boot: boot.test(last) ? last : '',
    cuts: count(cuts) ?? 0,
  };
}

/**
 * Counts one more start. A start that a reboot or a requested stop cut short is hardly the version's fault. It counts
 * in `cuts` only.
 *
 * @param now - boot ID; empty: unknown.
 */
export function withStart(trial: Trial, now: string): Trial {
  const wasCut = trial.starts > 0 && trial.boot !== '' && boot.test(now) && trial.boot !== now;
  const { starts, cuts } = trial;
  return { ...trial, starts: wasCut ? starts : starts + 1, cuts: wasCut ? cuts + 1 : cuts, boot: now };
}

/** Why a version may not start again; undefined: it may. */
export const spentBy = ({ starts, cuts }: Trial): string | undefined =>
  cuts > mostCuts ? cutsReason : starts > mostStarts ? trialReason : undefined;

/** An entry of the quarantine: a version that failed on this machine. */
export interface Bad {
  id: string;
  /** Clearance when it failed; a greater one allows another try. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  /** For display. */
  reason: string;
  /**
   * A `QuarantineCode`, or a code of a newer agent. Left out: the entry has none, because the gate script wrote it.
   */
  code?: string | undefined;
}

/** The check that a version on trial failed. Stored, so a code is never renamed. */
export type TrialCheckCode =
  | 'NOT_READY'
  | 'WATCHDOG_MISSED'
  | 'SERVER_NOT_ADOPTED'
  | 'CLOUD_UNREACHED'
  | 'AGENT_TASK_FAILED';
export type QuarantineCode = TrialCheckCode | 'SEVERAL_CHECKS';

export const quarantineCode = ([first, ...others]: readonly { code: TrialCheckCode }[]): QuarantineCode | undefined =>
  others.length > 0 ? 'SEVERAL_CHECKS' : first?.code;

/** Part of the reason if a new agent cannot reach the management server. */
export const unreached = 'it did not reach the management server';
/** Whether this was the only reason. */
export const wasOnlyUnreached = ({ code }: Pick<Bad, 'code'>): boolean =>
  code === ('CLOUD_UNREACHED' satisfies QuarantineCode);

const keptLines = 50;

const codeLine = /^code (\S+) ([A-Z][A-Z_]{0,39})$/;

/** One line, and a second one with the code. The gate script skips the second, because it does not begin with an id. */
export const badLine = ({ id, clearance, since, reason, code }: Bad): string =>
  `${id} ${clearance} ${since} ${reason.replace(/\s+/g, ' ').slice(0, 300)}\n${code === undefined ? '' : `code ${id} ${code}\n`}`;

/**
 * Oldest first; lines in another format are skipped. A code belongs to the entry directly before it: the gate script
 * replaces an entry without removing its code.
 */
export function readBadLines(text: string): Bad[] {
  const lines = text.split('\n');
  return lines.flatMap((line, i): Bad[] => {
    const [id, clearance, since, ...reason] = line.split(' ');
    if (!isId(id)) return [];
    const [, of, code] = codeLine.exec(lines[i + 1] ?? '') ?? [];
    const entry = { id, clearance: whole(clearance), since: whole(since), reason: reason.join(' ') };
    return [code !== undefined && of === id ? { ...entry, code } : entry];
  });
}

/** Adds an entry in place of an earlier one for the same content. Beyond `keptLines`, the oldest are dropped. */
export const withBad = (text: string, bad: Bad): string =>
  [...readBadLines(text).filter(({ id }) => !isSameContent(id, bad.id)), bad].slice(-keptLines).map(badLine).join('');

export const isQuarantined = (list: readonly Bad[], id: string, clearance: number): Bad | undefined =>
  list.findLast((bad) => isSameContent(bad.id, id) && bad.clearance >= clearance);
