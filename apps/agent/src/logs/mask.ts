import { masked, type LogLine } from '@platform/kit';

const hole = '***';
/** Lines are plain JSON of bounded size by now. */
const deepest = 1_000;
/** `password=…`, `"psk": "…"`: what a program prints of its own settings. */
const named =
  /(["']?\b[\w-]*(?:secret|passw(?:or)?d|psk|api[_-]?key|private[_-]?key|token)["']?)(=|\s*:\s*(?=["']))(["']?)([^\s"',;&}]+)\3/gi;

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** As it is, and as it stands in JSON, also in JSON inside of JSON. */
const spellings = (word: string): string[] => [...new Set([inJson(inJson(word)), inJson(word), word])];

/** Takes secrets out of lines before they leave this machine or reach its disk. */
export class Mask {
  #words: readonly string[] = [];

  /** Texts that never show, longest first. */
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
