import { isObject } from '@platform/contract/text/json-object';
import type { Problem } from '@platform/contract/config/config';
import { type Caller, isMember } from '../../access/rules/permissions.ts';

/** A name in a configuration that opens something to its machine. */
export type ConfigName = { kind: 'package' | 'dataset'; name: string; path: string };

/** Lists of entries that name packages, and the member of an entry that holds the name. */
const packageLists = { packages: 'package', modules: 'module_id' } as const;

/** Entries without a limit would make an answer of many times the size of the configuration. */
const mostProblems = 500;
const longestName = 200;

/**
 * Every name that `namedByPart` (registry/store/named-resources.ts) may find: packages of `packages` and `modules`,
 * datasets of each `dataset_ids`. Lists within lists count, too.
 */
export function namesIn(config: { readonly [key: string]: unknown }): ConfigName[] {
  const names: ConfigName[] = [];
  for (const [list, key] of Object.entries(packageLists))
    for (const { value: entry, path } of itemsOf({ value: config[list], path: list }))
      if (isObject(entry) && typeof entry[key] === 'string')
        names.push({ kind: 'package', name: entry[key], path: `${path}.${key}` });
  for (const place of within({ value: config, path: '' }, () => true))
    if (isObject(place.value) && 'dataset_ids' in place.value)
      for (const { value, path } of itemsOf({ value: place.value['dataset_ids'], path: joined(place, 'dataset_ids') }))
        if (typeof value === 'string') names.push({ kind: 'dataset', name: value, path });
  return names;
}

type Place = { value: unknown; path: string };

const joined = ({ path }: Place, key: string): string => (path === '' ? key : `${path}.${key}`);

/** The items of a list and of lists within it; of another value, the value itself. */
const itemsOf = (of: Place): Place[] => [...within(of, Array.isArray)].filter(({ value }) => !Array.isArray(value));

/** The value and everything in it, in the order of the text. Without recursion: others choose the depth. */
function* within(of: Place, isEntered: (value: unknown) => boolean): Generator<Place> {
  const waiting = [of];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    yield place;
    if (isEntered(place.value)) for (const member of membersOf(place).toReversed()) waiting.push(member);
  }
}

function membersOf(place: Place): Place[] {
  if (Array.isArray(place.value))
    return place.value.map((value: unknown, index) => ({ value, path: `${place.path}[${index}]` }));
  if (!isObject(place.value)) return [];
  return Object.entries(place.value).map(([key, value]) => ({ value, path: joined(place, key) }));
}

/** IDs of datasets are compared without regard to case. */
const identity = ({ kind, name }: ConfigName): string => `${kind} ${kind === 'dataset' ? name.toLowerCase() : name}`;

/** The names that are not among those of the revision before, wherever they stand. */
export function newNames(names: readonly ConfigName[], before: readonly ConfigName[]): ConfigName[] {
  const known = new Set(before.map(identity));
  return names.filter((one) => !known.has(identity(one)));
}

/**
 * Whether the caller may name everything of the organization: members read every package of it and add to every
 * dataset.
 */
export const mayNameAll = (caller: Caller, orgId: string): boolean => isMember(caller, orgId);

/** Owner and name of a package in each form that a configuration may use. Undefined: no package has such a name. */
export function packageNamed(text: string, orgId: string): { owner: string; name: string } | undefined {
  const [, owner = orgId, name] = /^(?:([A-Za-z0-9_.-]+)[/:])?([A-Za-z0-9_-]+)$/.exec(text) ?? [];
  return name === undefined ? undefined : { owner, name };
}

/** One answer for what does not exist and for what the caller may not use. */
export const refusals = (names: readonly ConfigName[]): Problem[] =>
  names.slice(0, mostProblems).map(({ kind, name, path }) => ({
    path,
    message:
      kind === 'package'
        ? `is ${shortened(name)}, and there is no such package, or the caller has no right to read it.`
        : `is ${shortened(name)}, and there is no such dataset, or the caller has no right to add data to it.`,
    remedy:
      'Check the name. An owner or operator of the organization can save it; other callers can then save it again.',
    severity: 'error',
  }));

const shortened = (name: string): string => (name.length > longestName ? `${name.slice(0, longestName)}…` : name);
