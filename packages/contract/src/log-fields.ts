type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a log line as pairs, in their order. They are objects with one key, or zap's own format {Key, String |
 * Integer | Interface …}.
 */
export function fieldPairs(fields: readonly Fields[]): (readonly [key: string, value: unknown])[] {
  return fields.flatMap((field): (readonly [string, unknown])[] => {
    const { Key, String: text, Integer: amount, Interface: rest } = field;
    if (typeof Key !== 'string') return Object.entries(field);
    return [[Key, rest ?? (text === '' ? undefined : text) ?? amount]];
  });
}
