// Tests that the pages about the code name files that are there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root, sources, tracked, within } from './house/tree.ts';

test('CONTRIBUTING.md names files that are there', () => {
  const text = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8');
  const named = [...text.matchAll(/[`(]((?:apps|packages|clients|trainers|tools|docs|e2e|changes)\/[\w./-]*)[`)]/g)];
  assert.ok(named.length > 40, `${named.length} names`);
  const isThere = (name: string): boolean =>
    tracked.some((file) => file === name || file.startsWith(name.endsWith('/') ? name : `${name}/`));
  assert.deepEqual(
    named.map(([, name = '']) => name).filter((name) => !isThere(name)),
    [],
  );
});

test('the map of the versions folder names each of its files, and none else', () => {
  const folder = 'apps/agent/src/versions';
  const text = readFileSync(path.join(root, folder, 'README.md'), 'utf8');
  const named = [...text.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name = '']) => name);
  const files = sources.flatMap((file) =>
    within(file, folder) && !within(file, `${folder}/trust`) ? [file.slice(folder.length + 1)] : [],
  );
  const isThere = (name: string): boolean => [folder, 'apps/agent/src'].some((at) => tracked.includes(`${at}/${name}`));
  assert.deepEqual(
    { missing: files.filter((file) => !named.includes(file)), absent: named.filter((name) => !isThere(name)) },
    { missing: [], absent: [] },
  );
});

test('the walks of ARCHITECTURE.md have at most 12 stations: a file that is there, and 5 to 12 words', () => {
  const text = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  const walks = (text.split('\n## Walks\n')[1]?.split('\n## ')[0] ?? '').split(/^\*\*(?=.*\*\*$)/m).slice(1);
  assert.equal(walks.length, 6);
  const wrong = walks.flatMap((walk) => {
    const [title = '', ...rest] = walk.trim().split('\n');
    const unreadable = rest.filter((line) => {
      const [, file = '', what = ''] = /^\d+\. `([^`]+)`: (.+)$/.exec(line) ?? [];
      const words = what.split(/\s+/).length;
      return !tracked.includes(file) || words < 5 || words > 12;
    });
    return [...unreadable, ...(rest.length >= 8 && rest.length <= 12 ? [] : [`${title} has ${rest.length} stations`])];
  });
  assert.deepEqual(wrong, []);
});

test('each app, package, trainer and client has a README that names files that are there', () => {
  const folders = [
    ...new Set(tracked.flatMap((file) => /^(?:apps|packages|trainers|clients)\/[\w-]+(?=\/)/.exec(file) ?? [])),
  ];
  assert.ok(folders.length > 15);
  const published = ['clients/typescript', 'clients/python']; // Theirs is the page of the package in its registry.
  const wrong = folders.flatMap((folder) => {
    const page = `${folder}/README.md`;
    if (!tracked.includes(page)) return [`${page} is missing`];
    if (published.includes(folder)) return [];
    const text = readFileSync(path.join(root, page), 'utf8');
    const named = [...text.matchAll(/^\| `([\w./-]+)` \|/gm)].map(([, name = '']) => `${folder}/${name}`);
    const lines = text.trimEnd().split('\n').length;
    return [
      ...(lines < 10 || lines > 30 ? [`${page} has ${lines} lines, not 10 to 30`] : []),
      ...(named.length === 3 ? [] : [`${page} names ${named.length} files, not three`]),
      ...['**Imports**', '**Tests**'].filter((part) => !text.includes(part)).map((part) => `${page} lacks ${part}`),
      ...named.filter((name) => !tracked.some((file) => file === name || file.startsWith(`${name}/`))),
    ];
  });
  assert.deepEqual(wrong, []);
});
