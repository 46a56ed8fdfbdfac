import { errorText } from '@platform/kit';

/** Says why a folder, file or URL of the machine cannot be read, in words for users. */
export function sourceProblem(error: unknown, what: { folder: string } | { file: string } | { url: string }): string {
  const code = codeOf(error);
  if ('url' in what) return urlProblems[code]?.(new URL(what.url)) ?? errorText(error);
  const [kind, place] = 'folder' in what ? ['folder', what.folder] : ['file', what.file];
  switch (code) {
    case 'ENOENT':
      return `the ${kind} ${place} does not exist on the machine`;
    case 'ENOTDIR':
      return `${place} is not a folder on the machine`;
    case 'EISDIR':
      return `${place} is a folder, not a file`;
    case 'EACCES':
    case 'EPERM':
      return `the machine server is not permitted to read the ${kind} ${place}`;
    case 'EIO':
      return `the disk of the machine cannot read the ${kind} ${place}`;
    default:
      return errorText(error);
  }
}

const urlProblems: Readonly<Record<string, (url: URL) => string>> = {
  ECONNREFUSED: ({ host }) => `no program accepts connections at ${host}`,
  ECONNRESET: ({ host }) => `${host} closed the connection`,
  EHOSTUNREACH: ({ host }) => `${host} cannot be reached from the machine`,
  ENETUNREACH: ({ host }) => `${host} cannot be reached from the machine`,
  ENOTFOUND: ({ hostname }) => `the machine cannot resolve the name ${hostname}`,
  EAI_AGAIN: ({ hostname }) => `the machine cannot resolve the name ${hostname}`,
};

/** The system's code of an error or of its cause; empty: none. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}
