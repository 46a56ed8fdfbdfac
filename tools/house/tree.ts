// The files of the checkout, as input of the project rules.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');
export const tracked: readonly string[] = spawnSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
  { cwd: root, encoding: 'utf8' },
)
  .stdout.split('\0')
  .filter((file) => file !== '' && existsSync(path.join(root, file)));
/** Output of `npm run gen`. The generators themselves (`tools/gen/`) are written by hand. */
export const isGenerated = (file: string): boolean =>
  file.startsWith('packages/contract/src/gen/') ||
  file.startsWith('clients/python/src/platform_client/gen/') ||
  file.startsWith('docs/generated/');
export const isTest = (file: string): boolean => /\.test\.tsx?$/.test(file) || /(^|\/)test\//.test(file);
export const code: readonly string[] = tracked.filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts') && !isGenerated(file),
);
export const sources: readonly string[] = code.filter((file) => !isTest(file));
const text: ReadonlyMap<string, string> = new Map(
  code.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
);
export const isCode = (file: string): boolean => text.has(file);
export const read = (file: string): string => text.get(file) ?? '';
/** The source without comments and without the contents of strings. */
export const bare = (file: string): string =>
  read(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:'"`\\])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");

/** The app, package, trainer or client of a file; `e2e` and `tools` are one unit each. */
export const unitOf = (file: string): string =>
  file
    .split('/')
    .slice(0, /^(e2e|tools)\//.test(file) ? 1 : 2)
    .join('/');

/** Whether a path lies in a folder; `node:` holds all modules of Node. */
export const within = (to: string, place: string): boolean =>
  to === place || to.startsWith(place.endsWith(':') ? place : `${place}/`);

export interface Import {
  readonly to: string;
  readonly isType: boolean;
}
const builtins = new Set(builtinModules);
export function importsOf(file: string): Import[] {
  const imports: Import[] = [];
  const pattern =
    /^\s*(?:import|export)\b([^'"`;]*?)\bfrom\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s*['"]([^'"]+)['"]/gm;
  for (const match of read(file).matchAll(pattern)) {
    const spec = match[2] ?? match[3] ?? match[4] ?? '';
    const isType = /^\s*type\b/.test(match[1] ?? '');
    const to = spec.startsWith('.')
      ? path.posix.normalize(path.posix.join(path.posix.dirname(file), spec.replace(/\?.*$/, '')))
      : spec;
    imports.push({ to: builtins.has(to) ? `node:${to}` : to, isType });
  }
  return imports;
}
