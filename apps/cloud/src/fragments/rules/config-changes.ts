import { joined } from '@platform/contract/config/reading';
import { canonicalText } from '@platform/contract/config/text';
import { resourceLists } from '@platform/contract/config/merge';
import { isObject } from '@platform/contract/text/json-object';

/** A difference between two configurations, at the deepest path that has it. */
export type ConfigDifference = { path: string; kind: 'added' | 'removed' | 'changed' };

/** Entries of lists of resources are compared by name, and named by their place in the new one, or the old one if removed. */
export function configChanges(before: unknown, after: unknown, path = ''): ConfigDifference[] {
  if (canonicalText(before ?? null) === canonicalText(after ?? null)) return [];
  if (isObject(before) && isObject(after)) return memberChanges(before, after, path);
  const key = resourceLists.get(path);
  if (key !== undefined && Array.isArray(before) && Array.isArray(after))
    return listChanges(before, after, { path, key });
  return [{ path, kind: 'changed' }];
}

function memberChanges(before: object, after: object, path: string): ConfigDifference[] {
  const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key) => {
    const place = joined(path, key);
    if (!old.has(key)) return [{ path: place, kind: 'added' as const }];
    if (!next.has(key)) return [{ path: place, kind: 'removed' as const }];
    return configChanges(old.get(key), next.get(key), place);
  });
}

function listChanges(
  before: readonly unknown[],
  after: readonly unknown[],
  { path, key }: { path: string; key: string },
): ConfigDifference[] {
  const nameOf = (item: unknown): unknown => (isObject(item) ? item[key] : undefined);
  const old = new Map(before.map((item) => [nameOf(item), item]));
  const next = new Set(after.map(nameOf));
  return [
    ...after.flatMap((item, index) => {
      const place = joined(path, index);
      const name = nameOf(item);
      return name !== undefined && old.has(name)
        ? configChanges(old.get(name), item, place)
        : [{ path: place, kind: 'added' as const }];
    }),
    ...before.flatMap((item, index) =>
      next.has(nameOf(item)) ? [] : [{ path: joined(path, index), kind: 'removed' as const }],
    ),
  ];
}
