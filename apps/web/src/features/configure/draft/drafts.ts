// Unsaved configurations that the browser keeps. Secrets stay out of its storage: those that are saved already are
// placeholders, and those typed since must be typed again.
import { secretPlaceholder, secretTokens } from '@platform/contract/config/placeholders';
import { parseJson } from '@platform/contract/text/json-object';
import { looksSecret } from '@platform/contract/config/secret-names';
import { cursorAt, formatPath } from '../schema/json-path.ts';
import type { ConfigProblem } from '../config-problems.ts';

/** The saved text that an editor started from. */
export interface Base {
  revision: bigint;
  text: string;
}

/** What a browser keeps of one unsaved text; plain data, as IndexedDB stores it. */
export interface KeptDraft {
  /** Without secrets. */
  readonly text: string;
  /** For each secret of `text`: its number among the secrets of the base, or null if it was typed since. */
  readonly secrets: readonly (number | null)[];
  /** What the user wrote about the change so far. */
  readonly comment: string;
  /** The revision whose secrets the placeholders stand for; undefined: the newest. */
  readonly secretsOf?: string;
  /** The saved revision that the draft started from; its text is without secrets, too. */
  readonly base: { readonly revision: string; readonly text: string };
  /** The tab that kept it. */
  readonly tab: string;
  /** Milliseconds since 1970. */
  readonly keptAt: number;
}

/** Stands for a secret that the browser did not keep. */
export const missingSecret = '(type this again)';

/**
 * A string, and the string that is its value if it names a member. Closing quotes are missing while the user types. Each
 * string is matched, so that the time is linear.
 */
const member = /"((?:[^"\\\n]|\\.)*)(?:"(\s*:\s*)"((?:[^"\\\n]|\\.)*)("?)|"?)/g;

interface Secret {
  readonly key: string;
  /** As written, with escapes. */
  readonly value: string;
}

/** Replaces the value of each secret: by the schema, and by the name of its member, also in a text that is not JSON. */
function mapSecrets(text: string, replace: (secret: Secret) => string): string {
  const isJson = parseJson(text) !== undefined;
  const bySchema = new Set(isJson ? secretTokens(text).map(({ start }) => start) : []);
  return text.replaceAll(
    member,
    (all: string, key: string, colon: string | undefined, value: string, end: string, at: number) => {
      if (colon === undefined || value === secretPlaceholder) return all;
      const isSecret = looksSecret.test(key) || bySchema.has(at + key.length + 2 + colon.length);
      return isSecret ? `"${key}"${colon}"${replace({ key, value })}${end}` : all;
    },
  );
}

function secretsIn(text: string): Secret[] {
  const found: Secret[] = [];
  mapSecrets(text, (secret) => (found.push(secret), secret.value));
  return found;
}

const withoutSecrets = (text: string): string => mapSecrets(text, () => missingSecret);

/** The form of a draft that may be stored. */
export function keepDraft(
  {
    text: draft,
    comment,
    base,
    secretsOf,
  }: { text: string; comment: string; base: Base; secretsOf?: bigint | undefined },
  { tab, now }: { tab: string; now: number },
): KeptDraft {
  const saved = secretsIn(base.text);
  const secrets = secretsIn(draft).map(({ key, value }) => {
    const number = saved.findIndex((one) => one.key === key && one.value === value);
    return number === -1 ? null : number;
  });
  return {
    text: withoutSecrets(draft),
    secrets,
    comment,
    ...(secretsOf !== undefined && { secretsOf: String(secretsOf) }),
    base: { revision: String(base.revision), text: withoutSecrets(base.text) },
    tab,
    keptAt: now,
  };
}

/** Whether a saved text is the one that the draft started from. Numbers of revisions come again after a restored backup. */
export const isBaseOf = ({ base }: KeptDraft, text: string): boolean => withoutSecrets(text) === base.text;

/** The draft as it was typed, but for secrets that neither the browser nor `baseText` has. */
export function restoreDraft({ text, secrets }: KeptDraft, baseText: string): string {
  const saved = secretsIn(baseText);
  let at = 0;
  return mapSecrets(text, () => {
    const number = secrets[at++];
    return (number === null || number === undefined ? undefined : saved[number]?.value) ?? missingSecret;
  });
}

/** An error for each secret that must be typed again: the marker must not become a password. */
export function missingSecretProblems(text: string): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (let at = text.indexOf(`"${missingSecret}"`); at !== -1; at = text.indexOf(`"${missingSecret}"`, at + 1)) {
    const path = cursorAt(text, at + 1)?.path ?? [];
    problems.push({
      where: formatPath(path),
      path,
      message: 'was not kept: the browser stores no secrets.',
      remedy: 'Type it again.',
      tone: 'bad',
    });
  }
  return problems;
}
