import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { isCertificateCode } from '@platform/kit/node';
import { isLinkCode } from '../health/link-codes.ts';

/** Validity of a server's certificate, ms since 1970. */
export interface Validity {
  from: number;
  until: number;
}

const codeOf = (error: unknown): string => {
  for (let e = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if ('code' in e && typeof e.code === 'string') return e.code;
  }
  return '';
};

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'this machine has no network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  UND_ERR_SOCKET: 'the connection was cut',
};
const isOtherProtocol = /^(EPROTO|ERR_SSL_|HPE_|ERR_HTTP)/;

/** True for an error that the certificate's dates may explain. */
export const isCertificateProblem = (error: unknown): boolean => isCertificateCode(codeOf(error));

/** Explains a failed fetch, for each runtime. `now` is the time of this machine's clock, ms since 1970. */
export function linkProblem(
  error: unknown,
  { url, now, validity }: { url: string; now: number; validity?: Validity | undefined },
): PlatformError {
  const { origin: address, hostname: host } = new URL(url);
  const code = codeOf(error);
  const text = shortened(errorText(error));
  if (isCertificateCode(code)) {
    const isOutside = validity !== undefined && (now < validity.from || now > validity.until);
    if (isOutside || code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
      return new PlatformError(
        'CLOUD_CERTIFICATE_TIME',
        { address, now: day(now), ...(validity && { from: day(validity.from), until: day(validity.until) }) },
        error,
      );
    }
    return new PlatformError('CLOUD_CERTIFICATE_REFUSED', { address, problem: text }, error);
  }
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return new PlatformError('CLOUD_NAME_UNKNOWN', { host }, error);
  if (isOtherProtocol.test(code) || /HTTP\/|HTTPParser/.test(text)) {
    const problem = url.startsWith('https:') ? 'it does not speak TLS there' : 'it does not speak HTTP there';
    return new PlatformError('CLOUD_NOT_RECOGNIZED', { address, problem }, error);
  }
  return new PlatformError('CLOUD_UNREACHABLE', { address, problem: words[code] ?? text }, error);
}

/** Finds the link problem in an error or its causes. */
export function linkProblemIn(error: unknown): PlatformError | undefined {
  for (let e = error, depth = 0; e instanceof Error && depth < 6; e = e.cause, depth++) {
    if (e instanceof PlatformError && isLinkCode(e.code)) return e;
  }
  return undefined;
}

const day = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
