/**
 * A version in use that has not proved itself yet. On disk one line, "<from> <to> <starts> <clearance> <since> <needs>":
 * the gate, a shell script, reads it, too.
 */
export interface Trial {
  /** The version that is back when this one fails. */
  from: string;
  to: string;
  /** How often it was started so far; counted before each start. */
  starts: number;
  /** What the quarantine is written with should it fail. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  /** To prove itself, it has to reach the management server as well: the version before it could. */
  needs: 'cloud' | 'local';
}

export const mostStarts = 3;

const idPattern = /^[A-Za-z0-9._+-]+-[0-9a-f]{12}$/;
export const isId = (text: string | undefined): text is string => text !== undefined && idPattern.test(text);

/** Whether two versions are the same bytes, whatever they are called. */
export const isSameContent = (a: string, b: string): boolean => a.slice(-12) === b.slice(-12);

const whole = (text: string | undefined): number => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : 0);

export const trialLine = ({ from, to, starts, clearance, since, needs }: Trial): string =>
  `${from} ${to} ${starts} ${clearance} ${since} ${needs}\n`;

/** Undefined: it is no such line. */
export function readTrialLine(text: string): Trial | undefined {
  const [from, to, starts, clearance, since, needs] = text.split('\n')[0]?.split(' ') ?? [];
  if (!isId(from) || !isId(to) || !/^\d+$/.test(starts ?? '')) return undefined;
  return {
    from,
    to,
    starts: whole(starts),
    clearance: whole(clearance),
    since: whole(since),
    needs: needs === 'cloud' ? 'cloud' : 'local',
  };
}

/** A version that failed on this machine. */
export interface Bad {
  id: string;
  /** The clearance of the time: under a greater one it may be tried again. */
  clearance: number;
  /** Seconds since 1970. */
  since: number;
  reason: string;
}

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
