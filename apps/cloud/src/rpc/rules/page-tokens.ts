import { PlatformError } from '@platform/contract/errors/errors';

/**
 * Page tokens contain the start of the next page and are opaque to clients. An unknown token is an error, never the
 * first page.
 */
const encode = (parts: readonly (string | number)[]): string => btoa(parts.join(' ')).replaceAll('=', '');

function decode(field: string, token: string, pattern: RegExp): readonly (string | undefined)[] {
  const bad = () =>
    new PlatformError('INVALID_ARGUMENT', { field, value: token.slice(0, 80), limit: 'a token of the page before' });
  if (!/^[A-Za-z0-9+/]+$/.test(token) || token.length % 4 === 1) throw bad();
  const found = pattern.exec(atob(token));
  if (!found) throw bad();
  return found.slice(1);
}

export interface LogPlace {
  readonly attempt: number;
  readonly sequence: number;
}
export const logToken = ({ attempt, sequence }: LogPlace): string => encode(['log', attempt, sequence]);

/** The empty token means the start. @throws PlatformError INVALID_ARGUMENT */
export function readLogToken(token: string): LogPlace {
  if (token === '') return { attempt: -1, sequence: 0 };
  const [attempt, sequence] = decode('page_token', token, /^log (-1|\d{1,9}) (\d{1,15})$/);
  return { attempt: Number(attempt), sequence: Number(sequence) };
}

/** @param ordinal - position of the last job of the page in the order of submission. */
export const jobToken = (ordinal: number): string => encode(['jobs', ordinal]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readJobToken(token: string): number | undefined {
  if (token === '') return undefined;
  const [ordinal] = decode('page_token', token, /^jobs (\d{1,15})$/);
  return Number(ordinal);
}

/** @param place - of the last machine of the page in its bulk operation. */
export const bulkToken = (place: number): string => encode(['bulk', place]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readBulkToken(token: string): number | undefined {
  if (token === '') return undefined;
  const [place] = decode('page_token', token, /^bulk (\d{1,9})$/);
  return Number(place);
}

/** Position in the events of a machine: a time in ms since 1970, and how many events of it came before. */
interface TimelineTokenPlace {
  readonly time: number;
  readonly skip: number;
}
export const timelineToken = ({ time, skip }: TimelineTokenPlace): string => encode(['events', time, skip]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readTimelineToken(token: string): TimelineTokenPlace | undefined {
  if (token === '') return undefined;
  const [time, skip] = decode('page_token', token, /^events ((?:-\d{1,14}|\d{1,15})(?:\.\d{1,6})?) (\d{1,4})$/);
  return { time: Number(time), skip: Number(skip) };
}

/** @param skip - how many conditions come before. */
export const conditionToken = (skip: number): string => encode(['conditions', skip]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readConditionToken(token: string): number | undefined {
  if (token === '') return undefined;
  const [skip] = decode('page_token', token, /^conditions (\d{1,9})$/);
  return Number(skip);
}

/** Position in the order by name, ties broken by ID. */
export interface MachinePlace {
  readonly name: string;
  readonly id: string;
}
/** Number: how many machines come before, in orders other than by name. */
export const machineToken = (place: MachinePlace | number): string =>
  typeof place === 'number'
    ? encode(['machines-from', place])
    : encode(['machines', encodeURIComponent(place.name), place.id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readMachineToken(token: string): MachinePlace | number | undefined {
  if (token === '') return undefined;
  const [skip, name = '', id = ''] = decode(
    'page_token',
    token,
    /^machines(?:-from (\d{1,9})| ((?:[^ %]|%[0-9A-F]{2})*) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))$/,
  );
  return skip === undefined ? { name: decodeName(name), id } : Number(skip);
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    const of = { field: 'page_token', value: name.slice(0, 80), limit: 'a token of the page before' };
    throw new PlatformError('INVALID_ARGUMENT', of, error);
  }
}

/** @param ordinal - position in the order of publication. */
export const packageToken = (ordinal: number): string => encode(['packages', ordinal]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readPackageToken(token: string): number | undefined {
  if (token === '') return undefined;
  const [ordinal] = decode('page_token', token, /^packages (\d{1,15})$/);
  return Number(ordinal);
}

/** Position in the order by creation, newest first, ties broken by ID. */
export const datasetToken = ({ us, id }: DataPlace): string => encode(['datasets', us, id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readDatasetToken(token: string): DataPlace | undefined {
  if (token === '') return undefined;
  const [us, id] = decode('page_token', token, /^datasets (-?\d{1,16}) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/);
  return { us: Number(us), id: id ?? '' };
}

/** Position in the order by publication, newest first, ties broken by name, version and platform. */
export interface ReleasePlace {
  readonly us: number;
  readonly name: string;
  readonly version: string;
  readonly platform: string;
}
export const releaseToken = ({ us, name, version, platform }: ReleasePlace): string =>
  encode(['releases', us, ...[name, version, platform].map(encodeURIComponent)]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readReleaseToken(token: string): ReleasePlace | undefined {
  if (token === '') return undefined;
  const text = '((?:[^ %]|%[0-9A-F]{2})*)';
  const pattern = new RegExp(`^releases (-?\\d{1,16}) ${text} ${text} ${text}$`);
  const [us, ...texts] = decode('page_token', token, pattern);
  const [name = '', version = '', platform = ''] = texts.map((part = '') => decodeName(part));
  return { us: Number(us), name, version, platform };
}

const longestPage = 1000;

/**
 * Reads the page of a list request. `size` 0: as many rows as a response holds. @throws PlatformError INVALID_ARGUMENT
 */
export function pageOf<P>(
  { pageSize, pageToken }: { pageSize: number; pageToken: string },
  read: (token: string) => P | undefined,
): { after: P | undefined; size: number } {
  if (pageSize > longestPage) {
    const limit = `1 to ${longestPage}, or 0 for as many as an answer holds`;
    throw new PlatformError('INVALID_ARGUMENT', { field: 'page_size', value: pageSize, limit });
  }
  return { after: read(pageToken), size: pageSize };
}

/** Position in the order by time, ties broken by ID. */
export interface DataPlace {
  readonly us: number;
  readonly id: string;
}
export const dataToken = ({ us, id }: DataPlace): string => encode(['data', us, id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readDataToken(token: string): DataPlace | undefined {
  if (token === '') return undefined;
  const [us, id] = decode('last', token, /^data (-?\d{1,18}) ([0-9a-f-]{36})$/);
  return { us: Number(us), id: id ?? '' };
}

/** Position in the order by creation, newest first, ties broken by ID. */
export const sequenceToken = ({ us, id }: DataPlace): string => encode(['sequences', us, id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readSequenceToken(token: string): DataPlace | undefined {
  if (token === '') return undefined;
  const [us, id] = decode(
    'page_token',
    token,
    /^sequences (-?\d{1,18}) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
  );
  return { us: Number(us), id: id ?? '' };
}

/** A place between log lines: the time of a line in UTC, exact to the microsecond, and its ID. */
export interface LineTokenPlace {
  readonly time: string;
  readonly id: number;
}
export const lineToken = ({ time, id }: LineTokenPlace): string => encode(['line', time, id]);

/** The empty token means the start. @throws PlatformError INVALID_ARGUMENT */
export function readLineToken(token: string): LineTokenPlace | undefined {
  if (token === '') return undefined;
  const pattern =
    /^line (\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}) (\d{1,15})$/;
  const [time = '', id] = decode('cursor', token, pattern);
  return { time, id: Number(id) };
}
