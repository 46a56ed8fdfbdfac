import { masked, type LogLine } from '@platform/kit';
import { maskNamed } from './named-secrets.ts';
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
      hidden = maskNamed(String(m), hole);
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
