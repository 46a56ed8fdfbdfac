// Merges the layers of a configuration: fragments, then the machine's own. No Zod: browsers use this module.
import type { Field } from './field-row.ts';
import { joined, sectionNames, sectionOf } from './reading.ts';
import { isObject, type Json } from '../text/json-object.ts';

/** Where a merged value comes from: the number of its layer, and its path there. */
export interface Origin {
  readonly layer: number;
  readonly path: string;
}

export interface Merged {
  readonly config: Json;
  /** The origin of a value of the merged configuration; if it has several, the strongest one. */
  originOf(path: string): Origin;
}

/** The lists whose entries are merged by name, and the key that holds the name. */
export const resourceLists: ReadonlyMap<string, string> = new Map([
  ['components', 'name'],
  ['services', 'name'],
  ['modules', 'name'],
  ['packages', 'name'],
  ['remotes', 'name'],
  ['processes', 'id'],
  ['jobs', 'name'],
]);

interface LayerValue {
  readonly layer: number;
  readonly path: string;
  readonly value: unknown;
}

/**
 * Merges layers, the weakest first. Objects merge by key and lists of resources by name. Elsewhere, the value of
 * the strongest layer counts, also 0, false and empty ones.
 */
export function mergeConfig(layers: readonly Json[]): Merged {
  const origins = new Map<string, Origin>();
  const given = layers.map((value, layer) => ({ layer, path: '', value }));
  const config = mergeAt('', given, origins);
  return {
    config: isObject(config) ? config : {},
    originOf: (path) => originAt(path, origins) ?? { layer: layers.length - 1, path },
  };
}

function mergeAt(path: string, given: readonly LayerValue[], origins: Map<string, Origin>): unknown {
  const top = given.at(-1);
  if (!top) return undefined;
  origins.set(path, { layer: top.layer, path: top.path });
  if (given.length === 1) return top.value;
  if (isObject(top.value)) return mergeObjects(path, topmost(given, isObject), origins);
  const key = resourceLists.get(path);
  if (key !== undefined && Array.isArray(top.value)) return mergeLists({ path, key }, given, origins);
  return top.value;
}

/** The strongest layers whose values are of one form: a value of another form replaces what is below it. */
const topmost = (given: readonly LayerValue[], isMeant: (value: unknown) => boolean): readonly LayerValue[] =>
  given.slice(given.findLastIndex(({ value }) => !isMeant(value)) + 1);

function mergeObjects(path: string, given: readonly LayerValue[], origins: Map<string, Origin>): Json {
  const members = new Map<string, { key: string; all: LayerValue[] }>();
  for (const { layer, path: own, value } of given)
    for (const [key, member] of Object.entries(isObject(value) ? value : {})) {
      const name = ownName(path, key);
      const found = members.get(name) ?? { key, all: [] };
      members.set(name, found);
      // Both names in one layer: ours counts, as it does on machines.
      if (found.all.at(-1)?.layer === layer) {
        if (key !== name) continue;
        found.all.pop();
      }
      found.key = key;
      found.all.push({ layer, path: joined(own, key), value: member });
    }
  // Not by assignment: a member may be named __proto__.
  return Object.fromEntries(
    [...members.values()].map(({ key, all }) => [key, mergeAt(joined(path, key), all, origins)]),
  );
}

const aliases = new Map(
  sectionNames.map((section) => [
    `agent.${section}`,
    new Map(
      Object.entries<Field>(sectionOf(section)).flatMap(([key, { alias }]): [string, string][] =>
        alias === undefined ? [] : [[alias, key]],
      ),
    ),
  ]),
);

/** Two layers may write one field by its two names. */
const ownName = (path: string, key: string): string => aliases.get(path)?.get(key) ?? key;

function mergeLists(
  { path, key }: { path: string; key: string },
  given: readonly LayerValue[],
  origins: Map<string, Origin>,
): unknown[] {
  const entries: LayerValue[][] = [];
  const named = new Map<string, { layer: number; entry: LayerValue[] }>();
  for (const { layer, path: own, value } of topmost(given, Array.isArray))
    for (const [index, item] of (Array.isArray(value) ? (value as unknown[]) : []).entries()) {
      const one: LayerValue = { layer, path: joined(own, index), value: item };
      const name = isObject(item) ? item[key] : undefined;
      const found = typeof name === 'string' && name !== '' ? named.get(name) : undefined;
      // Two entries of one name in one layer stay two, so that the check reports them.
      if (found && found.layer !== layer) {
        found.entry.push(one);
        found.layer = layer;
        continue;
      }
      const entry = [one];
      entries.push(entry);
      if (typeof name === 'string' && name !== '') named.set(name, { layer, entry });
    }
  return entries.map((entry, index) => mergeAt(joined(path, index), entry, origins));
}

function originAt(path: string, origins: ReadonlyMap<string, Origin>): Origin | undefined {
  for (let end = path.length; end >= 0; end = shorter(path, end)) {
    const found = origins.get(path.slice(0, end));
    if (found) return { layer: found.layer, path: withRest(found.path, path.slice(end)) };
  }
  return undefined;
}

const shorter = (path: string, end: number): number =>
  end === 0 ? -1 : Math.max(0, path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1));

const withRest = (path: string, rest: string): string =>
  path === '' && rest.startsWith('.') ? rest.slice(1) : path + rest;
