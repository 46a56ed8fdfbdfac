/** One DER value; X.509 certificates are encoded in DER. */
export interface Der {
  tag: number;
  body: Uint8Array;
}

/**
 * The consecutive values in `bytes`.
 *
 * @throws Error when it is not DER: a length that does not fit, an indefinite length, a tag of more than one byte.
 */
export function readDer(bytes: Uint8Array): Der[] {
  const values: Der[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at++]!;
    if ((tag & 0x1f) === 0x1f) throw new Error('a tag of more than one byte');
    let length = bytes[at++] ?? 0x80;
    if (length >= 0x80) {
      const count = length & 0x7f;
      if (count === 0 || count > 4 || at + count > bytes.length) throw new Error('a length that DER does not allow');
      length = 0;
      for (let i = 0; i < count; i++) length = length * 256 + bytes[at++]!;
    }
    if (at + length > bytes.length) throw new Error('a value is cut off');
    values.push({ tag, body: bytes.subarray(at, at + length) });
    at += length;
  }
  return values;
}

/** The body of the single value in `bytes`, which must have this tag. @throws Error otherwise. */
export function readOne(bytes: Uint8Array, tag: number): Uint8Array {
  const [value, ...more] = readDer(bytes);
  if (value?.tag !== tag || more.length > 0) throw new Error(`not one value of the tag ${tag}`);
  return value.body;
}

/** An object identifier as text, for example 2.5.29.15. */
export function oidText(body: Uint8Array): string {
  const parts: number[] = [];
  let value = 0;
  for (const byte of body) {
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    if (parts.length > 0) parts.push(value);
    else parts.push(Math.min(2, Math.floor(value / 40)), value - 40 * Math.min(2, Math.floor(value / 40)));
    value = 0;
  }
  return parts.join('.');
}

/** A small integer; Infinity if it has more than four bytes. @throws Error when it is negative. */
export function smallNumber(body: Uint8Array): number {
  if (body.length === 0 || body[0]! >= 0x80) throw new Error('no number of this kind');
  return body.length > 4 ? Infinity : body.reduce((sum, byte) => sum * 256 + byte, 0);
}
