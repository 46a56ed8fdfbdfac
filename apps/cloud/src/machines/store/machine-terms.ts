// Terms of queries and orders of machines in SQL, over the tables part, machine and location.
import { type RawBuilder, sql } from 'kysely';
import { type Comparison, type Operator, versionNumbers } from '@platform/contract/machine/fields';
import type { QueryTerm } from '@platform/contract/machine/query';
import type { MachineSort, SortKey } from '@platform/contract/machine/sort';
import { uninstallLateMs } from '../rules/online.ts';

/** The last contacts that are newer than the database, and what they mean. All times are in ms. */
export interface Contacts {
  /** JSON: by part, since 1970. */
  readonly seen: string;
  readonly now: number;
  /** For how long a machine counts as online. */
  readonly onlineMs: number;
}
/** Whether these need the last contacts. */
export const dependOnContacts = (terms: readonly QueryTerm[], { by }: MachineSort): boolean =>
  ['state', 'seen'].includes(by) ||
  terms.some((term) => 'comparison' in term && ['state', 'seen'].includes(term.comparison.field));

type Value<T> = RawBuilder<T>;

const comparisons = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
} as const satisfies Record<Exclude<Operator, '~'>, unknown>;

/** For comparisons without case and forms of Unicode. The database folds both sides, so that they are folded alike. */
export const folded = (text: Value<string>): Value<string> => sql`lower(normalize(${text}, NFKC))`;
const contains = (text: Value<string>, wanted: string): Value<boolean> =>
  sql`position(${folded(sql`${wanted}::text`)} in ${folded(text)}) > 0`;

/**
 * The same of a long text, which is evaluated once. ASCII is the same in each form of Unicode: to see that a text is
 * ASCII takes a fraction of the time of normalizing it.
 */
const longContains = (text: Value<string>, wanted: string): Value<boolean> =>
  sql`position(${folded(sql`${wanted}::text`)} in (
    select lower(case when octet_length(whole) = char_length(whole) then whole else normalize(whole, NFKC) end)
      from (select ${text} as whole offset 0) one)) > 0`;

export const factOf = (name: string): Value<string> => sql`(part.facts ->> ${name}::text)`;
/** The report of another product's agent is its host information. */
export const versionOf = (program: 'agent' | 'server'): Value<string> => {
  const name = `${program}_version`;
  return sql`coalesce(nullif(part.facts ->> ${name}::text, ''), nullif(part.host ->> ${name}::text, ''))`;
};
/** Three numbers, and whether it is a release; null: it is no such version. */
const numbersOf = (version: Value<string>): Value<number[]> =>
  sql`case when ${version} ~ '^v?[0-9]{1,9}[.][0-9]{1,9}[.][0-9]{1,9}([-+]|$)' then
    string_to_array(ltrim(split_part(split_part(${version}, '-', 1), '+', 1), 'v'), '.')::int[]
      || case when position('-' in split_part(${version}, '+', 1)) > 0 then 0 else 1 end end`;

/** ms since 1970; null: never. */
const seenOf = ({ seen }: Contacts): Value<number> =>
  sql`coalesce((${seen}::jsonb ->> part.id::text)::double precision,
    extract(epoch from part.last_seen) * 1000)`;
export const stateOf = (contacts: Contacts): Value<string> => {
  const seen = seenOf(contacts);
  return sql`case
    when part.uninstalled_on is not null
      and coalesce(${seen} <= extract(epoch from part.uninstalled_on) * 1000 + ${uninstallLateMs}, true) then 'uninstalled'
    when ${seen} is null then 'awaiting'
    when abs(${contacts.now}::double precision - ${seen}) <= ${contacts.onlineMs}::double precision then 'online'
    else 'offline' end`;
};

const textHolds = (fact: Value<string>, operator: Operator, value: string): Value<boolean> =>
  operator === '~'
    ? contains(fact, value)
    : sql`${folded(fact)} ${comparisons[operator]} ${folded(sql`${value}::text`)}`;

function versionHolds(version: Value<string>, operator: Operator, value: string): Value<boolean> {
  const numbers = versionNumbers(value);
  // A whole version is itself; "main" is one, too.
  const isText = operator === '~' || !numbers || (numbers.length === 4 && (operator === '=' || operator === '!='));
  if (isText) return textHolds(version, operator, value);
  return sql`(${numbersOf(version)})[1:${sql.lit(numbers.length)}] ${comparisons[operator]} ${numbers}::int[]`;
}

/** Conditions are lines like "DISK_FULL: The disk is full." */
const conditionHolds = (operator: Operator, value: string): Value<boolean> => {
  const fact = factOf('condition');
  if (operator === '~') return contains(fact, value);
  const named = sql<boolean>`position(lower(chr(10) || ${value}::text || ':') in lower(chr(10) || ${fact})) > 0`;
  return operator === '=' ? named : sql`not ${named}`;
};

const tagHolds = (operator: Operator, value: string): Value<boolean> => {
  if (operator === '~')
    return sql`exists (select from unnest(machine.tags) tag where position(${value}::text in tag) > 0)`;
  const isTagged = sql<boolean>`machine.tags @> array[${value}::text]`;
  return operator === '!=' ? sql`not ${isTagged}` : isTagged;
};

const operationHolds = (operator: Operator, value: string): Value<boolean> => {
  const [number, result] = value.split('/');
  const ofResult = result === undefined ? sql`true` : sql`one.state = ${result}`;
  const isIn = sql<boolean>`exists (
    select from bulk_machine one join bulk_operation operation on operation.id = one.operation_id
     where one.machine_id = machine.id and operation.org_id = machine.org_id
       and operation.number = ${Number(number)}::int and ${ofResult})`;
  return operator === '!=' ? sql`not ${isIn}` : isIn;
};

const numberHolds = (fact: Value<number>, operator: Operator, value: number): Value<boolean> =>
  sql`${fact} ${comparisons[operator === '~' ? '=' : operator]} ${value}::double precision`;

function valueHolds(fact: Value<string>, operator: Operator, value: string | number | boolean): Value<boolean> {
  if (typeof value === 'string') return textHolds(fact, operator, value);
  if (typeof value === 'number') return numberHolds(sql`${fact}::double precision`, operator, value);
  return sql`${fact}::boolean ${comparisons[operator === '!=' ? '!=' : '=']} ${value}::boolean`;
}

function comparisonHolds({ field, operator, value }: Comparison, contacts: Contacts): Value<boolean> {
  const text = String(value);
  const either = (a: Value<string>, b: Value<string>): Value<boolean> =>
    operator === '!='
      ? sql`(${textHolds(a, '!=', text)} and ${textHolds(b, '!=', text)})`
      : sql`(${textHolds(a, operator, text)} or ${textHolds(b, operator, text)})`;
  switch (field) {
    case 'name':
      return textHolds(sql`machine.name`, operator, text);
    case 'id':
      return either(sql`machine.id::text`, sql`part.id::text`);
    case 'location':
      return either(sql`location.name`, sql`location.id`);
    case 'host':
      return textHolds(factOf('hostname'), operator, text);
    case 'tag':
      return tagHolds(operator, text);
    case 'operation':
      return operationHolds(operator, text);
    case 'state':
      return sql`${stateOf(contacts)} ${comparisons[operator === '!=' ? '!=' : '=']} ${text}`;
    case 'seen':
      return valueHolds(sql`(${contacts.now}::double precision - ${seenOf(contacts)})::text`, operator, value);
    case 'server':
    case 'agent':
      return versionHolds(versionOf(field), operator, text);
    case 'condition':
      return conditionHolds(operator, text);
    default:
      return valueHolds(factOf(field), operator, value);
  }
}

/** At least four digits: each digit is in many IDs. */
const startsId = /^[0-9a-f]{4}[0-9a-f-]{0,32}$/i;

function wordHolds(text: string): Value<boolean> {
  const texts = sql<string>`concat_ws(chr(10), machine.name, ${factOf('hostname')}, array_to_string(machine.tags, chr(10)))`;
  const named = longContains(texts, text);
  if (!startsId.test(text)) return sql`(${named})`;
  const id = text.toLowerCase();
  return sql`(${named} or starts_with(machine.id::text, ${id}) or starts_with(part.id::text, ${id}))`;
}

/** What a machine does not report matches no comparison: one with null is not true. So it matches each negated one. */
export function termHolds(term: QueryTerm, contacts: Contacts): Value<boolean> {
  const holds = 'text' in term ? wordHolds(term.text) : comparisonHolds(term.comparison, contacts);
  return term.isNegated ? sql`not coalesce(${holds}, false)` : sql`coalesce(${holds}, false)`;
}

/** Those that need attention come first. */
const stateRank = (contacts: Contacts): Value<number> =>
  sql`array_position(array['offline', 'awaiting', 'online', 'uninstalled'], ${stateOf(contacts)})`;

const numberOf = (fact: string): Value<number> => sql`${factOf(fact)}::double precision`;

/** How long ago the contact was, in ascending order as "seen<1h" compares it. */
const orders: Readonly<Record<SortKey, (contacts: Contacts) => Value<unknown>>> = {
  name: () => sql`machine.name`,
  state: stateRank,
  location: () => sql`${folded(sql`location.name`)}`,
  agent: () => numbersOf(versionOf('agent')),
  server: () => numbersOf(versionOf('server')),
  revision: () => sql`part.revision`,
  seen: (contacts) => sql`-${seenOf(contacts)}`,
  condition: () => folded(factOf('condition')),
  tag: () => sql`nullif(array_to_string(machine.tags, ' '), '')`,
  host: () => folded(factOf('hostname')),
  platform: () => folded(factOf('platform')),
  os: () => folded(factOf('os')),
  model: () => folded(factOf('model')),
  kernel: () => folded(factOf('kernel')),
  disk_free: () => numberOf('disk_free'),
  memory: () => numberOf('memory'),
  temperature: () => numberOf('temperature'),
};

/** Equal ones by name; machines without a value come last. */
export function orderOf({ by, isDescending }: MachineSort, contacts: Contacts): Value<unknown> {
  const direction = isDescending ? sql`desc` : sql`asc`;
  if (by === 'name') return sql`machine.name ${direction}, machine.id ${direction}`;
  return sql`${orders[by](contacts)} ${direction} nulls last, machine.name, machine.id`;
}
