// Finds duplicate keys in the objects of a JSON text. Parsers silently keep one of the two.
import { joined } from './reading.ts';
import type { Problem } from './problem.ts';

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

interface Level {
  readonly path: string;
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  index: number;
  /** Key of the next value. */
  key: string;
}

/** @param text - valid JSON. */
export function duplicateKeys(text: string): Problem[] {
  const problems = new Map<string, Problem>();
  const levels: Level[] = [];
  let isKeyNext = false;
  for (const [word] of text.matchAll(token)) {
    const level = levels.at(-1);
    if (word === '{' || word === '[') {
      const path = level ? joined(level.path, level.keys ? level.key : level.index) : '';
      levels.push({ path, keys: word === '{' ? new Set() : undefined, index: 0, key: '' });
      isKeyNext = word === '{';
    } else if (word === '}' || word === ']') {
      levels.pop();
      isKeyNext = false;
    } else if (word === ',' && level) {
      level.index++;
      isKeyNext = level.keys !== undefined;
    } else if (isKeyNext && level?.keys && word !== ':') {
      isKeyNext = false;
      level.key = JSON.parse(word) as string;
      const path = joined(level.path, level.key);
      if (level.keys.has(level.key)) problems.set(path, duplicate(path));
      level.keys.add(level.key);
    }
  }
  return [...problems.values()];
}

const duplicate = (path: string): Problem => ({
  path,
  message: 'stands twice in the same object, and only one of the two could count.',
  remedy: 'Remove one of them.',
  severity: 'error',
});
