import { createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from './rules/permissions.ts';

type Issuer = Pick<Caller, 'kind' | 'id'>;

const sign = (key: Buffer, path: string, expires: string, issuer: string): Buffer =>
  createHmac('sha256', key).update(`signed url of\n${issuer}\n${path}\n${expires}`).digest();

/** Identifies a caller for this server only: the holder of the link cannot read the caller's ID. */
const issuerName = (key: Buffer, { kind, id }: Issuer): string =>
  createHmac('sha256', key).update(`issuer\n${kind}\n${id}`).digest('base64url').slice(0, 16);

/**
 * `path` with a signature that permits reading until `expiresAt` (ms since 1970), charged to the link budget of
 * `issuer`.
 */
export function signedPath(key: Buffer, path: string, expiresAt: number, issuer: Issuer): string {
  const expires = String(Math.floor(expiresAt / 1000));
  const by = issuerName(key, issuer);
  return `${path}?expires=${expires}&issuer=${by}&signature=${sign(key, path, expires, by).toString('base64url')}`;
}

/**
 * @returns the issuer of the link; undefined: not signed.
 * @throws PlatformError NOT_AUTHENTICATED for a wrong or expired signature.
 */
export function signerOf(key: Buffer, url: URL, now: number): string | undefined {
  const [expires, signature] = [url.searchParams.get('expires'), url.searchParams.get('signature')];
  if (expires === null && signature === null) return undefined;
  const issuer = url.searchParams.get('issuer') ?? '';
  const given = Buffer.from(signature ?? '', 'base64url');
  const wanted = sign(key, url.pathname, expires ?? '', issuer);
  const isRight = given.length === wanted.length && timingSafeEqual(given, wanted);
  if (!isRight || !/^\d{1,15}$/.test(expires ?? ''))
    throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the signature of the link is wrong' });
  if (now >= Number(expires) * 1000) throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the link has expired' });
  return issuer;
}
