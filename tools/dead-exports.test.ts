// Finds exports that no other file imports: dead code, or a needless `export`. Decision 0155.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isGenerated, root, tracked } from './house/tree.ts';

const files = tracked.filter((file) => /\.(tsx?|mjs)$/.test(file) && !file.endsWith('.d.ts'));
const text = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));

/** Files that programs outside of this repository import: the published client, and settings that a tool reads. */
const isPublic = (file: string): boolean =>
  file === 'clients/typescript/src/index.ts' || file.endsWith('.config.ts') || isGenerated(file);

interface Package {
  readonly name?: string;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}
const packages = new Map(
  tracked
    .filter((file) => path.posix.basename(file) === 'package.json')
    .map((file) => {
      const read = JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Package;
      return [read.name ?? '', { folder: path.posix.dirname(file), exports: read.exports ?? {} }] as const;
    }),
);

/** The file that an import specifier names; undefined for a file outside of this repository. */
function resolve(specifier: string, from: string): string | undefined {
  if (specifier.startsWith('.')) return path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier));
  const name = specifier.split('/').slice(0, 2).join('/');
  const found = packages.get(name);
  if (!found) return undefined;
  const wanted = `.${specifier.slice(name.length)}`;
  for (const [key, value] of Object.entries(found.exports)) {
    const target = typeof value === 'string' ? value : (value['development'] ?? value['default'] ?? '');
    const [before = '', after] = key.split('*');
    if (after === undefined ? key === wanted : wanted.startsWith(before) && wanted.endsWith(after)) {
      const star = after === undefined ? '' : wanted.slice(before.length, wanted.length - after.length);
      return path.posix.join(found.folder, target.replace('*', star));
    }
  }
  return undefined;
}

const namesIn = (list: string): string[] =>
  list
    .split(',')
    .map(
      (one) =>
        one
          .trim()
          .replace(/^type\s+/, '')
          .split(/\s+as\s+/)[0]
          ?.trim() ?? '',
    )
    .filter(Boolean);

/** File → names that other files import from it; `*`: all of them. */
const used = new Map<string, Set<string>>();
const note = (file: string | undefined, names: readonly string[]): void => {
  if (file === undefined) return;
  const known = used.get(file) ?? new Set();
  for (const name of names) known.add(name);
  used.set(file, known);
};
for (const [file, source] of text) {
  for (const [, list = '', specifier = ''] of source.matchAll(
    /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*'([^']+)'/gm,
  ))
    note(resolve(specifier, file), namesIn(list));
  for (const [, specifier = ''] of source.matchAll(/^export\s+(?:type\s+)?\*\s+from\s*'([^']+)'/gm))
    note(resolve(specifier, file), [`* of ${file}`]);
  for (const [, alias = '', specifier = ''] of source.matchAll(
    /^import\s+(?:type\s+)?\*\s+as\s+(\w+)\s+from\s*'([^']+)'/gm,
  ))
    note(
      resolve(specifier, file),
      [...source.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, 'g'))].map(([, name = '']) => name),
    );
  for (const [, list, specifier = ''] of source.matchAll(
    /(?:(?:const|let)\s+\{([^}]*)\}\s*=\s*)?(?:await\s+)?\bimport\(\s*'([^']+)'\s*\)/g,
  ))
    note(
      resolve(specifier, file),
      list === undefined ? ['*'] : list.split(',').map((one) => one.split(':')[0]?.trim() ?? ''),
    );
}

/** Names that a file exports. Omits a type that its own file uses: it is part of another export's signature. */
function exportsOf(source: string): string[] {
  const declared = source.matchAll(
    /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(const|let|function\*?|class|interface|type)\s+(\w+)/gm,
  );
  const lists = source.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm);
  const patterns = source.matchAll(/^export\s+const\s+[{[]([^}\]]*)[}\]]\s*=/gm);
  const isUsedInFile = (name: string): boolean => (source.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0) > 1;
  return [
    ...[...declared].flatMap(([, kind = '', name = '']) =>
      (kind === 'interface' || kind === 'type') && isUsedInFile(name) ? [] : [name],
    ),
    ...[...lists].flatMap(([, list = '']) =>
      list.split(',').map(
        (one) =>
          one
            .trim()
            .replace(/^type\s+/, '')
            .split(/\s+as\s+/)
            .at(-1) ?? '',
      ),
    ),
    ...[...patterns].flatMap(([, list = '']) => list.split(',').map((one) => one.split(':').at(-1)?.trim() ?? '')),
  ].filter(Boolean);
}

function isUsed(file: string, name: string): boolean {
  const names = used.get(file);
  if (!names) return false;
  if (names.has('*') || names.has(name)) return true;
  return [...names].some((one) => {
    const through = one.startsWith('* of ') ? one.slice(5) : undefined;
    return through !== undefined && (isPublic(through) || isUsed(through, name));
  });
}

test('every export is imported by another file', () => {
  assert.ok(files.length > 1000 && packages.size > 8, 'the files were not found');
  assert.ok(isUsed('packages/contract/src/errors/errors.ts', 'PlatformError'), 'imports are not read');
  assert.ok(!isUsed('packages/contract/src/errors/errors.ts', 'NothingImportsThis'));
  const dead = files
    .filter((file) => !isPublic(file))
    .flatMap((file) =>
      exportsOf(text.get(file) ?? '')
        .filter((name) => !isUsed(file, name))
        .map((name) => `${file} ${name}`),
    );
  assert.deepEqual(dead, []);
});
