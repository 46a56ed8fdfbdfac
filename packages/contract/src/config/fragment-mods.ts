// `fragment_mods` of a configuration: what a machine changes in the fragments that it uses. No Zod: browsers use this module.
import { resourceLists } from './merge.ts';
import { revealedSecrets } from './placeholders.ts';
import { joined } from './reading.ts';
import { isObject, type Json } from '../text/json-object.ts';
import type { Problem } from './problem.ts';

/** Each one copies what is around its place. */
const mostMods = 1_000;

interface Mod {
  readonly fragmentId: string;
  readonly isSet: boolean;
  /** For example components.camera.attributes.speed. */
  readonly target: string;
  readonly value: unknown;
  readonly path: string;
}

interface Changed {
  readonly config: Json;
  readonly problems: readonly Problem[];
}

const wrong = (path: string, message: string, remedy: string): Problem => ({
  path,
  message,
  remedy,
  severity: 'error',
});

const form = 'Write [{"fragment_id": "…", "mods": [{"$set": {"components.camera.attributes.speed": 1}}]}].';

/** @param used - IDs of the fragments of the configuration. */
export function applyMods(
  given: unknown,
  used: ReadonlySet<string>,
): { modsOf: (id: string, config: Json, name: string) => Changed; problems: Problem[] } {
  const { mods, problems } = readMods(given, used);
  return {
    problems,
    modsOf(id, config, name) {
      const found: Problem[] = [];
      const own = mods.filter(({ fragmentId }) => fragmentId === id);
      const changed = own.reduce((before: unknown, mod) => {
        const next = changedBy(mod, before);
        if (next !== absent) return next;
        found.push(wrong(mod.path, `changes nothing: the fragment ${name} has no ${mod.target}.`, 'Check the path.'));
        return before;
      }, config);
      return { config: isObject(changed) ? changed : {}, problems: [...found, ...shownSecrets(own, config, changed)] };
    },
  };
}

const changedBy = (mod: Mod, config: unknown): unknown =>
  changeAt(config, mod.target, { mod, list: undefined, isTop: true });

/** Readers of the machine see its changes, so no secret may come from one: with empty values there would be fewer. */
function shownSecrets(mods: readonly Mod[], before: Json, after: unknown): Problem[] {
  const setting = mods.filter(({ isSet, target }) => isSet && /^agent(?:\.|$)/.test(target));
  const [first, ...more] = setting;
  if (!first) return [];
  const empty = mods.reduce((config: unknown, mod) => {
    const next = changedBy(mod.isSet ? { ...mod, value: null } : mod, config);
    return next === absent ? config : next;
  }, before);
  const secretsIn = (config: unknown): number => revealedSecrets(JSON.stringify(config)).length;
  if (secretsIn(after) <= secretsIn(empty)) return [];
  return [
    wrong(
      more.length === 0 ? first.path : 'fragment_mods',
      'has a secret, and these changes are shown to everybody who reads the configuration of the machine.',
      'Write the secret under "agent" of the configuration of the machine, or into the fragment itself.',
    ),
  ];
}

function readMods(given: unknown, used: ReadonlySet<string>): { mods: Mod[]; problems: Problem[] } {
  if (given === undefined || given === null) return { mods: [], problems: [] };
  if (!Array.isArray(given)) return { mods: [], problems: [wrong('fragment_mods', 'must be a list.', form)] };
  const mods: Mod[] = [];
  const problems: Problem[] = [];
  for (const [index, entry] of (given as unknown[]).entries()) {
    const path = joined('fragment_mods', index);
    const id = isObject(entry) ? entry['fragment_id'] : undefined;
    const list = isObject(entry) ? entry['mods'] : undefined;
    if (typeof id !== 'string' || !Array.isArray(list)) problems.push(wrong(path, 'does not change a fragment.', form));
    else if (!used.has(id.toLowerCase()))
      problems.push({
        path: joined(path, 'fragment_id'),
        message: `is ${id}, and the configuration does not use this fragment.`,
        remedy: 'Add it to "fragments", or remove this entry.',
        severity: 'warning',
      });
    else
      for (const [number, one] of (list as unknown[]).entries()) {
        const read = readMod(one, id.toLowerCase(), joined(joined(path, 'mods'), number));
        if (Array.isArray(read)) mods.push(...read);
        else problems.push(read);
      }
  }
  if (mods.length <= mostMods) return { mods, problems };
  const message = `make ${mods.length} changes; the limit is ${mostMods}.`;
  return { mods: [], problems: [...problems, wrong('fragment_mods', message, 'Write another fragment instead.')] };
}

function readMod(given: unknown, fragmentId: string, path: string): Mod[] | Problem {
  const [[operator, targets] = [undefined, undefined], ...more] = isObject(given) ? Object.entries(given) : [];
  if ((operator !== '$set' && operator !== '$unset') || !isObject(targets) || more.length > 0)
    return wrong(
      path,
      operator?.startsWith('$')
        ? `uses ${operator}, and this server knows $set and $unset alone.`
        : 'must be one of {"$set": {…}} and {"$unset": {…}}.',
      form,
    );
  const isSet = operator === '$set';
  return Object.entries(targets).map(([target, value]) => ({
    fragmentId,
    isSet,
    target,
    value,
    path: joined(joined(path, operator), target),
  }));
}

const absent = Symbol('absent');

interface Place {
  readonly mod: Mod;
  /** The key of the name, in a list of resources. */
  readonly list: string | undefined;
  readonly isTop: boolean;
}

/** @returns the changed copy; `absent`: the path leads nowhere. */
function changeAt(value: unknown, target: string, { mod, list, isTop }: Place): unknown {
  if (Array.isArray(value)) {
    const items = value as unknown[];
    const [index, rest] = list === undefined ? indexIn(items, target) : namedIn(items, list, target);
    if (index < 0) return absent;
    if (rest === '') return mod.isSet ? items.with(index, mod.value) : items.filter((_, place) => place !== index);
    const next = changeAt(items[index], rest, { mod, list: undefined, isTop: false });
    return next === absent ? absent : items.with(index, next);
  }
  const [key = '', ...inner] = target.split('.');
  const rest = inner.join('.');
  if (!isObject(value) || key === '') return absent;
  const has = Object.hasOwn(value, key);
  if (rest === '') {
    if (mod.isSet) return withMember(value, key, mod.value);
    return has ? Object.fromEntries(Object.entries(value).filter(([one]) => one !== key)) : absent;
  }
  if (!has && (!mod.isSet || (isTop && resourceLists.has(key)))) return absent;
  const next = changeAt(has ? value[key] : {}, rest, {
    mod,
    list: isTop ? resourceLists.get(key) : undefined,
    isTop: false,
  });
  return next === absent ? absent : withMember(value, key, next);
}

const withMember = (value: Json, key: string, member: unknown): Json =>
  Object.fromEntries([...Object.entries(value).filter(([one]) => one !== key), [key, member]]);

function indexIn(items: readonly unknown[], target: string): [number, string] {
  const [, digits = '', rest = ''] = /^(\d{1,6})(?:\.(.+))?$/.exec(target) ?? [];
  return digits !== '' && Number(digits) < items.length ? [Number(digits), rest] : [-1, ''];
}

/** Names may contain dots: the longest one that the path begins with counts. */
function namedIn(items: readonly unknown[], key: string, target: string): [number, string] {
  let best: [number, string] = [-1, ''];
  let length = 0;
  for (const [index, item] of items.entries()) {
    const name = isObject(item) ? item[key] : undefined;
    if (typeof name !== 'string' || name.length <= length) continue;
    if (target !== name && !target.startsWith(`${name}.`)) continue;
    best = [index, target.slice(name.length + 1)];
    length = name.length;
  }
  return best;
}
