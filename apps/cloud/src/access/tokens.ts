import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { PlatformError } from '@platform/contract/errors/errors';

/** `attempt` is issued with a lease, never requested: its subject is the job, its proof the attempt's number. */
export type CredentialsType = 'api-key' | 'robot-secret' | 'attempt';

/**
 * The claims of a token. `proof` identifies the secret that the token was issued for, so that it ends with that secret.
 */
export type Claims = { subject: string; credentials: CredentialsType; proof: string };

/**
 * Access tokens: HS256, without expiry, because the public clients request one and keep it permanently. The server
 * revokes them: each call checks the key or secret behind its token.
 */
export type Tokens = {
  issue(claims: Claims): Promise<string>;
  /** @throws PlatformError NOT_AUTHENTICATED, TOKEN_EXPIRED */
  read(token: string): Promise<Claims>;
  /** Reads only the cache. */
  known(token: string): Claims | undefined;
  /** Verifies only the signature: the token may have been revoked since. */
  signed(token: string): Claims | undefined;
};

const audience = 'platform';
const keyId = 'k1';

export function tokens(signingKey: Buffer): Tokens {
  const key = createSecretKey(signingKey);
  // Verifying a signature costs 50 µs, this look-up less than 1 µs.
  const seen = new LRUCache<string, Claims>({ max: 50_000 });
  return {
    known: (token) => seen.get(token),
    signed(token) {
      const known = seen.get(token);
      if (known) return known;
      const end = token.lastIndexOf('.');
      const given = Buffer.from(token.slice(end + 1), 'base64url');
      const right = createHmac('sha256', key)
        .update(token.slice(0, Math.max(end, 0)))
        .digest();
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      try {
        const { alg } = decodeProtectedHeader(token);
        return alg === 'HS256' ? claimsOf(decodeJwt(token)) : undefined;
      } catch {
        return undefined;
      }
    },
    issue: ({ subject, credentials, proof }) =>
      // Minimal claims, because every call of every machine sends the token.
      new SignJWT({ rpc_creds_type: credentials, proof })
        .setProtectedHeader({ alg: 'HS256', kid: keyId })
        .setSubject(subject)
        .setAudience(audience)
        .setIssuer(audience)
        .sign(key),
    async read(token) {
      const known = seen.get(token);
      if (known) return known;
      const { payload } = await jwtVerify(token, key, { audience, issuer: audience, algorithms: ['HS256'] }).catch(
        (error: unknown) => {
          if (error instanceof errors.JWTExpired) throw new PlatformError('TOKEN_EXPIRED', {}, error);
          throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the token is not of this server' }, error);
        },
      );
      const claims = claimsOf(payload);
      if (!claims) throw new PlatformError('NOT_AUTHENTICATED', { problem: 'the token has no subject' });
      // Not cached: expiry must be checked on each call.
      if (payload.exp === undefined) seen.set(token, claims);
      return claims;
    },
  };
}

function claimsOf(payload: JWTPayload): Claims | undefined {
  const { sub: subject, rpc_creds_type: credentials, proof } = payload;
  if (typeof subject !== 'string' || typeof proof !== 'string') return undefined;
  return credentials === 'api-key' || credentials === 'robot-secret' || credentials === 'attempt'
    ? { subject, credentials, proof }
    : undefined;
}
