import { PlatformError } from '@platform/contract/errors';

/** Where the next page begins, opaque to clients. A token that we did not make is refused, never read as "from the start". */
const encode = (parts: readonly (string | number)[]): string => btoa(parts.join(' ')).replaceAll('=', '');

function decode(field: string, token: string, pattern: RegExp): readonly string[] {
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

/** Of the last job on the page before, its place in the order of submission. */
export const jobToken = (ordinal: number): string => encode(['jobs', ordinal]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readJobToken(token: string): number | undefined {
  if (token === '') return undefined;
  const [ordinal] = decode('page_token', token, /^jobs (\d{1,15})$/);
  return Number(ordinal);
}

/** Place in the order by time, ties broken by id. */
export interface DataPlace {
  readonly us: number;
  readonly id: string;
}
export const dataToken = ({ us, id }: DataPlace): string => encode(['data', us, id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readDataToken(token: string): DataPlace | undefined {
  if (token === '') return undefined;
  const [us, id] = decode('last', token, /^data (-?\d{1,16}) ([0-9a-f-]{36})$/);
  return { us: Number(us), id: id ?? '' };
}
