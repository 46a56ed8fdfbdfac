import type { ErrorRow } from '../error-row.ts';

/** Fragments: parts of configurations that machines share. */
export const fragmentsErrors = {
  FRAGMENT_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no fragment[ {fragmentId}].',
    remedy: 'Check the ID; fragments of other organizations are not visible. `platform fragment list` lists them.',
  },
  FRAGMENT_VERSION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'The fragment {name} has no revision {version}; it has 1 to {newest}.',
    remedy: 'Choose one of these, or none for the newest.',
  },
  INVALID_FRAGMENT: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The fragment has {count} error(s) and was not saved[. First: {path}: {problem}].',
    remedy: 'Correct every listed path, then save again.',
  },
  FRAGMENT_TOO_LARGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The fragment has {sizeBytes} bytes; the limit is {limitBytes} bytes.',
    remedy: 'Split it into several fragments, or move large values into a package that it refers to.',
  },
  TOO_MANY_FRAGMENTS: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The organization has {count} fragments; the limit is {limit}.',
    remedy: 'Delete fragments that no machine uses.',
  },
  FRAGMENT_BREAKS_MACHINES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'The fragment was not saved, because the configuration of {count} machine(s) would have new errors. First: machine {machine}, {path}: {problem}.',
    remedy:
      'Correct the fragment. Or change the configuration of these machines first: pin them to a revision, or override the value there.',
  },
  FRAGMENT_REACHES_TOO_MANY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{count} machine parts follow the fragment {name}; one save changes at most {limit}.',
    remedy: 'Pin some of them to a revision, or let them use a copy of the fragment.',
  },
  FRAGMENT_CONFLICT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Another user or program changed the fragment: it is at revision {revision}[, not {expectedRevision}].',
    remedy: 'Load the newest revision, make your change again and save.',
  },
  FRAGMENT_MOVED: {
    rpc: 'aborted',
    retry: 'now',
    message:
      'The change was not saved: in each of {tries} tries, fragments or configurations that it depends on changed at the same time.',
    remedy: 'Save again.',
  },
  FRAGMENT_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The fragment {name} was not deleted, because {count} machine part(s) use it: {machines}.',
    remedy: 'Remove it from their configurations first.',
  },
} as const satisfies Record<string, ErrorRow>;
