import { type RawBuilder, sql } from 'kysely';
import { levelNames, type LogLevel } from '@platform/contract/logs/levels';
import type { LogTerm } from '@platform/contract/logs/query';
import { databaseExpression } from '../log-expression.ts';

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, (found) => `\\${found}`);
const containing = (text: string): string => `%${escapeLike(text)}%`;

/** Names of all levels but info, which stands for unknown ones, too. */
const otherNames = (['error', 'warn', 'debug'] as const).flatMap((level) => [...levelNames[level]]);

/** The level of a line, by its name in the column `level`. */
export const levelColumn = sql`case ${sql.join(
  (['error', 'warn', 'debug'] as const).map(
    (level) => sql`when level in (${sql.join(levelNames[level].map((name) => sql.lit(name)))}) then ${sql.lit(level)}`,
  ),
  sql` `,
)} else 'info' end`;

function ofLevels(levels: readonly LogLevel[]): RawBuilder<boolean> {
  const names = levels.flatMap((level) => (level === 'info' ? [] : [...levelNames[level]]));
  const named = sql<boolean>`level = any(${names}::text[])`;
  return levels.includes('info') ? sql<boolean>`(${named} or level <> all(${otherNames}::text[]))` : named;
}

/** Fields are objects with one key, or zap's {Key, Type, String, Integer, Interface}; zap's type 4 is a boolean. */
function ofField({ name, text, isWhole }: { name: string; text: string; isWhole: boolean }): RawBuilder<boolean> {
  const isIt = (value: RawBuilder<unknown>) =>
    isWhole ? sql`${value} = ${text}` : sql`${value} ilike ${containing(text)}`;
  const zap = sql`coalesce(case when field->>'Type' = '4' then (field->>'Integer' = '1')::text end,
    nullif(field->>'String', ''), field->>'Interface', field->>'Integer')`;
  return sql<boolean>`exists (select from jsonb_array_elements(rest->'fields') as field
    where (${isIt(sql`(field->>${name}::text)`)}) or (field->>'Key' = ${name} and (${isIt(zap)})))`;
}

function ofTerm(term: LogTerm): RawBuilder<boolean> {
  switch (term.is) {
    case 'text': {
      const like = containing(term.text);
      return sql<boolean>`(message ilike ${like} or logger_name ilike ${like} or rest->>'fields' ilike ${like})`;
    }
    case 'expression': {
      const expression = databaseExpression(term.source);
      return term.ignoresCase ? sql<boolean>`message ~* ${expression}` : sql<boolean>`message ~ ${expression}`;
    }
    case 'level':
      return ofLevels(term.levels);
    case 'logger':
      return term.isWhole
        ? sql<boolean>`logger_name = ${term.text}`
        : sql<boolean>`logger_name ilike ${containing(term.text)}`;
    case 'host':
      return term.isWhole ? sql<boolean>`host = ${term.text}` : sql<boolean>`host ilike ${containing(term.text)}`;
    case 'boot':
      return sql<boolean>`boot_id like ${`${escapeLike(term.text)}%`}`;
    case 'field':
      return ofField(term);
  }
}

/**
 * Whether a line of `part_log` matches all terms.
 *
 * @throws PlatformError LOG_EXPRESSION_NOT_VALID
 */
export const matchesTerms = (terms: readonly LogTerm[]): RawBuilder<boolean> =>
  terms.length === 0
    ? sql<boolean>`true`
    : sql<boolean>`${sql.join(
        terms.map((term) => (term.isNegated ? sql`not coalesce(${ofTerm(term)}, false)` : ofTerm(term))),
        sql` and `,
      )}`;
