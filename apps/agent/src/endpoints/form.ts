import { isUtf8 } from 'node:buffer';

const mostFields = 32;

/** Fields of an application/x-www-form-urlencoded body; the first of a name counts. Undefined: it is not such a body. */
export function parseForm(body: Buffer): ReadonlyMap<string, string> | undefined {
  if (!isUtf8(body)) return undefined;
  const fields = new Map<string, string>();
  try {
    for (const pair of body.toString('utf8').split('&', mostFields)) {
      const [name = '', ...value] = pair.split('=').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
      if (!fields.has(name)) fields.set(name, value.join('='));
    }
  } catch {
    return undefined; // percent-encoded bytes in another encoding
  }
  return fields;
}
