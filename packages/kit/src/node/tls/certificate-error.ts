/** Error codes of OpenSSL, of BoringSSL and of our own verification for invalid certificates. */
const certificateCode =
  /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|UNHANDLED_CRITICAL|UNSUPPORTED_CONSTRAINT|PERMITTED_VIOLATION|EXCLUDED_VIOLATION|EE_KEY_|CA_KEY_|CA_MD_)/;

export const isCertificateCode = (code: string): boolean => certificateCode.test(code);

export function isCertificateError(error: unknown): boolean {
  for (let e = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if ('code' in e && typeof e.code === 'string' && isCertificateCode(e.code)) return true;
  }
  return false;
}
