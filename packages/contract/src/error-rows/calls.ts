import type { ErrorRow } from '../error-row.ts';

/** Calls: their form, their size and how often they are made. */
export const callsErrors = {
  INVALID_ARGUMENT: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: '{field} is not valid[: {value}][; {limit}].',
    remedy: 'Correct the field and repeat the call.',
  },
  INVALID_MESSAGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The message cannot be read[: {problem}].',
    remedy: 'Send a message of the documented type and encoding.',
  },
  MESSAGE_TOO_COMPLEX: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message holds more than {limit} values.',
    remedy: 'Split it into several calls.',
  },
  MESSAGE_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send less at once, or upload the file as a stream.',
  },
  BUDGET_EXCEEDED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'This caller used more than {limit}.',
    remedy:
      'Wait {retryAfterS} s and repeat it. The server took nothing of this call. Its operator can raise the limit (--machine-lines-per-s, --machine-calls-per-s, --key-calls-per-s, --caller-mib-per-s).',
  },
  TOO_MANY_REQUESTS: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'There are too many calls at once[: {limit}].',
    remedy: 'Wait a moment and try again.',
  },
  CALL_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'later',
    message: 'The call took longer than the time that the caller gave it[: {problem}].',
    remedy:
      'Try again with a longer timeout, or ask for less at once. The server may have done what was asked: look first.',
  },
  NAME_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'The name "{name}" is taken[ by another {kind}].',
    remedy: 'Choose another name.',
  },
  UNSUPPORTED: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'This server does not offer {what}.',
    remedy: 'Use a newer server, or do without.',
  },
  OFFLINE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server[ {url}] cannot be reached[: {problem}].',
    remedy: 'Check the address and the network; the call is tried again where that is safe.',
  },
  INTERNAL: {
    rpc: 'internal',
    retry: 'later',
    message: 'The server failed at something it should not fail at[ (incident {incident})].',
    remedy: 'Try again. If it repeats, report it with the lines of the server log of that time.',
  },
} as const satisfies Record<string, ErrorRow>;
