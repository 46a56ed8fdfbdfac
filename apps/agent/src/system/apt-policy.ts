// Which repositories automatic upgrades use, from the output of `apt-cache policy`. Pure.

/** One repository of `apt-cache policy`; empty fields: its Release file does not have them. */
export interface Repository {
  origin: string;
  codename: string;
  archive: string;
  label: string;
  /** Host of its URL; empty: a folder. */
  site: string;
  priority: number;
}

/** Values contain commas ("Acme, Inc."); a comma that ends one comes before the next letter and its "=". */
const fieldsOf = (release: string): ReadonlyMap<string, string> =>
  new Map(release.split(/,(?=[a-z]=)/).map((field) => [field.slice(0, 1), field.slice(2)]));

/** @param text - of `apt-cache policy` without a package, in the C locale */
export function readPolicy(text: string): readonly Repository[] {
  const repositories: Repository[] = [];
  let priority = 0;
  let last: Repository | undefined;
  for (const line of text.split('\n')) {
    const [, number, place = ''] = /^ {1,4}(-?\d+) (\S+)/.exec(line) ?? [];
    if (number !== undefined) {
      [priority, last] = [Number(number), undefined];
      if (!place.startsWith('/')) repositories.push((last = emptyRepository(priority)));
      continue;
    }
    if (!last) continue;
    const release = /^ +release (.*)$/.exec(line)?.[1];
    if (release !== undefined) {
      const fields = fieldsOf(release);
      const value = (key: string): string => (fields.get(key) ?? '').trim();
      Object.assign(last, { origin: value('o'), codename: value('n'), archive: value('a'), label: value('l') });
    }
    last.site = /^ +origin (\S+)$/.exec(line)?.[1] ?? last.site;
  }
  return repositories;
}

const emptyRepository = (priority: number): Repository => ({
  origin: '',
  codename: '',
  archive: '',
  label: '',
  site: '',
  priority,
});

const isSecurity = ({ codename, archive }: Repository): boolean => /security/i.test(`${codename} ${archive}`);

/**
 * The patterns of unattended-upgrades for the repositories that a type of upgrades uses, sorted. A repository that no
 * pattern can name is left out.
 */
export function selectOrigins(type: 'all' | 'security', repositories: readonly Repository[]): readonly string[] {
  const used = repositories.filter((one) => one.priority > 0 && (type === 'all' || isSecurity(one)));
  return [...new Set(used.map(patternOf).filter((pattern) => pattern !== ''))].toSorted();
}

/**
 * Debian renames an archive at each release (stable, oldstable), so the codename identifies it. All archives of an
 * Ubuntu release have the same codename, so the archive (jammy-security) is needed.
 */
function patternOf({ origin, codename, archive, site }: Repository): string {
  const names: [key: string, value: string][] = [];
  if (origin !== '') names.push(['origin', origin]);
  if (codename !== '') names.push(['codename', codename]);
  if (archive !== '' && (codename === '' || archive.startsWith(codename))) names.push(['archive', archive]);
  if (site !== '' && (origin === '' || (codename === '' && archive === ''))) names.push(['site', site]);
  return names.map(([key, value]) => `${key}=${literal(value)}`).join(',');
}

/** unattended-upgrades reads values as shell patterns, and apt reads quotes: `?` matches the one character instead. */
const literal = (value: string): string => value.replaceAll(/[^A-Za-z0-9 ._:+~@/()-]/gu, '?');
