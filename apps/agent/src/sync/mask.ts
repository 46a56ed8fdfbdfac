import { masked, type LogLine } from '@platform/kit';

const hole = '***';
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
    const message = this.text(line.message);
    const fields = masked(line.fields);
    return { ...line, message, fields: this.#words.length > 0 ? (this.#deep(fields) as LogLine['fields']) : fields };
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

  #deep(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#deep(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#deep(item)]));
  }
}
