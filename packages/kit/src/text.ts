// The only place that turns bytes of users into text. Lenient decoders replace what they cannot read by U+FFFD, and the
// letter is lost without a word.

type Encoding = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'UTF-32';

/** Bytes that are not text in their encoding. The message is a clause for users, without the name of the source. */
export class NotText extends Error {
  /** File, or what else the bytes are from; '' if the reader did not know. */
  readonly source: string;
  /** By the byte order mark; UTF-8 without one. */
  readonly encoding: Encoding;
  /** Position of the first byte of the wrong character, from 0. */
  readonly offset: number;
  /** Line of that byte, from 1. */
  readonly line: number;

  constructor(at: { source: string; encoding: Encoding; offset: number; line: number; byte: string }) {
    super(
      at.encoding === 'UTF-32'
        ? 'it is in UTF-32, which is not supported'
        : `it is not valid ${at.encoding}: ${at.byte} at offset ${at.offset}, in line ${at.line}`,
    );
    this.name = 'NotText';
    this.source = at.source;
    this.encoding = at.encoding;
    this.offset = at.offset;
    this.line = at.line;
  }
}

/** Whether the failure is text in an unsupported or damaged encoding. */
export const isNotText = (error: unknown): error is NotText => error instanceof NotText;

/**
 * Decodes UTF-8 with or without a byte order mark, and UTF-16 with one. The text does not contain the mark.
 *
 * @param source - the file, for the message.
 * @throws NotText with encoding and offset of the first wrong byte
 */
export function decodeText(bytes: Uint8Array, source = ''): string {
  const encoding = encodingOf(bytes);
  if (encoding === 'UTF-32') throw new NotText({ source, encoding, offset: 0, line: 1, byte: '' });
  return encoding === 'UTF-8' ? decodeUtf8(bytes, source) : decodeUtf16(bytes, encoding, source);
}

function encodingOf([first, second, third, fourth]: Uint8Array): Encoding {
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? 'UTF-32' : 'UTF-16LE';
  if (first === 0xfe && second === 0xff) return 'UTF-16BE';
  return first === 0 && second === 0 && third === 0xfe && fourth === 0xff ? 'UTF-32' : 'UTF-8';
}

function decodeUtf8(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const offset = wrongUtf8(bytes);
    const line = bytes.subarray(0, offset).filter((byte) => byte === lineFeed).length + 1;
    throw new NotText({ source, encoding: 'UTF-8', offset, line, byte: `byte 0x${hex(bytes[offset] ?? 0, 2)}` });
  }
}

/** Offset of the first character that is not valid. */
function wrongUtf8(bytes: Uint8Array): number {
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes[at] ?? 0);
    if (length === 0 || !isValidUtf8(bytes.subarray(at, at + length))) return at;
    at += length;
  }
  return bytes.length;
}

const sequenceLength = (lead: number): number =>
  lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;

function isValidUtf8(character: Uint8Array): boolean {
  if (character.length === 1) return (character[0] ?? 0) < 0x80;
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(character);
    return true;
  } catch {
    return false;
  }
}

/** Not every runtime has a decoder for big-endian UTF-16. */
function decodeUtf16(bytes: Uint8Array, encoding: 'UTF-16LE' | 'UTF-16BE', source: string): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittle = encoding === 'UTF-16LE';
  const units: string[] = [];
  for (let at = 2; at + 1 < bytes.length; at += chunkBytes) {
    const end = Math.min(at + chunkBytes, bytes.length - (bytes.length % 2));
    const codes: number[] = [];
    for (let unit = at; unit < end; unit += 2) codes.push(view.getUint16(unit, isLittle));
    units.push(String.fromCharCode(...codes));
  }
  const text = units.join('');
  const wrong = text.isWellFormed() ? text.length : wrongUnit(text);
  if (wrong === text.length && bytes.length % 2 === 0) return text;
  const line = text.slice(0, wrong).split('\n').length;
  const code = text.charCodeAt(wrong);
  const byte = Number.isNaN(code) ? 'half a character' : `half of a pair, 0x${hex(code, 4)},`;
  throw new NotText({ source, encoding, offset: 2 + wrong * 2, line, byte });
}

/** Index of the first surrogate without its other half. */
function wrongUnit(text: string): number {
  for (let at = 0; at < text.length; at++) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (!character.isWellFormed()) return at;
    at += character.length - 1;
  }
  return text.length;
}

const chunkBytes = 16_384;
const lineFeed = 0x0a;
const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
