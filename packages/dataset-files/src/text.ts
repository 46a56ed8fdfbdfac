/** Decodes text strictly: a file that is not in its encoding is refused, never read with replacement characters. */

export type Text = { readonly text: string } | { readonly problem: string };

const marks: readonly [encoding: string, mark: readonly number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
  // Without a mark, XML in UTF-16 begins with "<" in two bytes.
  ['utf-16le', [0x3c, 0x00]],
  ['utf-16be', [0x00, 0x3c]],
];

export function decodeText(bytes: Uint8Array, declared?: string): Text {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte))?.[0];
  const encoding = marked ?? declared ?? 'utf-8';
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof RangeError) return { problem: `its encoding ${encoding} is not known: save it as UTF-8` };
    return {
      problem: `it is not ${encoding.toUpperCase()} at byte ${firstInvalid(bytes, encoding)}: save it as UTF-8`,
    };
  }
}

/** Decodes XML by its byte order mark, otherwise by the encoding that it declares. */
export function decodeXml(bytes: Uint8Array): Text {
  const start = String.fromCharCode(...bytes.subarray(0, 200));
  return decodeText(bytes, /^<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(start)?.[1]);
}

/** Offset of the first byte that cannot be decoded: the end of the longest prefix that can. */
function firstInvalid(bytes: Uint8Array, encoding: string): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    try {
      new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return good;
}

export type ParsedJson = { readonly value: unknown } | { readonly problem: string };

/** Parses JSON; a problem says where, and names NaN and Infinity, which Python writes. */
export function parseJsonText(text: string): ParsedJson {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    const found = /"(?:[^"\\]|\\.)*"|(-?\b(?:NaN|Infinity)\b)/g;
    for (const match of text.matchAll(found)) {
      if (match[1] === undefined) continue;
      const before = text.slice(0, match.index).split('\n');
      const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
      return {
        problem: `${match[1]} at ${place} is not JSON, though Python writes it: replace it by null or a number`,
      };
    }
    return { problem: `it is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export const linesOf = (text: string): string[] => text.split(/\r\n|\n|\r/);
