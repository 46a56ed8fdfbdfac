// The fenced blocks of a page of documentation, and what a test does with each. A comment in front of a block changes
// that; readers of the page do not see it:
//   <!-- example: WHY -->   not run
//   <!-- file: PATH -->     the content of this file
//   <!-- exit: N -->        ends with this code
//   <!-- background -->     goes on while the next blocks run
// Without a comment, `sh` is run, and a block of `text` after it is its output: `…` stands for anything. The output of an
// example is one, too.

export interface PageBlock {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly use: BlockUse;
}

export type BlockUse =
  | { readonly kind: 'run'; readonly exitCode: number; readonly isBackground: boolean; readonly output: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'example'; readonly why: string }
  | { readonly kind: 'output' }
  | { readonly kind: 'unclear' };

interface Fence {
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly comment: string;
}

const indented = (text: string, depth: number): string =>
  text
    .split('\n')
    .map((line) => line.slice(Math.min(depth, line.length - line.trimStart().length)))
    .join('\n');

function fencesOf(markdown: string): Fence[] {
  const pattern = /(?:^[ \t]*<!--\s*([^>]*?)\s*-->\n\s*)?^([ \t]*)```([\w-]*)[^\n]*\n([\s\S]*?)^[ \t]*```[ \t]*$/gm;
  return [...markdown.matchAll(pattern)].map((match) => {
    const [whole, comment = '', indent = '', language = '', text = ''] = match;
    const before = markdown.slice(0, match.index + whole.indexOf('```'));
    return { line: before.split('\n').length, language, text: indented(text, indent.length), comment };
  });
}

/** All blocks of a page, in their order. */
export function blocksOf(page: string, markdown: string): PageBlock[] {
  const fences = fencesOf(markdown);
  return fences.map((fence, at) => {
    const { line, language, text } = fence;
    return { page, line, language, text, use: useOf(fence, fences[at - 1], fences[at + 1]) };
  });
}

const isShell = ({ language }: Fence): boolean => ['sh', 'bash', 'shell'].includes(language);
const isOutput = (fence: Fence | undefined): boolean =>
  fence !== undefined && ['text', 'json', ''].includes(fence.language) && fence.comment === '';

function useOf(fence: Fence, before: Fence | undefined, after: Fence | undefined): BlockUse {
  const [, name = '', value = ''] = /^(\w+):?\s*([\s\S]*)$/.exec(fence.comment) ?? [];
  if (name === 'example' && value !== '') return { kind: 'example', why: value };
  if (name === 'file' && value !== '') return { kind: 'file', path: value };
  if (isShell(fence)) {
    const exitCode = name === 'exit' ? Number(value) : 0;
    return { kind: 'run', exitCode, isBackground: name === 'background', output: isOutput(after) ? after!.text : '' };
  }
  if (!isOutput(fence) || before === undefined || !isShell(before)) return { kind: 'unclear' };
  const [, why] = /^example:\s*([\s\S]+)$/.exec(before.comment) ?? [];
  return why === undefined ? { kind: 'output' } : { kind: 'example', why };
}

/** Whether an output has the lines of a page in their order; `…` stands for anything, also for lines. */
export function hasOutput(output: string, expected: string): boolean {
  const parts = expected
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '…')
    .map((line) =>
      line
        .split('…')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
        .join('.*'),
    );
  return new RegExp(parts.join('[\\s\\S]*?'), 'm').test(output);
}
