import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { PlatformError } from '@platform/contract/errors/errors';

/** The database's own limit of a repetition. */
const mostRepeats = 255;
/** Characters and repetitions multiplied, which the database compiles in milliseconds. */
const mostStates = 2_000;

/**
 * The expression of a query as one of PostgreSQL that matches the same texts. It takes linear time for each text:
 * look-around and references to groups are refused, and the rest is what an automaton matches.
 *
 * @throws PlatformError LOG_EXPRESSION_NOT_VALID
 */
export function databaseExpression(source: string): string {
  const refuse = (problem: string): PlatformError =>
    new PlatformError('LOG_EXPRESSION_NOT_VALID', { expression: source.slice(0, 200), problem });
  const parsed = parse(source, refuse);
  const size = statesOf(parsed);
  if (size > mostStates)
    throw refuse(
      `it stands for ${size} characters with its repetitions multiplied; at most ${mostStates} are possible`,
    );
  return alternatives(parsed, refuse);
}

type Refuse = (problem: string) => PlatformError;

function parse(source: string, refuse: Refuse): AST.Pattern {
  try {
    // Without the flag, a character beyond U+FFFF would be two.
    const unicode = /[\ud800-\udfff]|\\[up]\{/.test(source);
    return new RegExpParser().parsePattern(source, 0, source.length, { unicode });
  } catch (error) {
    throw refuse((error as Error).message.replace(/^.*: /, ''));
  }
}

function statesOf(node: AST.Pattern | AST.Element): number {
  if (node.type === 'Quantifier') {
    const times = node.max === Infinity ? node.min + 1 : node.max;
    return Math.max(1, times) * statesOf(node.element);
  }
  if (!('alternatives' in node)) return 1;
  const each = node.alternatives.flatMap((one) => ('elements' in one ? one.elements : []));
  return each.reduce((sum, element) => sum + statesOf(element), 1);
}

const alternatives = (of: { alternatives: readonly AST.Alternative[] }, refuse: Refuse): string =>
  of.alternatives.map(({ elements }) => elements.map((element) => written(element, refuse)).join('')).join('|');

function written(node: AST.Element, refuse: Refuse): string {
  switch (node.type) {
    case 'Character':
      return character(node.value);
    case 'CharacterSet':
      return node.kind === 'any' ? '[^\\n\\r]' : `[${setMembers(node, refuse)}]`;
    case 'CharacterClass':
      return characterClass(node, refuse);
    case 'Group':
      if (node.modifiers) throw refuse('flags within it, as in (?i:…), are not possible; write /…/i');
      return `(?:${alternatives(node, refuse)})`;
    case 'CapturingGroup':
      return `(?:${alternatives(node, refuse)})`;
    case 'Quantifier':
      return quantified(node, refuse);
    case 'Assertion':
      if (node.kind === 'start') return '^';
      if (node.kind === 'end') return '$';
      // The database counts letters of all languages as parts of words, \w only those of ASCII.
      if (node.kind === 'word') return node.negate ? '\\Y' : '\\y';
      throw refuse('look-ahead and look-behind, as in (?=…), are not possible');
    case 'Backreference':
      throw refuse('references to groups, as in \\1, are not possible');
    case 'ExpressionCharacterClass':
      throw refuse('set operations in a class are not possible');
  }
}

/** Whether a match is long or short makes no difference to whether there is one. */
function quantified({ element, min, max }: AST.Quantifier, refuse: Refuse): string {
  if (min > mostRepeats || (max !== Infinity && max > mostRepeats))
    throw refuse(`it repeats ${min > mostRepeats ? min : max} times; at most ${mostRepeats} are possible`);
  const inner = element.type === 'Assertion' ? `(?:${written(element, refuse)})` : written(element, refuse);
  return `${inner}{${min},${max === Infinity ? '' : max}}`;
}

/** Letters and digits stand for themselves; all else is an escape, so that it never has a meaning. */
function character(code: number): string {
  const char = String.fromCodePoint(code);
  if (/[A-Za-z0-9 ]/.test(char)) return char;
  return code > 0xff_ff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

const members = { digit: '0-9', word: 'A-Za-z0-9_', space: '[:space:]' } as const;

/** Inside of [ ]. */
function setMembers(node: AST.EscapeCharacterSet | AST.UnicodePropertyCharacterSet, refuse: Refuse): string {
  if (node.kind === 'property') throw refuse('properties of characters, as in \\p{L}, are not possible');
  return `${node.negate ? '^' : ''}${members[node.kind]}`;
}

function characterClass(node: AST.CharacterClass, refuse: Refuse): string {
  if (node.unicodeSets) throw refuse('set operations in a class are not possible');
  const inside: string[] = [];
  const beside: string[] = [];
  for (const element of node.elements) {
    if (element.type === 'Character') inside.push(character(element.value));
    else if (element.type === 'CharacterClassRange')
      inside.push(`${character(element.min.value)}-${character(element.max.value)}`);
    else if (element.type !== 'CharacterSet' || element.kind === 'property')
      throw refuse('properties of characters, as in \\p{L}, are not possible');
    else if (element.negate) beside.push(`[${setMembers(element, refuse)}]`);
    else inside.push(setMembers(element, refuse));
  }
  if (node.negate) {
    if (beside.length > 0) throw refuse('a class such as [^\\D] is not possible; write [0-9]');
    return inside.length === 0 ? '(?:.|\\n)' : `[^${inside.join('')}]`;
  }
  const all = [...(inside.length > 0 ? [`[${inside.join('')}]`] : []), ...beside];
  if (all.length === 0) throw refuse('an empty class [] matches nothing');
  return all.length === 1 ? (all[0] ?? '') : `(?:${all.join('|')})`;
}
