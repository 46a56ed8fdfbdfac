import type { Counts } from './limits.ts';
import { bare, unitOf } from './tree.ts';

/** An object used as a local variable or as module state: it never leaves its scope, and its members are assigned. */
export interface Box {
  readonly file: string;
  readonly name: string;
}

const declared = /^([ \t]*)(?:export )?const (\w+)(?:: [^=\n]+)? = \{([^{}()]*)\}[^;\n]*;/gm;

/**
 * Finds objects that the code uses only as `name.member` and assigns to: with one member, or with any number at the
 * top of a module. An object that is passed on, spread or returned is a value, not a box.
 */
export function boxesIn(file: string, text: string = bare(file)): Box[] {
  return [...text.matchAll(declared)]
    .filter(([whole, indent = '', name = '', members = '']) => {
      const count = members.split(',').filter((member) => member.includes(':')).length;
      if (count === 0 || (count > 1 && indent !== '')) return false;
      const uses = [
        ...text
          .replace(whole, '')
          .matchAll(new RegExp(`(?<![\\w$]|(?<!\\.\\.)\\.)${name}\\b(?!\\s*:[^:])(.{0,40})`, 'g')),
      ];
      const isAssigned = /^\.\w+ *(=(?![=>])|[-+*/|&?]{1,2}=|\+\+|--)/;
      return (
        uses.length > 0 &&
        uses.every(([, after = '']) => /^\.\w+/.test(after)) &&
        (uses.some(([, after = '']) => isAssigned.test(after)) || new RegExp(`(\\+\\+|--)${name}\\.\\w+`).test(text))
      );
    })
    .map(([, , name = '']) => ({ file, name }));
}

export function boxesByUnit(files: readonly string[]): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { file, name } of files.flatMap((one) => boxesIn(one))) {
    const unit = (counts[unitOf(file)] ??= {});
    unit[name] = (unit[name] ?? 0) + 1;
  }
  return counts;
}
