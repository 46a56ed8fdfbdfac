import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { readStdin, readText } from '@platform/kit/node';
import { baseName } from '@platform/dataset-files/file-names';

/** The images that the values of --file select. */
export interface FileSelection {
  takes(fileName: string, id: string): boolean;
  /** Listed names without a matching image so far. */
  missing(): string[];
}

/**
 * Parses --file: parts of file names; `@list.txt` is a list of file names or IDs, one per line, `@-` reads standard
 * input.
 */
export async function fileSelection(values: readonly string[]): Promise<FileSelection> {
  const parts = values.filter((value) => !value.startsWith('@'));
  const names = new Set<string>();
  /** Lists may contain paths where the dataset has file names. */
  const byBase = new Map<string, string>();
  for (const value of values)
    if (value.startsWith('@')) for (const name of await listed(value.slice(1))) names.add(name);
  for (const name of names) byBase.set(baseName(name.replaceAll('\\', '/')), name);
  const used = new Set<string>();
  return {
    takes: (fileName, id) => {
      const named = [fileName, id, byBase.get(baseName(fileName)) ?? ''].filter((name) => names.has(name));
      for (const name of named) used.add(name);
      return named.length > 0 || parts.some((part) => fileName.includes(part));
    },
    missing: () => [...names].filter((name) => !used.has(name)),
  };
}

async function listed(file: string): Promise<string[]> {
  try {
    const content = file === '-' ? await readStdin() : await readText(file);
    return content
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '');
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: '--file', value: `@${file}`, limit: errorText(error) }, error);
  }
}
