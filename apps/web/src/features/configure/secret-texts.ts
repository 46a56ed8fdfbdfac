// Texts of a configuration for comparisons: they say whether a secret differs, and never show it.
import { secretPlaceholder, secretTokens } from '@platform/contract/config/placeholders';
import { parseJson } from '@platform/contract/text/json-object';

/** A text as the server shows it. */
export interface ShownText {
  readonly text: string;
  /** One for each secret; equal marks stand for equal values. Undefined: not known. */
  readonly secrets?: readonly { readonly path: string; readonly mark: string }[] | undefined;
}

export const changedSecret = '(secret, changed)';

type Token = ReturnType<typeof secretTokens>[number];

/** Replaces tokens of secrets. @param by - undefined: the token stays */
function mapTokens(text: string, by: (token: Token) => string | undefined): string {
  if (parseJson(text) === undefined) return text;
  let at = 0;
  let result = '';
  for (const token of secretTokens(text)) {
    const next = by(token);
    if (next === undefined) continue;
    result += text.slice(at, token.start) + JSON.stringify(next);
    at = token.end;
  }
  return result + text.slice(at);
}

const isKept = ({ raw }: Token): boolean => raw === JSON.stringify(secretPlaceholder);

/** Whether a secret of a text has another value than all those of another text. */
function differsFrom(before: ShownText, after: ShownText): (token: Token) => boolean {
  if (before.secrets === undefined || after.secrets === undefined) return () => false;
  const known = new Set(before.secrets.map(({ mark }) => mark));
  const marks = new Map(after.secrets.map(({ path, mark }) => [path, mark]));
  return ({ path }) => {
    const mark = marks.get(path);
    return mark !== undefined && !known.has(mark);
  };
}

/** A text to show beside an earlier one: each secret that was typed, or that has another mark, is changed. */
export function comparedText(before: ShownText, after: ShownText): string {
  const differs = differsFrom(before, after);
  return mapTokens(after.text, (token) => (!isKept(token) || differs(token) ? changedSecret : undefined));
}

const typedSecret = /\(secret (\d+), typed here\)/g;

/** Three texts to merge, in which secrets that differ are different texts, and the way back. */
export function mergeable(of: { base: ShownText; theirs: ShownText; mine: string }) {
  const differs = differsFrom(of.base, of.theirs);
  const typed: string[] = [];
  const mine = mapTokens(of.mine, (token) =>
    isKept(token) ? undefined : `(secret ${typed.push(token.raw)}, typed here)`,
  );
  return {
    base: of.base.text,
    theirs: mapTokens(of.theirs.text, (token) => (differs(token) ? changedSecret : undefined)),
    mine,
    /** The merged text with what was typed, and with placeholders for what is saved. */
    restore: (merged: string): string =>
      merged
        .replaceAll(changedSecret, secretPlaceholder)
        .replaceAll(typedSecret, (all, number: string) => typed[Number(number) - 1]?.slice(1, -1) ?? all),
  };
}
