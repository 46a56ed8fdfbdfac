import { type DBusValue, Variant } from './values.ts';

/** Properties of one interface, or one section of a profile. */
export type Properties = ReadonlyMap<string, DBusValue>;
export const noProperties: Properties = new Map();

/** Without its variant. */
const bare = (value: DBusValue | undefined): DBusValue | undefined =>
  value instanceof Variant ? bare(value.value) : value;

/** What is missing or has another type becomes the empty value: services of other versions must not break the reader. */
export function textIn(of: Properties, name: string): string {
  const value = bare(of.get(name));
  return typeof value === 'string' ? value : '';
}

export function numberIn(of: Properties, name: string): number {
  const value = bare(of.get(name));
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 0;
}

export function flagIn(of: Properties, name: string, otherwise = false): boolean {
  const value = bare(of.get(name));
  return typeof value === 'boolean' ? value : otherwise;
}

export function bytesIn(of: Properties, name: string): Uint8Array {
  const value = bare(of.get(name));
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

function listIn(of: Properties, name: string): readonly DBusValue[] {
  const value = bare(of.get(name));
  return Array.isArray(value) ? (value as readonly DBusValue[]) : [];
}

export const textsIn = (of: Properties, name: string): string[] =>
  listIn(of, name).filter((value) => typeof value === 'string');

export const sectionsIn = (of: Properties, name: string): Properties[] => listIn(of, name).map(propertiesOf);

export const sectionIn = (of: Properties, name: string): Properties => propertiesOf(of.get(name));

export function propertiesOf(value: DBusValue | undefined): Properties {
  const inner = bare(value);
  return inner instanceof Map ? (inner as Properties) : noProperties;
}
