import { masked, type LogLine } from '@platform/kit';

const hole = '***';
/** Deep enough for any line: it is plain JSON of bounded size here. */
const deepest = 1_000;
/** `password=…`, `"psk": "…"`: settings that a program prints. */
const named =
  /(["']?\b[\w-]*(?:secret|passw(?:or)?d|psk|api[_-]?key|private[_-]?key|token)["']?)(=|\s*:\s*(?=["']))(["']?)([^\s"',;&}]+)\3/gi;

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The word itself, and its escaped forms in JSON and in JSON within JSON. */
const spellings = (word: string): string[] => [...new Set([inJson(inJson(word)), inJson(word), word])];

/** Masks secrets in lines before they reach the disk or the network. */
export class Mask {
  #words: readonly string[] = [];

  /** Sets the texts to mask, longest first. */
  hide(words: readonly string[]): void {
    this.#words = words.flatMap(spellings);
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
    for (const word of this.#words) if (hidden.includes(word)) hidden = hidden.replaceAll(word, hole);
    if (/[=:]/.test(hidden)) {
      const { m } = masked({ m: hidden });
      hidden = String(m).replaceAll(named, `$1$2$3${hole}$3`);
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
