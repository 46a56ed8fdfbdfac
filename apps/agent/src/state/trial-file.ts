/**
 * A version in use that has not proved itself yet. On disk one line, "<from> <to> <starts> <clearance> <since> <needs> <boot>
 * <cuts>": the gate, a shell script, reads it, too. Older gates leave the last two words out.
 */
export interface Trial {
  /** The version that is back when this one fails. */
  from: string;
  to: string;
  /** How often it was started so far and was left alone to prove itself; counted before each start. */
  starts: number;
  /** What the quarantine is written with should it fail. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  /** To prove itself, it has to reach the management server as well: the version before it could. */
  needs: 'cloud' | 'local';
  /** The start of the machine in which it was started last; `interrupted`; empty: not known. */
  boot: string;
  /** Starts that were cut short by something else: they are none of `starts`. */
  cuts: number;
}

export const mostStarts = 3;
/** The power may fail, and people may restart the agent, so often. A version that takes the machine down with it ends here. */
export const mostCuts = 5;
export const trialReason = `it did not prove itself in ${mostStarts} starts`;
export const cutsReason = `it was cut short ${mostCuts + 1} times, by a power cut or a restart, before it had proved itself`;
/** So often a file that the disk damaged on trial is fetched again. */
export const mostRefetches = 2;
export const damagedReason = `its file was damaged on the disk ${mostRefetches + 1} times`;
/** In place of a start of the machine: it was asked to stop, and did. */
export const interrupted = 'interrupted';

const idPattern = /^[A-Za-z0-9._+-]+-[0-9a-f]{12}$/;
export const isId = (text: string | undefined): text is string => text !== undefined && idPattern.test(text);

/** Whether two versions are the same bytes, whatever they are called. */
export const isSameContent = (a: string, b: string): boolean => a.slice(-12) === b.slice(-12);

const boot = /^[A-Za-z0-9-]{2,40}$/;
/** A number from 0 to 99, as a shell can calculate with it. */
const count = (text: string | undefined): number | undefined =>
  /^(0|[1-9]\d?)$/.test(text ?? '') ? Number(text) : undefined;
const whole = (text: string | undefined): number => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : 0);

export const trialLine = ({ from, to, starts, clearance, since, needs, boot: last, cuts }: Trial): string =>
  `${from} ${to} ${starts} ${clearance} ${since} ${needs} ${boot.test(last) ? last : '-'} ${cuts}\n`;

/** Undefined: it is no such line. */
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
 * One start more, in this start of the machine (empty: not known). A start that the machine did not survive says nothing
 * about the version, or little: it is made again, some times.
 */
export function withStart(trial: Trial, now: string): Trial {
  const wasCut = trial.starts > 0 && trial.boot !== '' && boot.test(now) && trial.boot !== now;
  const { starts, cuts } = trial;
  return { ...trial, starts: wasCut ? starts : starts + 1, cuts: wasCut ? cuts + 1 : cuts, boot: now };
}

/** Why a version may not be started once more; undefined: it may. */
export const spentBy = ({ starts, cuts }: Trial): string | undefined =>
  cuts > mostCuts ? cutsReason : starts > mostStarts ? trialReason : undefined;

/** A version that failed on this machine. */
export interface Bad {
  id: string;
  /** The clearance of the time: under a greater one it may be tried again. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  reason: string;
}

/** What a new agent did not do, in words. */
export const unreached = 'it did not reach the management server';
/** That was all that it did not do. */
export const wasOnlyUnreached = ({ reason }: Pick<Bad, 'reason'>): boolean =>
  /^after \d+ minutes?: /.test(reason) && reason.endsWith(`: ${unreached}`) && !reason.includes(';');

const keptLines = 50;

export const badLine = ({ id, clearance, since, reason }: Bad): string =>
  `${id} ${clearance} ${since} ${reason.replace(/\s+/g, ' ').slice(0, 300)}\n`;

/** Oldest first; what is no such line is passed over. */
export function readBadLines(text: string): Bad[] {
  return text.split('\n').flatMap((line): Bad[] => {
    const [id, clearance, since, ...reason] = line.split(' ');
    if (!isId(id)) return [];
    return [{ id, clearance: whole(clearance), since: whole(since), reason: reason.join(' ') }];
  });
}

/** The file with one more line, the oldest left out when there are too many, an earlier one of the same version too. */
export const withBad = (text: string, bad: Bad): string =>
  [...readBadLines(text).filter(({ id }) => !isSameContent(id, bad.id)), bad].slice(-keptLines).map(badLine).join('');

export const isQuarantined = (list: readonly Bad[], id: string, clearance: number): Bad | undefined =>
  list.findLast((bad) => isSameContent(bad.id, id) && bad.clearance >= clearance);
