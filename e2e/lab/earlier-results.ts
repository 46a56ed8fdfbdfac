// Reads the results back from a document that `node e2e/lab/report.ts` wrote: a host rarely has all of them. Pure.
import type { Result } from './results.ts';

/** @param text - a document with the hosts in a sentence, and a table with one row per result */
export function earlierResults(text: string): Result[] {
  const machines = new Map(
    [...(/Measured on the hosts (.*)$/m.exec(text)?.[1] ?? '').matchAll(/([A-Z]): (.*?)\.(?= [A-Z]: |$)/g)].map(
      ([, letter = '', machine = '']) => [letter, machine],
    ),
  );
  const rows = text.split('\n').flatMap((line) => (/^\|.*\|$/.test(line) ? [cellsOf(line)] : []));
  const [names = [], , ...body] = rows;
  return body.map((cells) => {
    const cell = (name: string): string => cells[names.indexOf(name)] ?? '';
    const [on = '', letter = ''] = cell('on').split(', ');
    return {
      scenario: cell('scenario'),
      where: cell('where'),
      seconds: Number.parseFloat(cell('time')),
      note: cell('what happened'),
      on,
      load: Number(cell('load')),
      machine: machines.get(letter) ?? 'unknown host',
      commit: cell('commit'),
    };
  });
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

const keyOf = ({ where, scenario }: Result): string => `${where} ${scenario}`;

/** The results of a document, the newest of each scenario, in the order of their first occurrence. */
export function merged(earlier: readonly Result[], now: readonly Result[]): Result[] {
  const all = new Map<string, Result>();
  for (const result of [...earlier, ...now]) all.set(keyOf(result), result);
  return [...all.values()];
}
