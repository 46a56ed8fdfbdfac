import type { ErrorRow } from '../error-row.ts';

/** Calls: their format, size and rate. */
export const callsErrors = {
  INVALID_ARGUMENT: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: '{field} is not valid[: {value}][; {limit}].',
    remedy: 'Correct this field and repeat the call.',
  },
  INVALID_MESSAGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The message cannot be read[: {problem}].',
    remedy: 'Send a message of the documented type and encoding.',
  },
  NOT_TEXT: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: '{source} is not readable text: {problem}.',
    remedy:
      'Save it as UTF-8: in an editor choose the encoding UTF-8, or run iconv -f WINDOWS-1252 -t UTF-8. UTF-16 with a byte order mark is also accepted.',
  },
  MESSAGE_TOO_COMPLEX: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message has more values than the limit of {limit}.',
    remedy: 'Split it into several calls.',
  },
  MESSAGE_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send less per call, or upload the file as a stream.',
  },
  BUDGET_EXCEEDED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'This caller exceeded its rate limit of {limit}.',
    remedy:
      'Wait {retryAfterS} s, then repeat the call: the server processed none of it. The operator of the server can raise the limit (--machine-lines-per-s, --machine-calls-per-s, --key-calls-per-s, --caller-mib-per-s).',
  },
  UNPROVEN_CALLS_EXCEEDED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The address of this caller exceeded its limit of {limit} calls a second without valid credentials.',
    remedy:
      'Wait {retryAfterS} s, then repeat the call: the server processed none of it. This limit does not apply to calls with a valid token. The operator of the server can raise the limit (--unproven-calls-per-s).',
  },
  TOO_MANY_REQUESTS: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The server is handling too many requests at once[: {limit}].',
    remedy: 'Wait a few seconds, then repeat the call.',
  },
  CALL_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'later',
    message: "The call took longer than the caller's timeout[: {problem}].",
    remedy:
      'Check whether the server completed the call. If not, repeat it with a longer timeout, or request less per call.',
  },
  NAME_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'The name "{name}" is already in use[ by another {kind}].',
    remedy: 'Choose another name.',
  },
  UNSUPPORTED: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'This server does not support {what}.',
    remedy: 'Upgrade the server if a newer version supports it, or use another call.',
  },
  CALL_NOT_OFFERED: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'No version of this server offers {what}.',
    remedy: 'Use another call; docs/generated/rpc.md lists those that the server offers.',
  },
  UNKNOWN_METHOD: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'This server has no method {method}.',
    remedy: 'Check the name. If the method is new, upgrade the server.',
  },
  OFFLINE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server[ {url}] cannot be reached[: {problem}].',
    remedy: 'Check the URL and the network. The client retries calls that are safe to repeat.',
  },
  INTERNAL: {
    rpc: 'internal',
    retry: 'later',
    message: 'The server failed because of a bug[ (incident {incident})].',
    remedy: 'Repeat the call. If it fails again, report the bug with the server log of that time.',
  },
} as const satisfies Record<string, ErrorRow>;
