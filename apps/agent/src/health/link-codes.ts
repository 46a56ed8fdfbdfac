import type { ErrorCode } from '@platform/contract/errors';

/** Codes of the conditions between this machine and its management server. */
export const linkCodes = [
  'CLOUD_ANSWER_CUT',
  'CLOUD_ANSWER_TOO_LARGE',
  'CLOUD_BUSY',
  'CLOUD_CERTIFICATE_REFUSED',
  'CLOUD_CERTIFICATE_TIME',
  'CLOUD_FAILS',
  'CLOUD_NAME_UNKNOWN',
  'CLOUD_NOT_RECOGNIZED',
  'CLOUD_REDIRECTS',
  'CLOUD_REFUSES_MACHINE',
  'CLOUD_SILENT',
  'CLOUD_UNREACHABLE',
] as const satisfies readonly ErrorCode[];
