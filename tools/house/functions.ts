import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { Counts } from './limits.ts';
import { isTest, read, root, unitOf } from './tree.ts';

export interface LongFunction {
  readonly unit: string;
  readonly file: string;
  readonly name: string;
  readonly lines: number;
}

interface Diagnostic {
  readonly message: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly offset: number } }[];
}

/** Names an anonymous function after the `name = `, `name: ` or `call(` before it. */
function nameBefore(text: string): string {
  const found = /(\w+)\s*(?::[^;{}()=]*)?[=:(]\s*(?:\w+,\s*)?(?:async\s*)?$/.exec(text.slice(-200));
  return found?.[1] ?? 'unnamed';
}

/** Functions over the limit as measured by oxlint's parser; tests are exempt. */
export function longFunctions(): LongFunction[] {
  const done = spawnSync(
    path.join(root, 'node_modules', '.bin', 'oxlint'),
    ['--config', 'tools/house/long-functions.oxlint.json', '--disable-nested-config', '--format', 'json', '.'],
    { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  const { diagnostics } = JSON.parse(done.stdout) as { diagnostics: readonly Diagnostic[] };
  return diagnostics
    .filter(({ filename }) => !isTest(filename))
    .flatMap(({ message, filename, labels }) => {
      const bytes = Buffer.from(read(filename)).subarray(0, labels[0]?.span.offset ?? 0);
      const before = bytes.toString();
      // A function that another function returns directly counts as part of that function.
      if (/=>\s*(?:async\s*)?$/.test(before)) return [];
      const name = /`([^`]+)`/.exec(message)?.[1] ?? `in ${nameBefore(before)}`;
      const lines = Number(/too many lines \((\d+)\)/.exec(message)?.[1]);
      return [{ unit: unitOf(filename), file: filename, name, lines }];
    })
    .toSorted((a, b) => a.unit.localeCompare(b.unit) || a.name.localeCompare(b.name) || a.lines - b.lines);
}

/** Counts by unit and name; a second function of the same name in one unit gets a number. */
export function linesByName(found: readonly LongFunction[]): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { unit, name, lines } of found) {
    const names = (counts[unit] ??= {});
    let key = name;
    for (let n = 2; key in names; n++) key = `${name} ${n}`;
    names[key] = lines;
  }
  return counts;
}
