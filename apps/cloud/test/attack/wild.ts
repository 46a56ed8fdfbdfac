import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from '@bufbuild/protobuf';

/** A seeded random generator. */
export type Random = { pick<T>(of: readonly T[]): T; below(limit: number): number; isLess(than: number): boolean };

export function randomFrom(next: () => number): Random {
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, isLess: (than) => next() < than, pick: (of) => of[below(of.length)] as never };
}

const nested = (depth: number, inner: JsonValue): JsonValue => {
  let value = inner;
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { a: value };
  return value;
};

/** Texts that a client might send by mistake or on purpose. */
export const wildTexts: readonly string[] = [
  '',
  ' ',
  'x',
  'latest',
  '\0',
  'a\0b',
  '\u202Eevil\u202C',
  '\u2066x',
  '\uFEFF',
  '\u{1F600}',
  'e\u0301',
  '../../etc/passwd',
  '/',
  ':',
  'a:b',
  'a/b/c',
  '%00',
  "' or 1=1 --",
  '{"a":',
  '{}',
  '[]',
  '-1',
  '1e309',
  'NaN',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '{00000000-0000-0000-0000-000000000000}',
  'AAAA',
  '99999999999999999999',
  'x'.repeat(129),
  'x'.repeat(20_000),
  '\u{1F600}'.repeat(3_000),
];

const times: readonly string[] = [
  '1970-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '2026-02-28T23:59:59.123456789+14:00',
];
const structs: readonly JsonValue[] = [
  {},
  { a: 1 },
  { '': null },
  { 'a\0': 'b\0' },
  { __proto__: 1, constructor: 'x' },
  { a: nested(60, 'deep') },
  Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n])),
];

/** Generates values that the type of the field allows. @param texts - ids, some of which exist. */
function wildValue(field: DescField, random: Random, texts: readonly string[], depth = 0): JsonValue | undefined {
  const { pick } = random;
  const one = (): JsonValue | undefined => {
    if (field.message) return wildMessageValue(field.message, field.name, random, texts, depth);
    if (field.enum) return pick([...field.enum.values.map(({ number }) => number), 99, -1, 2_147_483_647]);
    return field.scalar === undefined ? undefined : wildScalar(field.scalar, random, texts);
  };
  if (field.fieldKind === 'list') {
    const values = Array.from({ length: pick([0, 1, 2, 3]) }, one);
    return values.filter((value) => value !== undefined);
  }
  if (field.fieldKind === 'map') {
    const value = one();
    return value === undefined ? {} : { [pick(texts)]: value };
  }
  return one();
}

function wildMessageValue(
  message: DescMessage,
  name: string,
  random: Random,
  texts: readonly string[],
  depth: number,
): JsonValue | undefined {
  const { pick } = random;
  switch (message.typeName) {
    case 'google.protobuf.Timestamp':
      return pick(times);
    case 'google.protobuf.Duration':
      // Long waits are out of scope here.
      return pick(
        /wait|hold/.test(name) ? ['0s', '-1s', '0.000000001s'] : ['0s', '-1s', '315576000000s', '-315576000000s'],
      );
    case 'google.protobuf.Struct':
      return pick(structs);
    case 'google.protobuf.FieldMask':
      return pick(['', 'id', 'sequenceTags,endTime', 'startTime,endTime,resources,sequenceTags', 'none.of.them']);
    case 'google.protobuf.Any':
      return undefined;
    default:
      return depth > 3 ? {} : wildMessage(message, random, texts, depth + 1);
  }
}

function wildScalar(type: ScalarType, { pick, isLess }: Random, texts: readonly string[]): JsonValue {
  switch (type) {
    case ScalarType.STRING:
      return isLess(0.6) ? pick(texts) : pick(wildTexts);
    case ScalarType.BOOL:
      return pick([true, false]);
    case ScalarType.BYTES:
      return Buffer.from(pick(['', '\0', 'x', 'x'.repeat(32), 'x'.repeat(5_000)])).toString('base64');
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return pick([0, 0.5, 1, -1, 'NaN', 'Infinity', '-Infinity', 1e30, -1e-30]);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return pick(['0', '1', '9007199254740993', '18446744073709551615']);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return pick(['0', '1', '-1', '9223372036854775807', '-9223372036854775808']);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return pick([0, 1, 2, 4_294_967_295]);
    default:
      return pick([0, 1, -1, 2_147_483_647, -2_147_483_648]);
  }
}

/** Generates a well-formed message with implausible values. */
export function wildMessage(message: DescMessage, random: Random, texts: readonly string[], depth = 0): JsonObject {
  const found: JsonObject = {};
  for (const member of message.members) {
    const field = member.kind === 'oneof' ? random.pick(member.fields) : member;
    if (random.isLess(0.3)) continue;
    const value = wildValue(field, random, texts, depth);
    if (value !== undefined) found[field.jsonName] = value;
  }
  return found;
}

/** Values of a wrong type. */
const mistypedValues: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  9_007_199_254_740_991,
  '',
  'NaN',
  '\0',
  '\u202E',
  [],
  [null],
  {},
  { '@type': 'type.googleapis.com/x' },
  nested(150, 1),
  Array.from({ length: 2_000 }, (_, n) => n),
  'x'.repeat(30_000),
];

/** Changes one value of `json`: sets another type, removes it, or adds an unknown field. */
export function mutatedJson(json: JsonValue, random: Random, texts: readonly string[]): JsonValue {
  const { pick, isLess } = random;
  const mistypedValue = (): JsonValue => (isLess(0.3) ? pick(texts) : pick(mistypedValues));
  if (json === null || typeof json !== 'object' || isLess(0.15)) return mistypedValue();
  if (Array.isArray(json)) {
    if (json.length === 0) return [mistypedValue()];
    const at = random.below(json.length);
    return json.map((value, index) => (index === at ? mutatedJson(value, random, texts) : value));
  }
  const keys = Object.keys(json);
  const key = keys.length === 0 || isLess(0.1) ? 'unknown' : pick(keys);
  if (isLess(0.1)) return Object.fromEntries(Object.entries(json).filter(([name]) => name !== key));
  return { ...json, [key]: mutatedJson(json[key] ?? null, random, texts) };
}
