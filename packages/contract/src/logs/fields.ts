type Fields = Readonly<Record<string, unknown>>;

/** Types of zap's fields that decide which member holds the value (zapcore.FieldType). */
const zap = { bool: 4, string: 15 } as const;

/**
 * The fields of a log line as pairs, in their order. They are objects with one key, or zap's own format {Key, Type,
 * String | Integer | Interface …}.
 */
export function fieldPairs(fields: readonly Fields[]): (readonly [key: string, value: unknown])[] {
  return fields.flatMap((field): (readonly [string, unknown])[] => {
    const { Key } = field;
    return typeof Key === 'string' ? [[Key, zapValue(field)]] : Object.entries(field);
  });
}

/** Unused members are present, too: 0, empty or null. */
function zapValue({ Type: type, String: text, Integer: amount, Interface: rest }: Fields): unknown {
  if (type === zap.string) return text ?? '';
  if (type === zap.bool) return amount === 1;
  if (typeof text === 'string' && text !== '') return text;
  if (rest !== undefined && rest !== null) return rest;
  // Without a type, an empty text looks like a zero: most fields are texts.
  return type === undefined && (amount ?? 0) === 0 && text !== undefined ? text : amount;
}
