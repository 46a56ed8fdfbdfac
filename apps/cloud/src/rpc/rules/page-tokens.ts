import { PlatformError } from '@platform/contract/errors/errors';
import { invalidArgument } from './invalid-argument.ts';

const limit = 'a token of the page before';

function decode(field: string, token: string, pattern: RegExp): string[] {
  const bad = () => invalidArgument(field, token.slice(0, 80), limit);
  if (!/^[A-Za-z0-9+/]+$/.test(token) || token.length % 4 === 1) throw bad();
  const match = pattern.exec(atob(token));
  if (!match) throw bad();
  return match.slice(1).map((part: string | undefined) => part ?? '');
}

/**
 * Page tokens contain the start of the next page and are opaque to clients. An unknown token is an error, never the
 * first page.
 *
 * @param of - `field`: of the request; `pattern`: of the texts of a place.
 * @returns writes a token, and reads one. The empty token means the first page. `read` throws INVALID_ARGUMENT.
 */
function tokens<P>(of: {
  kind: string;
  field?: string;
  pattern: string;
  texts: (place: P) => readonly (string | number)[];
  place: (texts: readonly string[]) => P;
}): [write: (place: P) => string, read: (token: string) => P | undefined] {
  const pattern = new RegExp(`^${of.kind} ${of.pattern}$`);
  return [
    (place) => btoa([of.kind, ...of.texts(place)].join(' ')).replaceAll('=', ''),
    (token) => (token === '' ? undefined : of.place(decode(of.field ?? 'page_token', token, pattern))),
  ];
}

/** Tokens of a place that is one number. */
const numbers = (kind: string, digits: number) =>
  tokens<number>({
    kind,
    pattern: `(\\d{1,${digits}})`,
    texts: (place) => [place],
    place: ([text]) => Number(text),
  });

/** The position of the last job of the page in the order of submission. */
export const [jobToken, readJobToken] = numbers('jobs', 15);
/** The place of the last machine of the page in its bulk operation. */
export const [bulkToken, readBulkToken] = numbers('bulk', 9);
/** How many conditions come before. */
export const [conditionToken, readConditionToken] = numbers('conditions', 9);
/** The position in the order of publication. */
export const [packageToken, readPackageToken] = numbers('packages', 15);

const uuid = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';

/** Position in an order by time, ties broken by ID. */
export interface DataPlace {
  readonly us: number;
  readonly id: string;
}
const places = (kind: string, pattern: string, field?: string) =>
  tokens<DataPlace>({
    kind,
    ...(field !== undefined && { field }),
    pattern,
    texts: ({ us, id }) => [us, id],
    place: ([us, id = '']) => ({ us: Number(us), id }),
  });
export const [dataToken, readDataToken] = places('data', '(-?\\d{1,18}) ([0-9a-f-]{36})', 'last');
/** Newest first, as that of sequences. */
export const [datasetToken, readDatasetToken] = places('datasets', `(-?\\d{1,16}) ${uuid}`);
export const [sequenceToken, readSequenceToken] = places('sequences', `(-?\\d{1,18}) ${uuid}`);

export interface LogPlace {
  readonly attempt: number;
  readonly sequence: number;
}
const [writeLogToken, readLogPlace] = tokens<LogPlace>({
  kind: 'log',
  pattern: '(-1|\\d{1,9}) (\\d{1,15})',
  texts: ({ attempt, sequence }) => [attempt, sequence],
  place: ([attempt, sequence]) => ({ attempt: Number(attempt), sequence: Number(sequence) }),
});
export const logToken = writeLogToken;
export const readLogToken = (token: string): LogPlace => readLogPlace(token) ?? { attempt: -1, sequence: 0 };

/** Position in the events of a machine: a time in ms since 1970, and how many events of it came before. */
export const [timelineToken, readTimelineToken] = tokens<{ readonly time: number; readonly skip: number }>({
  kind: 'events',
  pattern: '((?:-\\d{1,14}|\\d{1,15})(?:\\.\\d{1,6})?) (\\d{1,4})',
  texts: ({ time, skip }) => [time, skip],
  place: ([time, skip]) => ({ time: Number(time), skip: Number(skip) }),
});

/** A place between log lines: the time of a line in UTC, exact to the microsecond, and its ID. */
export interface LineTokenPlace {
  readonly time: string;
  readonly id: number;
}
const day = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])';
export const [lineToken, readLineToken] = tokens<LineTokenPlace>({
  kind: 'line',
  field: 'cursor',
  pattern: `(${day}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{6}) (\\d{1,15})`,
  texts: ({ time, id }) => [time, id],
  place: ([time = '', id]) => ({ time, id: Number(id) }),
});

/** A name as one word of a token. */
const word = '((?:[^ %]|%[0-9A-F]{2})*)';
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'page_token', value: name.slice(0, 80), limit }, error);
  }
}

/** Position in the order by name, ties broken by ID. */
export interface MachinePlace {
  readonly name: string;
  readonly id: string;
}
/** Number: how many machines come before, in orders other than by name. */
export const [machineToken, readMachineToken] = tokens<MachinePlace | number>({
  kind: 'machines',
  pattern: `(?:from (\\d{1,9})|${word} ${uuid})`,
  texts: (place) => (typeof place === 'number' ? ['from', place] : [encodeURIComponent(place.name), place.id]),
  place: ([skip, name = '', id = '']) => (skip === '' ? { name: decodeName(name), id } : Number(skip)),
});

/** Position in the order by publication, newest first, ties broken by name, version and platform. */
export interface ReleasePlace {
  readonly us: number;
  readonly name: string;
  readonly version: string;
  readonly platform: string;
}
export const [releaseToken, readReleaseToken] = tokens<ReleasePlace>({
  kind: 'releases',
  pattern: `(-?\\d{1,16}) ${word} ${word} ${word}`,
  texts: ({ us, name, version, platform }) => [us, ...[name, version, platform].map(encodeURIComponent)],
  place([us, ...names]) {
    const [name = '', version = '', platform = ''] = names.map(decodeName);
    return { us: Number(us), name, version, platform };
  },
});

const longestPage = 1000;

/**
 * Reads the page of a list request. `size` 0: as many rows as a response holds. @throws PlatformError INVALID_ARGUMENT
 */
export function pageOf<P>(
  { pageSize, pageToken }: { pageSize: number; pageToken: string },
  read: (token: string) => P | undefined,
): { after: P | undefined; size: number } {
  if (pageSize > longestPage)
    throw invalidArgument('page_size', pageSize, `1 to ${longestPage}, or 0 for as many as an answer holds`);
  return { after: read(pageToken), size: pageSize };
}
