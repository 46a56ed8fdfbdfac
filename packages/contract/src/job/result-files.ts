/**
 * Which files of a training may become files of a model version: runners, server and command line share these rules.
 */

export const resultFileLimits = {
  files: 1000,
  /** Path segments, including the file name. */
  depth: 16,
  /** Limits of one path segment. File systems of machines allow 255 bytes. */
  nameCharacters: 200,
  nameBytes: 255,
  pathCharacters: 1000,
  pathBytes: 1024,
} as const;

const bytesIn = (text: string): number => new TextEncoder().encode(text).length;

/** The problem of one path segment, as the end of the sentence "its name …"; undefined if valid. */
export function resultNameProblem(name: string): string | undefined {
  const { nameCharacters, nameBytes } = resultFileLimits;
  if (name === '' || name === '.' || name === '..') return 'is empty, . or ..';
  // Control, format (bidirectional) and unassigned characters, line separators, and replacements of invalid UTF-8.
  if (/[\p{C}\p{Zl}\p{Zp}\uFFFD]/u.test(name)) return 'has characters that cannot be seen, or bytes that are not UTF-8';
  // A colon is a drive or stream on Windows, a backslash a separator.
  const sign = /[:\\]/.exec(name)?.[0];
  if (sign !== undefined) return `has ${sign === ':' ? 'a colon (:)' : 'a backslash (\\)'}`;
  if (name.length > nameCharacters) return `has ${name.length} characters; the limit is ${nameCharacters}`;
  if (bytesIn(name) > nameBytes) return `has ${bytesIn(name)} bytes; the limit is ${nameBytes}`;
  return undefined;
}

/** The problem of a whole path, relative and with slashes, as the end of the sentence "its path …". */
export function resultPathProblem(path: string): string | undefined {
  const { depth, pathCharacters, pathBytes } = resultFileLimits;
  if (path.length > pathCharacters) return `has ${path.length} characters; the limit is ${pathCharacters}`;
  if (bytesIn(path) > pathBytes) return `has ${bytesIn(path)} bytes; the limit is ${pathBytes}`;
  const names = path.split('/');
  if (names.length > depth) return `has ${names.length} levels; the limit is ${depth}`;
  for (const name of names) {
    const problem = resultNameProblem(name);
    if (problem !== undefined) return `has a name that ${problem}`;
  }
  return undefined;
}
