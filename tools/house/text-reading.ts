import type { Counts } from './limits.ts';
import { read, sources, unitOf } from './tree.ts';

/** Where bytes become text: strictly, for every other file. */
const decoders = new Set(['packages/kit/src/text.ts', 'packages/kit/src/node/text-file.ts']);

/** Files of the kernel are ASCII. */
const kernel = String.raw`(?!\s*['"${'`'}](?:\$\{\w+\})?/(?:proc|sys)/)`;

const lenient: readonly RegExp[] = [
  new RegExp(String.raw`\breadFile(?:Sync)?\(${kernel}[^;]*?['"]utf-?8['"]`, 'g'),
  /\.toString\(['"]utf-?8['"]\)/g,
  /\bnew TextDecoder\((?![^)]*fatal: true)/g,
  /\btext\(process\.stdin\)/g,
];

/** Places of a source that decode text without refusing wrong bytes. */
export const lenientReads = (source: string): number =>
  lenient.reduce((sum, pattern) => sum + [...source.matchAll(pattern)].length, 0);

/** By unit and file: places that replace wrong bytes by U+FFFD without a word. */
export function lenientByUnit(): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const file of sources) {
    if (decoders.has(file) || !/^(apps|packages|trainers)\//.test(file)) continue;
    const found = lenientReads(read(file));
    if (found > 0) (counts[unitOf(file)] ??= {})[file.slice(unitOf(file).length + 1)] = found;
  }
  return counts;
}
