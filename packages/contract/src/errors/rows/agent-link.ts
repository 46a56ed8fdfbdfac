import type { ErrorRow } from '../error-row.ts';

/** The connection of a machine to the management server. */
export const agentLinkErrors = {
  CREDENTIALS_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The credentials from {source} cannot be used: {problem}.',
    remedy: 'Check the URL of the management server, or copy the credentials of this machine from the web app again.',
  },
  CREDENTIALS_MISSING: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'This machine has no usable credentials: {problem}.',
    remedy:
      'Copy the credentials of this machine from the web app (or `platform machine credentials`) to {file}, or pass them to platform-agent provision. The agent uses them at once.',
  },
  CREDENTIALS_REJECTED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'These credentials cannot be used: {problem}.',
    remedy: 'Copy the credentials of this machine from the web app again, and paste all of it.',
  },
  CREDENTIALS_NOT_STORED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The credentials cannot be stored in {file}: {problem}.',
    remedy: 'Free some space on the disk, make sure that the folder is writable, then enter the credentials again.',
  },
  OTHER_CREDENTIALS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine already has valid credentials, for part {partId}.',
    remedy: 'To replace them, run platform-agent provision --credentials FILE --force on the machine.',
  },
  CLOUD_NAME_UNKNOWN: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The host name {host} of the management server does not resolve.',
    remedy: 'Check the network and the DNS server of this machine, and cloud.app_address in its credentials file.',
  },
  CLOUD_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} cannot be reached: {problem}.',
    remedy: 'Check the network of this machine, and cloud.app_address in its credentials file.',
  },
  CLOUD_SILENT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} did not answer in time: {problem}.',
    remedy:
      'The agent retries; no action is needed. If it continues, check the network and any proxy or firewall on the way to the server.',
  },
  CLOUD_ANSWER_CUT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The connection to the management server at {address} broke before the answer was complete.',
    remedy:
      'The agent retries; no action is needed. If it continues, check the network and any proxy on the way to the server.',
  },
  CLOUD_ANSWER_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The answer of {address} exceeds the limit of {limitBytes} bytes, so the agent closed the connection.',
    remedy:
      'Check cloud.app_address in the credentials file: the program at this address may not be a management server, because those send smaller answers.',
  },
  CLOUD_BUSY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The management server at {address} is busy (HTTP {status}).',
    remedy: 'The agent retries when the server allows it; no action is needed.',
  },
  CLOUD_FAILS: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} reports an error (HTTP {status}).',
    remedy: 'The agent retries; no action is needed on this machine. See the log of the management server.',
  },
  CLOUD_CERTIFICATE_REFUSED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The certificate of {address} is not trusted: {problem}.',
    remedy:
      'If your own authority issued the certificate, use the whole credentials file, which names that authority, or add it to the trusted certificates of this system. Otherwise check which server answers at this address.',
  },
  CLOUD_CERTIFICATE_TIME: {
    rpc: 'unavailable',
    retry: 'later',
    message:
      'The clock of this machine shows {now}, but the certificate of {address} is not valid at that time[: it is valid from {from} until {until}].',
    remedy:
      'Correct the clock of this machine, for example with NTP. If the certificate has expired, renew it on the server.',
  },
  CLOUD_NOT_RECOGNIZED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server at {address} is not a management server: {problem}.',
    remedy:
      'Check cloud.app_address in the credentials file. A proxy or the sign-in page of the network may be answering instead.',
  },
  CLOUD_REDIRECTS: {
    rpc: 'unavailable',
    retry: 'later',
    message:
      '{address} redirects to {location}. The agent does not follow redirects because its credentials are bound to {address}.',
    remedy: 'If the management server has moved, set cloud.app_address in the credentials file to its new URL.',
  },
  CLOUD_REFUSES_MACHINE: {
    rpc: 'unauthenticated',
    retry: 'later',
    message: 'The management server at {address} rejects the credentials of this machine.',
    remedy:
      'Copy the credentials of this machine from the web app again: they were replaced, or the machine was deleted.',
  },
} as const satisfies Record<string, ErrorRow>;
