/** Helpers for untrusted JSON. */

export type Json = Readonly<Record<string, unknown>>;

/** Neither null nor a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectOf = (value: unknown): Record<string, unknown> | undefined => (isObject(value) ? value : undefined);

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined if the text is not a JSON object. */
export const parseObject = (text: string): Record<string, unknown> | undefined => objectOf(parseJson(text));
