import { masked, type LogLine } from '@platform/kit';
import { formsOf, maskEscaped, maskSplit } from './secret-forms.ts';

const hole = '***';
/** Deep enough for any line: it is plain JSON of bounded size here. */
const deepest = 1_000;
/** Masks secrets in lines before they reach the disk or the network. */
export class Mask {
  #words: readonly string[] = [];
  #forms: readonly string[] = [];

  /** Sets the texts to mask, longest first. */
  hide(words: readonly string[]): void {
    this.#words = words;
    this.#forms = words.flatMap(formsOf);
  }

  line(line: LogLine): LogLine {
    const { caller, stack } = line;
    return {
      ...line,
      message: this.text(line.message),
      fields: this.#fields(line.fields),
      ...(caller && { caller: this.#fields(caller) }),
      ...(stack !== undefined && { stack: this.text(stack) }),
    };
  }

  text(text: string): string {
    let hidden = text;
    for (const form of this.#forms) if (hidden.includes(form)) hidden = hidden.replaceAll(form, hole);
    hidden = maskSplit(maskEscaped(hidden, this.#words, hole), this.#words, hole);
    if (/[=:]/.test(hidden)) {
      const { m } = masked({ m: hidden });
      hidden = maskNamed(String(m));
    }
    return hidden;
  }

  #fields(fields: Record<string, unknown>): Record<string, unknown> {
    const shown = masked(fields, deepest);
    return this.#words.length > 0 ? (this.#deep(shown) as Record<string, unknown>) : shown;
  }

  #deep(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#deep(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#deep(item)]));
  }
}

// `password=…`, `"psk": "…"`: values of settings that a program prints. By hand, in linear time: lines come from foreign
// programs, and a regular expression with two open ends takes seconds for a line of hyphens.

/** What stands before the separator: a name that ends like one of a secret, maybe in quotes. */
const secretName = /(?:secret|passw(?:or)?d|psk|api[_-]?key|private[_-]?key|token)(?:\\{0,3}["'])?$/i;
/** The longest of these names, its quote and blanks before a colon. */
const nameCharacters = 32;
const opening = /\\{0,3}["']/y;
const blanks = /[ \t]{0,8}/y;
const bare = /[^\s"',;&}\\]+/y;

/** The text with the hole in the place of each value of a setting with the name of a secret. */
function maskNamed(text: string): string {
  let shown = '';
  let done = 0;
  for (let at = separatorFrom(text, 0); at >= 0; at = separatorFrom(text, Math.max(at + 1, done))) {
    const value = isNamed(text, done, at) ? valueAt(text, at) : undefined;
    if (!value) continue;
    shown += text.slice(done, value.start) + hole;
    done = value.end;
  }
  return shown + text.slice(done);
}

function separatorFrom(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === '=' || text[at] === ':') return at;
  return -1;
}

function isNamed(text: string, from: number, at: number): boolean {
  const before = text.slice(Math.max(from, at - nameCharacters), at);
  return secretName.test(text[at] === ':' ? before.trimEnd() : before);
}

/** After a colon only a value in quotes: "the token: it has expired" is a sentence. */
function valueAt(text: string, separator: number): { start: number; end: number } | undefined {
  const isColon = text[separator] === ':';
  const from = separator + 1 + (isColon ? matchAt(blanks, text, separator + 1).length : 0);
  const quote = matchAt(opening, text, from);
  if (quote === '' && isColon) return undefined;
  const start = from + quote.length;
  const end = quote === '' ? start + matchAt(bare, text, start).length : endOfQuoted(text, start, quote);
  return end > start ? { start, end } : undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

/** Where the same quote stands again, as deeply escaped; the end of a text that was cut off before. */
function endOfQuoted(text: string, start: number, quote: string): number {
  for (let at = text.indexOf(quote, start); at >= 0; at = text.indexOf(quote, at + quote.length))
    if (text[at - 1] !== '\\') return at;
  return text.length;
}
