// The secrets of a configuration as readers see them: a fixed placeholder, which stands for the saved value when it is
// saved again. Only the tokens of secrets change; the rest of the text stays as typed. The schema says which fields are
// secrets. No Zod: browsers use this module.
import type { Field } from './field-row.ts';
import { joined, sectionNames, sectionOf } from './reading.ts';
import { isObject, type Json } from '../text/json-object.ts';
import type { Problem } from './problem.ts';
import { canonicalText } from './text.ts';

/** Stands for a saved secret in every text of a configuration that leaves the server. */
export const secretPlaceholder = '(secret kept by the server)';

type Step = string | number;

/** A string value in a JSON text. */
interface StringValue {
  readonly path: readonly Step[];
  readonly start: number;
  readonly end: number;
  /** As written, with quotes and escapes. */
  readonly raw: string;
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** The string values of a valid JSON text, in order. */
function* stringValues(text: string): Generator<StringValue> {
  const path: Step[] = [];
  const lists: boolean[] = [];
  let isKeyNext = false;
  for (const { 0: word, index } of text.matchAll(token)) {
    const isList = lists.at(-1) === true;
    if (word === '{' || word === '[') {
      lists.push(word === '[');
      path.push(word === '[' ? 0 : '');
      isKeyNext = word === '{';
    } else if (word === '}' || word === ']') {
      lists.pop();
      path.pop();
      isKeyNext = false;
    } else if (word === ',') {
      const last = path.at(-1);
      if (isList && typeof last === 'number') path[path.length - 1] = last + 1;
      isKeyNext = !isList;
    } else if (word !== ':' && isKeyNext) {
      path[path.length - 1] = JSON.parse(word) as string;
      isKeyNext = false;
    } else if (word !== ':') {
      yield { path: [...path], start: index, end: index + word.length, raw: word };
    }
  }
}

/** Where a secret stands. */
interface Place {
  /** The field of the schema with what is below it, such as a variable; by our names. */
  readonly field: string;
  readonly network: Step | undefined;
}

/** The secret fields of each section by their names, also by the other ones; to our name. */
const secretKeys = new Map<Step, ReadonlyMap<Step, string>>(
  sectionNames.map((section) => [
    section,
    new Map(
      Object.entries<Field>(sectionOf(section)).flatMap(([key, { isSecret, alias }]) =>
        isSecret ? [key, ...(alias === undefined ? [] : [alias])].map((name): [Step, string] => [name, key]) : [],
      ),
    ),
  ]),
);

function placeOf([root, section = '', ...inner]: readonly Step[]): Place | undefined {
  const keys = root === 'agent' ? secretKeys.get(section) : undefined;
  const network = section === 'additional_networks' ? inner.shift() : undefined;
  const [written = '', ...rest] = inner;
  const key = keys?.get(written);
  return key === undefined ? undefined : { field: JSON.stringify([section, key, ...rest]), network };
}

interface Secret extends StringValue, Place {}

function secretsOf(text: string): Secret[] {
  return [...stringValues(text)].flatMap((one) => {
    const place = one.raw === '""' ? undefined : placeOf(one.path);
    return place ? [{ ...one, ...place }] : [];
  });
}

function replaced(text: string, tokens: readonly { start: number; end: number; by: string }[]): string {
  let at = 0;
  let result = '';
  for (const { start, end, by } of tokens) {
    result += text.slice(at, start) + by;
    at = end;
  }
  return result + text.slice(at);
}

const placeholderToken = JSON.stringify(secretPlaceholder);

const pathText = (path: readonly Step[]): string => path.reduce<string>(joined, '');

/** A configuration for its readers: each secret is the placeholder. @param text - valid JSON. */
export const hideSecrets = (text: string): string =>
  replaced(
    text,
    secretsOf(text).map(({ start, end }) => ({ start, end, by: placeholderToken })),
  );

/** The secrets of a configuration by path. @param text - valid JSON. */
export const revealedSecrets = (text: string): { path: string; value: string }[] =>
  secretsOf(text).map(({ path, raw }) => ({ path: pathText(path), value: JSON.parse(raw) as string }));

/** The places of the secrets of a configuration, placeholders included. @param text - valid JSON. */
export const secretTokens = (text: string): { path: string; start: number; end: number; raw: string }[] =>
  secretsOf(text).map(({ path, start, end, raw }) => ({ path: pathText(path), start, end, raw }));

/** Whether a text has a placeholder at all. */
export const hasPlaceholder = (text: string): boolean => stringsWith(text).length > 0;

const stringsWith = (text: string): { one: StringValue; value: string }[] =>
  [...stringValues(text)].flatMap((one) => {
    const value = JSON.parse(one.raw) as string;
    return value.includes(secretPlaceholder) ? [{ one, value }] : [];
  });

export interface KeptSecrets {
  /** The text to save: without placeholders if there are no problems. */
  readonly text: string;
  readonly problems: readonly Problem[];
  /** The secrets that the text took over from saved ones: their paths in both. */
  readonly values: readonly { path: string; savedPath: string; value: string }[];
}

/**
 * Puts the saved secrets in place of the placeholders.
 *
 * @param text - valid JSON.
 * @param saved - texts with the secrets that are meant; the first that has a value for the place counts.
 */
export function keepSecrets(text: string, saved: readonly string[]): KeptSecrets {
  const found = stringsWith(text);
  if (found.length === 0) return { text, problems: [], values: [] };
  const config: unknown = JSON.parse(text);
  const sources = saved.map((one) => readSource(config, one));
  const problems: Problem[] = [];
  const tokens: { start: number; end: number; by: string }[] = [];
  const values: { path: string; savedPath: string; value: string }[] = [];
  for (const { one, value } of found) {
    const place = placeOf(one.path);
    if (value !== secretPlaceholder && !place) continue;
    const answer =
      value !== secretPlaceholder ? reasons.partly : !place ? reasons.elsewhere : findSaved(place, sources);
    const path = pathText(one.path);
    if ('raw' in answer) {
      tokens.push({ start: one.start, end: one.end, by: answer.raw });
      values.push({ path, savedPath: pathText(answer.path), value: JSON.parse(answer.raw) as string });
    } else problems.push({ path, ...answer, severity: 'error' });
  }
  return { text: replaced(text, tokens), problems, values };
}

interface Source {
  readonly secrets: ReadonlyMap<string, readonly Secret[]>;
  /** The networks that a network of the new text may be. */
  networks(of: Step): readonly Step[];
}

function readSource(config: unknown, text: string): Source {
  const secrets = Map.groupBy(secretsOf(text), ({ field }) => field);
  const all = networksOf(config);
  const before = networksOf(JSON.parse(text));
  return { secrets, networks: (at) => sameNetworks(at, all, before) };
}

type Reason = Pick<Problem, 'message' | 'remedy'>;

const reasons = {
  partly: {
    message: 'contains the placeholder of a saved secret beside other text.',
    remedy: 'Write the whole new value, or the placeholder alone to keep the saved one.',
  },
  elsewhere: {
    message: 'is the placeholder of a saved secret, and this field is not a secret.',
    remedy: 'Write a value, or remove the key.',
  },
  absent: {
    message: 'is the placeholder of a saved secret, and this machine has no saved value for this field.',
    remedy: 'Write the value itself, or remove the key.',
  },
  ambiguous: {
    message: 'is the placeholder of a saved secret, and the values of several saved networks could be meant.',
    remedy: 'Write the value itself, or the name and the SSID that the network was saved with.',
  },
} as const satisfies Record<string, Reason>;

function findSaved({ field, network }: Place, sources: readonly Source[]): Secret | Reason {
  for (const source of sources) {
    const places: readonly (Step | undefined)[] = network === undefined ? [undefined] : source.networks(network);
    const secrets = source.secrets.get(field)?.filter((one) => places.includes(one.network)) ?? [];
    const [first] = secrets;
    if (new Set(secrets.map(({ raw }) => JSON.parse(raw) as string)).size > 1) return reasons.ambiguous;
    if (first) return first;
  }
  return reasons.absent;
}

interface Network {
  readonly at: Step;
  readonly name: string;
  readonly ssid: string;
  /** All that identifies it. */
  readonly identity: string;
  /** All of it but its secrets. */
  readonly open: string;
}

/** Where the saved configuration has the network; several places: each of them could be meant. */
function sameNetworks(at: Step, all: readonly Network[], before: readonly Network[]): Step[] {
  const one = all.find((network) => network.at === at);
  if (!one) return [];
  const isUnchanged = all.length === before.length && all.every(({ open }, index) => open === before[index]?.open);
  if (isUnchanged) return before.slice(all.indexOf(one), all.indexOf(one) + 1).map((network) => network.at);
  const exact = before.filter(({ identity }) => identity === one.identity);
  const similar = before.filter(
    ({ name, ssid }) => (one.name !== '' && name === one.name) || (one.ssid !== '' && ssid === one.ssid),
  );
  return (exact.length > 0 ? exact : similar).map((network) => network.at);
}

function networksOf(config: unknown): Network[] {
  const agent = isObject(config) ? config['agent'] : undefined;
  const given = isObject(agent) ? agent['additional_networks'] : undefined;
  const entries: [Step, unknown][] = Array.isArray(given)
    ? given.map((item: unknown, index): [Step, unknown] => [index, item])
    : isObject(given)
      ? Object.entries(given)
      : [];
  return entries.flatMap(([at, item]) => (isObject(item) ? [networkOf(at, item)] : []));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function networkOf(at: Step, item: Json): Network {
  const name = textOf(item['name']) || (typeof at === 'string' ? at : '');
  const ssid = textOf(item['ssid']);
  const section: Readonly<Record<string, Field>> = sectionOf('additional_networks');
  const open = Object.entries(item).filter(([key]) => !(Object.hasOwn(section, key) && section[key]?.isSecret));
  return {
    at,
    name,
    ssid,
    identity: JSON.stringify([name, ssid, textOf(item['type']), textOf(item['interface'])]),
    open: canonicalText({ ...Object.fromEntries(open), name }),
  };
}
