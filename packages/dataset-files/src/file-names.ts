import type { Split } from '@platform/contract/job/job';

const splitNames: Readonly<Record<string, Split>> = {
  train: 'train',
  training: 'train',
  val: 'validation',
  valid: 'validation',
  validation: 'validation',
  test: 'test',
  testing: 'test',
};
/** The split that a folder or file name stands for. */
export const splitOf = (name: string): Split | undefined => {
  const key = name.toLowerCase();
  return Object.hasOwn(splitNames, key) ? splitNames[key] : undefined;
};
/** The split of the deepest folder that is called like one. */
export const splitOfFolders = (path: string): Split | undefined =>
  folderName(path)
    .split('/')
    .map(splitOf)
    .findLast((split) => split !== undefined);

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
export const folderName = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '');
export const withoutExtension = (path: string): string => path.replace(/\.[^./]*$/, '');
/** In lower case, without the dot; '' if there is none. */
export const extensionOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';

/** The path with forward slashes, without a drive, a root or dot segments. */
export const plainPath = (path: string): string =>
  path
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:\//, '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.' && part !== '..')
    .join('/');

const shorter = (path: string): string => (path.includes('/') ? path.slice(path.indexOf('/') + 1) : '');

/** The path without percent-encoding; undefined if it has none, or none that is valid. */
function decoded(path: string): string | undefined {
  if (!/%[0-9a-f]{2}/i.test(path)) return undefined;
  try {
    return decodeURIComponent(path).normalize('NFC');
  } catch {
    return undefined;
  }
}

/** Finds a file of the folder for a path as another host wrote it; `among` narrows the choice between equal names. */
export type FindFile = (written: string, among?: (path: string) => boolean) => string | undefined;

/**
 * Names are compared in NFC: by the longest suffix that fits exactly one file. Where none fits, the percent-decoded
 * name is compared, then the name of which percent-decoding gives the searched one.
 */
export function fileFinder(paths: readonly string[], keyOf: (path: string) => string = (path) => path): FindFile {
  const byEnd = new Map<string, string[]>();
  const exact = new Map<string, string>();
  const add = (key: string, path: string): void => {
    const known = byEnd.get(key);
    if (known) known.push(path);
    else byEnd.set(key, [path]);
  };
  const encoded = new Map<string, string[]>();
  for (const path of paths) {
    const key = keyOf(path).normalize('NFC');
    if (!exact.has(key)) exact.set(key, path);
    for (let end = key; end !== ''; end = shorter(end)) add(end, path);
    const plain = decoded(key);
    if (plain !== undefined) encoded.set(baseName(plain), [...(encoded.get(baseName(plain)) ?? []), path]);
  }
  const find = (name: string, among: (path: string) => boolean): string | undefined => {
    for (let end = name; end !== ''; end = shorter(end)) {
      const whole = exact.get(end);
      if (whole !== undefined && among(whole)) return whole;
      const fitting = byEnd.get(end)?.filter(among) ?? [];
      if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
    }
    return undefined;
  };
  return (written, among = () => true) => {
    const name = keyOf(plainPath(written)).normalize('NFC');
    const found = find(name, among);
    if (found !== undefined) return found;
    const plain = decoded(name);
    const other = plain === undefined ? undefined : find(plain, among);
    if (other !== undefined) return other;
    const fitting = encoded.get(baseName(name))?.filter(among) ?? [];
    return fitting.length === 1 ? fitting[0] : undefined;
  };
}
