import { bare, isTest } from './tree.ts';

const mostClassLines = 250;

export interface LongClass {
  readonly file: string;
  readonly name: string;
  readonly lines: number;
}

const header = /^([ \t]*)(?:export )?(?:default )?(?:abstract )?class (\w+)/gm;

/** The classes of a file with the lines of each, without comments and blank lines. The formatter aligns their braces. */
export const classesIn = (file: string, text: string = bare(file)): LongClass[] =>
  [...text.matchAll(header)].map(({ index, 1: indent = '', 2: name = '' }) => {
    const end = text.indexOf(`\n${indent}}`, index);
    const body = text.slice(index, end === -1 ? undefined : end + indent.length + 2);
    return { file, name, lines: body.split('\n').filter((line) => line.trim() !== '').length };
  });

/** Classes over the limit; tests are exempt, as for functions. */
export const longClasses = (files: readonly string[]): LongClass[] =>
  files
    .filter((file) => !isTest(file))
    .flatMap((file) => classesIn(file).filter(({ lines }) => lines > mostClassLines));
