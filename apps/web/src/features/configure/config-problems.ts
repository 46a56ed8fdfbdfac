import type { Problem } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { validate } from './config-validation.ts';
import type { JsonSchema } from './schema/config-schema.ts';
import { parsePath, formatPath, syntaxProblem } from './schema/json-path.ts';
import type { JsonPath, TextRange } from './schema/json-path.ts';
import { toneOf } from '../../entities/machine/machine-status.ts';
import type { ConditionView } from '../../entities/machine/machine-status.ts';
import type { Tone } from '../../ui/status-label.ts';

/** One problem of a configuration, as list and editor show it. */
export interface ConfigProblem {
  /** "agent.additional_networks[0].psk", or where the JSON breaks off. */
  where: string;
  path: JsonPath;
  /** Set only if there is no path because the text is not valid JSON. */
  place?: TextRange;
  message: string;
  remedy: string;
  tone: Tone;
  /** The machine reports it about the saved configuration; it does not prevent saving. */
  isReported?: true;
}

export const isError = (problem: ConfigProblem): boolean => problem.tone === 'bad' && !problem.isReported;

/**
 * Returns the reported problems of those fields that are unchanged since the configuration was saved.
 * @param known - problems that are shown already: a field is not marked twice.
 */
export function fromMachine(
  conditions: readonly ConditionView[],
  { draft, saved, known }: { draft: string; saved: string; known: readonly ConfigProblem[] },
): ConfigProblem[] {
  const [now, before] = [parseJson(draft), parseJson(saved)];
  const shown = new Set(known.map(({ where }) => where));
  return conditions.flatMap(fieldsOf).flatMap(({ path: where, message, remedy, tone }): ConfigProblem[] => {
    const path = parsePath(where);
    const isThere = path.length > 0 && !shown.has(where);
    const isSame = JSON.stringify(valueAt(now, path)) === JSON.stringify(valueAt(before, path));
    return isThere && isSame ? [{ where, path, message, remedy, tone, isReported: true }] : [];
  });
}

/** One condition names all fields that have no effect for one reason; each of them is marked. */
function fieldsOf(condition: ConditionView): ConditionView[] {
  const [, paths, reason] =
    condition.code === 'NO_EFFECT_HERE' && condition.path !== ''
      ? (/^(.+): no effect here, because (.+)$/s.exec(condition.message) ?? [])
      : [];
  if (paths === undefined || reason === undefined) return [condition];
  return paths.split(', ').map((path) => ({ ...condition, path, message: `has no effect here: ${reason}` }));
}

const valueAt = (json: unknown, path: JsonPath): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    json,
  );

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const fromServer = (problems: readonly Problem[]): ConfigProblem[] =>
  problems.map(({ path, message, remedy, severity }) => ({
    where: path || 'configuration',
    path: parsePath(path),
    message,
    remedy,
    tone: toneOf(severity),
  }));

/** Finds problems without the server, while the user types. */
export function fromText(text: string, schema: JsonSchema | undefined): ConfigProblem[] {
  const broken = syntaxProblem(text);
  if (broken !== undefined) {
    return [
      {
        where: `line ${broken.line}, column ${broken.column}`,
        path: [],
        place: broken.place,
        message: 'This is not valid JSON.',
        remedy: 'Look for a missing comma, quote or bracket here or just before.',
        tone: 'bad',
      },
    ];
  }
  if (schema === undefined) return [];
  return validate(JSON.parse(text), schema).map((finding) => ({
    where: formatPath(finding.path) || 'configuration',
    path: finding.path,
    message: `${finding.message}.`,
    remedy: '',
    tone: finding.isError ? 'bad' : 'busy',
  }));
}

/** Most severe first, otherwise in the given order. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const weight: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, off: 3, quiet: 4, good: 5 };
  return problems.toSorted((a, b) => weight[a.tone] - weight[b.tone]);
}

/** The same value with two spaces of indentation; the text itself if it is not JSON. */
export function formatJson(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}
