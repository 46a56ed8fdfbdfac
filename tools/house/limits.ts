import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './tree.ts';

/** Unit or folder → name or word → number. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

const fileOf = (name: string): string => path.join(root, 'tools', 'house', `${name}.json`);

/** Reads the permitted violations from tools/house/NAME.json. `npm run ratchet` lowers them; nothing raises them. */
export const readLimits = (name: string): Counts => JSON.parse(readFileSync(fileOf(name), 'utf8')) as Counts;

export function writeLimits(name: string, limits: Counts): void {
  writeFileSync(fileOf(name), `${JSON.stringify(limits, null, 2)}\n`);
}

/** Lists counts above their limits, and limits whose name no longer exists. */
export function excess(limits: Counts, found: Counts): string[] {
  const more = Object.entries(found).flatMap(([unit, names]) =>
    Object.entries(names)
      .filter(([name, count]) => count > (limits[unit]?.[name] ?? 0))
      .map(([name, count]) => `${unit}: ${name} is ${count}, the limit is ${limits[unit]?.[name] ?? 'none'}`),
  );
  const gone = Object.entries(limits).flatMap(([unit, names]) =>
    Object.keys(names)
      .filter((name) => found[unit]?.[name] === undefined)
      .map((name) => `${unit}: ${name} needs no limit any more: run npm run ratchet`),
  );
  return [...more, ...gone];
}

/**
 * Lowers limits to the current counts. With `renames`, a new name inherits the limit of a removed name of the same unit
 * if that limit is not smaller: a renamed function is not new code.
 */
export function lowered(limits: Counts, found: Counts, { renames } = { renames: true }): Counts {
  const next = Object.entries(limits).map(([unit, before]): [string, Record<string, number>] => {
    const now = found[unit] ?? {};
    const kept = Object.entries(before).flatMap(([name, limit]): [string, number][] =>
      name in now ? [[name, Math.min(limit, now[name] ?? 0)]] : [],
    );
    const free = Object.entries(before)
      .filter(([name]) => !(name in now))
      .map(([, limit]) => limit)
      .toSorted((a, b) => a - b);
    const renamed = Object.entries(now).filter(([name, count]) => {
      const at = name in before || !renames ? -1 : free.findIndex((limit) => limit >= count);
      if (at >= 0) free.splice(at, 1);
      return at >= 0;
    });
    return [unit, Object.fromEntries([...kept, ...renamed].toSorted(([a], [b]) => (a < b ? -1 : 1)))];
  });
  return Object.fromEntries(next.filter(([, names]) => Object.keys(names).length > 0));
}
