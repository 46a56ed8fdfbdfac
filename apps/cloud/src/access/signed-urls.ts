import { createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors';

const sign = (key: Buffer, path: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`signed url\n${path}\n${expires}`).digest();

/** `path` with a signature that lets anybody read it until `expiresAt` (ms since 1970). */
export function signedPath(key: Buffer, path: string, expiresAt: number): string {
  const expires = String(Math.floor(expiresAt / 1000));
  return `${path}?expires=${expires}&signature=${sign(key, path, expires).toString('base64url')}`;
}

/** True: signed and not expired; false: not signed. @throws PlatformError NOT_AUTHENTICATED for a wrong or old signature. */
export function isSigned(key: Buffer, url: URL, now: number): boolean {
  const [expires, signature] = [url.searchParams.get('expires'), url.searchParams.get('signature')];
  if (expires === null && signature === null) return false;
  const given = Buffer.from(signature ?? '', 'base64url');
  const wanted = sign(key, url.pathname, expires ?? '');
  const isRight = given.length === wanted.length && timingSafeEqual(given, wanted);
  if (!isRight) throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the signature of the link is wrong' });
  if (now >= Number(expires) * 1000) throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the link has expired' });
  return true;
}
