import type { Problem } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { findings } from './config-lint.ts';
import type { JsonSchema } from './config-schema.ts';
import { pathOf, pathText, syntaxProblem } from './json-places.ts';
import type { Path, Place } from './json-places.ts';
import { toneOf } from './machine-status.ts';
import type { Tone } from './machine-status.ts';

/** One problem of a configuration, as list and editor show it. */
export interface ConfigProblem {
  /** "agent.additional_networks[0].psk", or where the JSON breaks off. */
  where: string;
  path: Path;
  /** Known only where there is no path, because the text is no JSON. */
  place?: Place;
  message: string;
  remedy: string;
  tone: Tone;
}

export const isError = (problem: ConfigProblem): boolean => problem.tone === 'bad';

export const fromServer = (problems: readonly Problem[]): ConfigProblem[] =>
  problems.map(({ path, message, remedy, severity }) => ({
    where: path || 'configuration',
    path: pathOf(path),
    message,
    remedy,
    tone: toneOf(severity),
  }));

/** What can be said without the server, while somebody types. */
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
  return findings(JSON.parse(text), schema).map((finding) => ({
    where: pathText(finding.path) || 'configuration',
    path: finding.path,
    message: `${finding.message}.`,
    remedy: '',
    tone: finding.isError ? 'bad' : 'busy',
  }));
}

/** Gravest first, otherwise in the given order. */
export function sorted(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const weight: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, quiet: 3, good: 4 };
  return problems.toSorted((a, b) => weight[a.tone] - weight[b.tone]);
}

/** The same value with two spaces of indentation; the text itself when it is no JSON. */
export function tidied(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}
