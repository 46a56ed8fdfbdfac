import type { ErrorRow } from '../error-row.ts';

/** The connection of a machine to the management server. */
export const agentLinkErrors = {
  CREDENTIALS_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The credentials from {source} cannot be used: {problem}.',
    remedy:
      'Check the address of the management server, or copy the credentials of this machine from the management app.',
  },
  CLOUD_NAME_UNKNOWN: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The name {host} of the management server leads to no address.',
    remedy: 'Check the network and the name server of this machine, and cloud.app_address in its credentials file.',
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
    remedy: 'Nothing: it is asked again. If it stays so, check the network and any proxy or firewall between.',
  },
  CLOUD_ANSWER_CUT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The answer of the management server at {address} ended too early.',
    remedy: 'Nothing: it is asked again. If it stays so, look at what lies between: a proxy, a weak link.',
  },
  CLOUD_ANSWER_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The answer of {address} is larger than {limitBytes} bytes and was cut off.',
    remedy: 'Check cloud.app_address in the credentials file: a management server does not answer so.',
  },
  CLOUD_BUSY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The management server at {address} asks to come again later (HTTP {status}).',
    remedy: 'Nothing: it is asked again when it wants.',
  },
  CLOUD_FAILS: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} cannot answer now (HTTP {status}).',
    remedy: 'Nothing on this machine: it is asked again. See the log of the management server.',
  },
  CLOUD_CERTIFICATE_REFUSED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The certificate of {address} is not accepted: {problem}.',
    remedy:
      'If the management server has a certificate of an authority of your own, add that authority to the certificates of this system; else find out who answers there.',
  },
  CLOUD_CERTIFICATE_TIME: {
    rpc: 'unavailable',
    retry: 'later',
    message:
      'The clock of this machine says {now}, but the certificate of {address} is not valid at that time[: it holds from {from} until {until}].',
    remedy: 'Set the clock of this machine (a time server does it by itself), or renew the certificate if it ran out.',
  },
  CLOUD_NOT_RECOGNIZED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'What answers at {address} is not a management server: {problem}.',
    remedy:
      'Check cloud.app_address in the credentials file. A network that wants a sign-in, or a proxy, may answer in its place.',
  },
  CLOUD_REDIRECTS: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{address} sends to {location}, where this machine does not go: its secret is for the one address only.',
    remedy: 'If the management server has moved, put its new address into cloud.app_address of the credentials file.',
  },
  CLOUD_REFUSES_MACHINE: {
    rpc: 'unauthenticated',
    retry: 'later',
    message: 'The management server at {address} refuses this machine.',
    remedy:
      'Copy the credentials of this machine from the management app again: they were replaced, or the machine was removed.',
  },
} as const satisfies Record<string, ErrorRow>;
