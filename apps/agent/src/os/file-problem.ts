const problems: Readonly<Record<string, string>> = {
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied; lsattr shows whether it is immutable',
  EIO: 'the disk reports an error',
};

export const errorCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** Why a file could not be read or written, as a clause for users. Without names of temporary files. */
export function fileProblem(error: unknown): string {
  const code = errorCodeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return problems[code] ?? (text.startsWith(`${code}: `) ? (text.split(',')[0] ?? text) : text);
}

/** Adds the path, which errors of a full disk lack. */
export async function namingFile<T>(file: string, verb: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${file} cannot be ${verb}: ${fileProblem(error)}`, { cause: error });
  }
}
