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

/** Place in the order by name, ties broken by id. */
export interface MachinePlace {
  readonly name: string;
  readonly id: string;
}
export const machineToken = ({ name, id }: MachinePlace): string => encode(['machines', encodeURIComponent(name), id]);

/** The empty token means the first page. @throws PlatformError INVALID_ARGUMENT */
export function readMachineToken(token: string): MachinePlace | undefined {
  if (token === '') return undefined;
  const [name = '', id = ''] = decode(
    'page_token',
    token,
    /^machines ((?:[^ %]|%[0-9A-F]{2})*) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
  );
  return { name: decodeName(name), id };
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    const of = { field: 'page_token', value: name.slice(0, 80), limit: 'a token of the page before' };
    throw new PlatformError('INVALID_ARGUMENT', of, error);
  }
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
