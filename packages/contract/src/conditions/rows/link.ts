import { agentLinkErrors as errors } from '../../errors/rows/agent-link.ts';
import { textsOf, type ConditionRow } from '../condition-row.ts';

const ends = 'It ends with the next complete answer of the management server.';
const warning = { severity: 'warning', ends } as const;

/** The connection of a machine to the management server. While it fails, only the machine shows these. */
export const linkConditions = {
  CLOUD_NAME_UNKNOWN: {
    ...warning,
    ...textsOf(errors.CLOUD_NAME_UNKNOWN),
    cause: 'The DNS servers of the machine do not know the host name, or none of them answers.',
  },
  CLOUD_UNREACHABLE: {
    ...warning,
    ...textsOf(errors.CLOUD_UNREACHABLE),
    cause: 'No program listens there, no route leads there, or the connection broke.',
  },
  CLOUD_SILENT: {
    ...warning,
    ...textsOf(errors.CLOUD_SILENT),
    cause: 'No complete answer arrived in time. A proxy or a firewall may hold connections.',
  },
  CLOUD_ANSWER_CUT: {
    ...warning,
    ...textsOf(errors.CLOUD_ANSWER_CUT),
    cause: 'The network, a proxy or the server closed the connection too early.',
  },
  CLOUD_ANSWER_TOO_LARGE: {
    ...warning,
    ...textsOf(errors.CLOUD_ANSWER_TOO_LARGE),
    cause: 'Another server answers, or a proxy replaces the answer.',
  },
  CLOUD_BUSY: {
    ...warning,
    ...textsOf(errors.CLOUD_BUSY),
    cause: 'The server limits its requests, for example after a restart. The agent obeys `Retry-After`.',
  },
  CLOUD_FAILS: {
    ...warning,
    ...textsOf(errors.CLOUD_FAILS),
    cause: 'The server, or a proxy in front of it, returns HTTP 5xx.',
  },
  CLOUD_CERTIFICATE_REFUSED: {
    ...warning,
    ...textsOf(errors.CLOUD_CERTIFICATE_REFUSED),
    cause: 'The machine does not know the authority, or the certificate is for another name.',
  },
  CLOUD_CERTIFICATE_TIME: {
    ...warning,
    ...textsOf(errors.CLOUD_CERTIFICATE_TIME),
    cause: 'The certificate is valid neither at the time of the clock nor at the last proven time.',
  },
  CLOUD_NOT_RECOGNIZED: {
    ...warning,
    ...textsOf(errors.CLOUD_NOT_RECOGNIZED),
    cause: 'A sign-in page of the network, a proxy or another service answers.',
  },
  CLOUD_REDIRECTS: {
    ...warning,
    ...textsOf(errors.CLOUD_REDIRECTS),
    cause: 'The server moved, or a network redirects requests to its sign-in page.',
  },
  CLOUD_REFUSES_MACHINE: {
    severity: 'error',
    ...textsOf(errors.CLOUD_REFUSES_MACHINE),
    cause: 'The credentials were rotated, or the machine was deleted.',
    ends: 'It ends when the server accepts the credentials, or the machine gets others.',
  },
} as const satisfies Record<string, ConditionRow>;
