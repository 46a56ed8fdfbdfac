// Fragments in a configuration: which ones it uses, and what each becomes with its variables and prefix. No Zod: browsers
// use this module.
import { revealedSecrets } from './placeholders.ts';
import { joined } from './reading.ts';
import { mergeConfig, type Origin } from './merge.ts';
import { applyMods } from './fragment-mods.ts';
import { isObject, type Json } from '../text/json-object.ts';
import { isUuid } from '../text/names.ts';
import type { Problem } from './problem.ts';

export const fragmentLimits = {
  textBytes: 256 * 1024,
  perConfig: 50,
  perOrganization: 1_000,
  /** What the variables of one configuration may add, in characters of JSON: a value may stand in many places. */
  variableCharacters: 2 ** 20,
  /** Parts whose configuration one fragment changes at once. */
  machines: 2_000,
  nameCharacters: 100,
} as const;

/** One entry of `fragments`. */
export interface FragmentUse {
  readonly id: string;
  /** A revision; undefined: the newest. */
  readonly version: number | undefined;
  readonly prefix: string;
  readonly variables: Json;
  /** Its place in the configuration of the machine. */
  readonly path: string;
}

/** A revision of a fragment. */
export interface FragmentContent {
  readonly name: string;
  readonly config: Json;
}

const problem = (path: string, message: string, remedy: string): Problem => ({
  path,
  message,
  remedy,
  severity: 'error',
});

/** The fragments that a configuration uses, in the order in which they are merged. */
export function readFragmentUses(config: Json): { uses: FragmentUse[]; problems: Problem[] } {
  const given = config['fragments'];
  if (given === undefined || given === null) return { uses: [], problems: [] };
  if (!Array.isArray(given))
    return {
      uses: [],
      problems: [problem('fragments', 'must be a list.', 'Write a list of IDs or of objects with "id".')],
    };
  if (given.length > fragmentLimits.perConfig)
    return {
      uses: [],
      problems: [
        problem(
          'fragments',
          `has ${given.length} entries; the limit is ${fragmentLimits.perConfig}.`,
          'Put what these machines share into fewer fragments.',
        ),
      ],
    };
  const uses: FragmentUse[] = [];
  const problems: Problem[] = [];
  for (const [index, entry] of (given as unknown[]).entries()) {
    const read = readUse(entry, joined('fragments', index));
    if ('id' in read) uses.push(read);
    else problems.push(read);
  }
  return { uses, problems };
}

function readUse(entry: unknown, path: string): FragmentUse | Problem {
  const { id, version, prefix, variables } = isObject(entry) ? entry : { id: entry };
  if (typeof id !== 'string' || !isUuid(id))
    return problem(
      isObject(entry) ? joined(path, 'id') : path,
      'must be the ID of a fragment.',
      'Copy the ID from the page of the fragment, or from `platform fragment list`.',
    );
  const number = versionOf(version);
  if (number === 'unknown')
    return problem(
      joined(path, 'version'),
      `is ${JSON.stringify(version)}, and a version is the number of a revision of the fragment.`,
      'Write a number such as "3", or remove it to follow the newest revision.',
    );
  if (prefix !== undefined && prefix !== null && typeof prefix !== 'string')
    return problem(joined(path, 'prefix'), 'must be a text.', 'Write for example "left-", or remove it.');
  if (variables !== undefined && variables !== null && !isObject(variables))
    return problem(joined(path, 'variables'), 'must be an object.', 'Write an object with a value for each name.');
  return {
    id: id.toLowerCase(),
    version: number,
    prefix: typeof prefix === 'string' ? prefix : '',
    variables: isObject(variables) ? variables : {},
    path,
  };
}

function versionOf(given: unknown): number | undefined | 'unknown' {
  if (given === undefined || given === null || given === '' || given === 'latest') return undefined;
  const text = typeof given === 'number' ? String(given) : given;
  return typeof text === 'string' && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 'unknown';
}

/** The name and the default of `{"$variable": {"name": …, "default_value": …}}`; undefined: it is none. */
export function variableIn(value: unknown): { name: string; hasDefault: boolean; default: unknown } | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const variable = value['$variable'];
  if (!isObject(variable) || typeof variable['name'] !== 'string' || variable['name'] === '') return undefined;
  return {
    name: variable['name'],
    hasDefault: Object.hasOwn(variable, 'default_value'),
    default: variable['default_value'],
  };
}

interface VariablePlace {
  readonly path: string;
  readonly name: string;
  readonly isOpen: boolean;
}

/** A fragment with its variables replaced. `missing`: names without a value, with the path of their first place. */
export function withVariables(
  config: Json,
  given: Json,
): {
  config: Json;
  used: ReadonlySet<string>;
  missing: ReadonlyMap<string, string>;
  /** Where variables stand; `isOpen`: without a value. */
  places: readonly VariablePlace[];
  /** Characters of JSON that the values have in all their places. */
  added: number;
} {
  const used = new Set<string>();
  const missing = new Map<string, string>();
  const places: VariablePlace[] = [];
  let added = 0;
  const sizes = new Map<string, number>();
  const sizeOf = (name: string): number => {
    const size = sizes.get(name) ?? (JSON.stringify(given[name]) ?? '').length;
    sizes.set(name, size);
    return size;
  };
  const replaced = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown, index) => replaced(item, joined(path, index)) ?? null);
    if (!isObject(value)) return value;
    const variable = variableIn(value);
    if (!variable)
      return Object.fromEntries(
        Object.entries(value)
          .map(([key, one]): [string, unknown] => [key, replaced(one, joined(path, key))])
          .filter(([, one]) => one !== undefined),
      );
    used.add(variable.name);
    const isGiven = Object.hasOwn(given, variable.name);
    places.push({ path, name: variable.name, isOpen: !isGiven && !variable.hasDefault });
    added += isGiven ? sizeOf(variable.name) : 0;
    // Nothing is built beyond the limit; the caller refuses the configuration.
    if (added > fragmentLimits.variableCharacters) return null;
    if (isGiven) return given[variable.name];
    if (!variable.hasDefault && !missing.has(variable.name)) missing.set(variable.name, path);
    // A member without a value is absent; a list keeps its places.
    return variable.hasDefault ? variable.default : undefined;
  };
  const result = replaced(config, '');
  return { config: isObject(result) ? result : {}, used, missing, places, added };
}

/** Whether a path is another one, or leads into it. */
export const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

/** The variables that a secret of the filled fragment comes from, also as a part of their value. */
export function secretVariables({
  config,
  places,
}: {
  config: Json;
  places: readonly VariablePlace[];
}): readonly VariablePlace[] {
  if (places.length === 0) return [];
  const secrets = revealedSecrets(JSON.stringify(config));
  return places.filter((place) => secrets.some(({ path }) => isWithin(path, place.path)));
}

/** The lists whose names a prefix changes: those that a machine server knows by name. */
const prefixedLists = ['components', 'services', 'jobs', 'remotes'] as const;

/** With the prefix before the names of resources, and wherever the fragment names one of them. */
function withPrefix(config: Json, prefix: string): Json {
  if (prefix === '') return config;
  const lists = prefixedLists.flatMap((list) => {
    const entries: unknown = config[list];
    return Array.isArray(entries) ? [[list, entries as unknown[]] as const] : [];
  });
  const names = new Set(
    lists.flatMap(([, entries]) =>
      entries.flatMap((entry) => (isObject(entry) && typeof entry['name'] === 'string' ? [entry['name']] : [])),
    ),
  );
  const renamed = (value: unknown): unknown => {
    if (typeof value === 'string') return names.has(value) ? prefix + value : value;
    if (Array.isArray(value)) return value.map(renamed);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one)]));
  };
  /** Members that hold names of resources; others, such as `type` and `model`, may be equal to a name by chance. */
  const naming = new Set(['name', 'depends_on', 'attributes', 'resource', 'frame', 'service_configs']);
  const entryOf = (entry: unknown): unknown =>
    isObject(entry)
      ? Object.fromEntries(Object.entries(entry).map(([key, one]) => [key, naming.has(key) ? renamed(one) : one]))
      : entry;
  return { ...config, ...Object.fromEntries(lists.map(([list, entries]) => [list, entries.map(entryOf)])) };
}

/** Where a value of a merged configuration comes from. */
export interface Source {
  /** Undefined: the machine's own configuration. */
  readonly fragment: { readonly id: string; readonly name: string; readonly path: string } | undefined;
  /** In the fragment, or in the configuration of the machine. */
  readonly path: string;
}

export interface Resolved {
  /** Without `fragments` and `fragment_mods`. */
  readonly config: Json;
  readonly problems: readonly Problem[];
  sourceOf(path: string): Source;
}

/**
 * Merges the fragments that a configuration uses, in their order, then the configuration itself.
 *
 * @param contentOf - undefined: there is no such fragment or revision, or the caller may not use it.
 */
export function resolveFragments(config: Json, contentOf: (use: FragmentUse) => FragmentContent | undefined): Resolved {
  const { uses, problems: ofUses } = readFragmentUses(config);
  const problems = [...ofUses];
  const { modsOf, problems: ofMods } = applyMods(config['fragment_mods'], new Set(uses.map(({ id }) => id)));
  problems.push(...ofMods);
  const layers: { config: Json; fragment: Source['fragment'] }[] = [];
  for (const use of uses) {
    const content = contentOf(use);
    if (!content) {
      problems.push(noFragment(use));
      continue;
    }
    const filled = withVariables(content.config, use.variables);
    problems.push(...variableProblems(use, content.name, filled), ...shownSecrets(use, filled));
    const changed = modsOf(use.id, filled.config, content.name);
    problems.push(...changed.problems);
    const fragment = { id: use.id, name: content.name, path: use.path };
    layers.push({ config: withPrefix(changed.config, use.prefix), fragment });
  }
  const { fragments: _uses, fragment_mods: _mods, ...own } = config;
  layers.push({ config: own, fragment: undefined });
  const merged = mergeConfig(layers.map((layer) => layer.config));
  return {
    config: merged.config,
    problems,
    sourceOf: (path) => sourceAt(merged.originOf(path), layers),
  };
}

const sourceAt = ({ layer, path }: Origin, layers: readonly { fragment: Source['fragment'] }[]): Source => ({
  fragment: layers[layer]?.fragment,
  path,
});

const noFragment = ({ id, version, path }: FragmentUse): Problem =>
  problem(
    path,
    version === undefined
      ? `names the fragment ${id}, and there is no such fragment, or the caller has no right to use it.`
      : `names revision ${version} of the fragment ${id}, and there is no such revision, or the caller has no right to use it.`,
    'Check the ID and the version. An owner or operator of the organization can save it; other callers can then save it again.',
  );

function variableProblems(
  { path, variables }: FragmentUse,
  name: string,
  { used, missing, added }: { used: ReadonlySet<string>; missing: ReadonlyMap<string, string>; added: number },
): Problem[] {
  const place = joined(path, 'variables');
  const limit = fragmentLimits.variableCharacters;
  return [
    ...(added > limit
      ? [
          problem(
            place,
            `are too large: with them, the fragment ${name} would grow by more than ${limit} characters.`,
            'Use shorter values, or let the fragment use them in fewer places.',
          ),
        ]
      : []),
    ...[...missing].map(([key, where]) =>
      problem(
        joined(place, key),
        `has no value, and ${where} of the fragment ${name} needs one.`,
        `Write a value for ${JSON.stringify(key)} into "variables" of this entry, or give the variable a default_value in the fragment.`,
      ),
    ),
    ...Object.keys(variables)
      .filter((key) => !used.has(key))
      .map((key): Problem => ({
        path: joined(place, key),
        message: `is a variable that the fragment ${name} does not use.`,
        remedy: 'Check its name, or remove it.',
        severity: 'warning',
      })),
  ];
}

/** Readers of the machine see the values that it gives to variables. */
const shownSecrets = ({ path, variables }: FragmentUse, filled: ReturnType<typeof withVariables>): Problem[] =>
  [...new Set(secretVariables(filled).map(({ name }) => name))]
    .filter((name) => Object.hasOwn(variables, name))
    .map((name) =>
      problem(
        joined(joined(path, 'variables'), name),
        'has a secret, and the variables are shown to everybody who reads the configuration of the machine.',
        'Write the secret into the fragment itself, or under "agent" of the configuration of the machine.',
      ),
    );

/** Problems as the machine's configuration shows them: those inside a fragment stand at its entry. */
export const placedProblem = (one: Problem, sourceOf: Resolved['sourceOf']): Problem => {
  const { fragment, path } = sourceOf(one.path);
  if (!fragment) return { ...one, path };
  return {
    ...one,
    path: path === '' ? fragment.path : `${fragment.path}.${path}`,
    remedy: `${one.remedy} It stands in the fragment ${fragment.name}.`,
  };
};
