// The forms in which a program may print a secret that the agent knows. Pure.

/** Shorter ones are masked as they are only: their encoded forms stand in other words by chance. */
const shortestEncoded = 8;

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const inForm = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2);

/** The word itself, and the forms that are one text: JSON, JSON within JSON, a form field, hexadecimal, Base64. */
export function formsOf(word: string): string[] {
  const plain = [inJson(inJson(word)), inJson(word), word];
  if (word.length < shortestEncoded) return [...new Set(plain)];
  const bytes = Buffer.from(word);
  const hex = bytes.toString('hex');
  return [...new Set([...plain, inForm(word), encodeURIComponent(word), hex, hex.toUpperCase(), ...inBase64(bytes)])];
}

/** Base64 of what contains the bytes, as "user:password" does: the characters that depend on nothing else. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bits = (before + bytes.length) % 3;
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const part = whole.slice(before === 0 ? 0 : before + 1, bits === 0 ? undefined : -1);
    return [part, part.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** A text without its escapes, as bytes, each in one character. `starts[i]`: where the i-th byte begins in the text. */
interface Unescaped {
  bytes: string;
  starts: number[];
}

/** Needs unescaping: a percent sign, a backslash, an entity, a control sequence or a line break. */
const escaping = /[%\\&\u001b\r\n]/;
/** One of: control sequence of a terminal, line break, percent, \x41, \u0041, &#65;, &#x41;, the named entities of XML. */
const escape =
  /(\u001b\[[\d;]{0,16}[A-Za-z]|\r?\n|\\[nr])|%([\da-f]{2})|\\x([\da-f]{2})|\\u([\da-f]{4})|&#(\d{1,6});|&#x([\da-f]{1,5});|&(amp|lt|gt|quot|apos);/iy;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): Unescaped {
  let bytes = '';
  const starts: number[] = [];
  const push = (from: string, at: number): void => {
    bytes += from;
    for (let n = 0; n < from.length; n++) starts.push(at);
  };
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (escaping.test(text[at] ?? '')) {
      escape.lastIndex = at;
      const found = escape.exec(text);
      if (found) {
        const [whole, dropped, percent, x, u, decimal, hex, name] = found;
        if (dropped === undefined) push(bytesOf({ byte: percent ?? x, u: u ?? hex, decimal, name }), at);
        at += whole.length;
        continue;
      }
    }
    const isPair = code >= 0xd8_00 && code < 0xdc_00;
    push(code < 128 ? String.fromCharCode(code) : asBytes(text.slice(at, at + (isPair ? 2 : 1))), at);
    at += isPair ? 2 : 1;
  }
  starts.push(text.length);
  return { bytes, starts };
}

const asBytes = (text: string): string => Buffer.from(text).toString('latin1');

type Escape = Record<'byte' | 'u' | 'decimal' | 'name', string | undefined>;

function bytesOf({ byte, u, decimal, name }: Escape): string {
  if (byte !== undefined) return String.fromCharCode(parseInt(byte, 16));
  if (name !== undefined) return entities[name.toLowerCase()] ?? '';
  const code = u === undefined ? Number(decimal) : parseInt(u, 16);
  return code <= 0x10_ff_ff ? asBytes(String.fromCodePoint(code)) : '';
}

/** Masks words whose characters are escaped, or cut by line breaks or colors. @param words - longest first */
export function maskEscaped(text: string, words: readonly string[], hole: string): string {
  const long = words.filter(({ length }) => length >= shortestEncoded);
  if (long.length === 0 || !escaping.test(text)) return text;
  const { bytes, starts } = unescaped(text);
  const found = long.flatMap((word) => placesOf(bytes, asBytes(word)));
  let [shown, done] = ['', 0];
  for (const { from, to } of found.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    const [start = 0, end = 0] = [starts[from], starts[to]];
    if (start < done) continue;
    shown += text.slice(done, start) + hole;
    done = end;
  }
  return shown + text.slice(done);
}

function placesOf(bytes: string, word: string): { from: number; to: number }[] {
  const places: { from: number; to: number }[] = [];
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + word.length))
    places.push({ from: at, to: at + word.length });
  return places;
}

/** Masks the part of a word before which or after which the text was split: a line that was too long. */
export function maskSplit(text: string, words: readonly string[], hole: string): string {
  let shown = text;
  for (const word of words) {
    if (word.length < 2 * shortestEncoded) continue;
    const head = shown.slice(0, word.length - 1);
    const last = head.indexOf(word.slice(-shortestEncoded));
    if (last >= 0 && word.endsWith(head.slice(0, last + shortestEncoded)))
      shown = hole + shown.slice(last + shortestEncoded);
    const tail = shown.slice(1 - word.length);
    const first = tail.lastIndexOf(word.slice(0, shortestEncoded));
    if (first >= 0 && word.startsWith(tail.slice(first)))
      shown = shown.slice(0, shown.length - tail.length + first) + hole;
  }
  return shown;
}
