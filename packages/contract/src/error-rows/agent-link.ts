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
      'Copy the credentials of this machine from the web app (or `platform machine credentials`) to {file}, or pass them to platform-agent provision. The agent takes them over at once.',
  },
  CREDENTIALS_DAMAGED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The credentials file {file} cannot be used ({problem}); the last valid credentials are used.',
    remedy:
      'Copy the credentials of this machine from the web app (or `platform machine credentials`) to {file}. The agent takes them over at once.',
  },
  CREDENTIALS_REMOVED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The credentials file {file} was removed; the agent uses its credentials until it is restarted.',
    remedy:
      'Restore the file from the web app (or `platform machine credentials`). If the machine shall forget its credentials, restart the agent.',
  },
  CREDENTIALS_REJECTED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'These credentials cannot be used: {problem}.',
    remedy: 'Copy the credentials of this machine from the web app again, and enter the whole text.',
  },
  CREDENTIALS_NOT_STORED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The credentials cannot be stored in {file}: {problem}.',
    remedy: 'Make room on the disk and make the folder writable, then enter the credentials again.',
  },
  OTHER_CREDENTIALS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine has valid credentials already, as part {partId}.',
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
      'The agent retries; no action is needed. If it continues, check the network and any proxy or firewall in between.',
  },
  CLOUD_ANSWER_CUT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The connection to the management server at {address} broke before the answer was complete.',
    remedy: 'The agent retries; no action is needed. If it continues, check the network and any proxy in between.',
  },
  CLOUD_ANSWER_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The answer of {address} exceeds the limit of {limitBytes} bytes, so the agent closed the connection.',
    remedy: 'Check cloud.app_address in the credentials file: a management server sends smaller answers.',
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
      'If your own authority issued the certificate, use the whole credentials file, which names that authority, or add it to the trusted certificates of this system. Otherwise find out which server answers at this address.',
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
      'Check cloud.app_address in the credentials file. A proxy or a sign-in page of the network may answer instead.',
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
      'Copy the credentials of this machine from the web app again: someone replaced them or deleted the machine.',
  },
  PART_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The part {part} of the agent does not run: {problem}.',
    remedy:
      'The agent starts the part again every few minutes; its other parts work. If it continues, see the log of the agent.',
  },
} as const satisfies Record<string, ErrorRow>;
