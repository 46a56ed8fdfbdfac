import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { PlatformError } from '@platform/contract/errors';

/** `attempt` is given with a lease, never asked for: its subject is the job, its proof the number of the run. */
export type CredentialsType = 'api-key' | 'robot-secret' | 'attempt';

/** What a token says. `proof` names the very secret it was given for, so that it dies with it. */
export type Claims = { subject: string; credentials: CredentialsType; proof: string };

/**
 * Access tokens: HS256, without expiry, because the public clients fetch one and keep it for life.
 * They are revoked on the server: each call looks at the key or secret behind its token.
 */
export type Tokens = {
  issue(claims: Claims): Promise<string>;
  /** @throws PlatformError NOT_AUTHENTICATED, TOKEN_EXPIRED */
  read(token: string): Promise<Claims>;
  /** From memory alone. */
  known(token: string): Claims | undefined;
  /** What a token says that this server signed; whether it was revoked since, nobody has looked. */
  signed(token: string): Claims | undefined;
};

const audience = 'platform';
const keyId = 'k1';

export function tokens(signingKey: Buffer): Tokens {
  const key = createSecretKey(signingKey);
  // A signature costs 50 µs, this look-up less than one.
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
      // Sent with every call of every machine: nothing in it that nobody reads.
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
      // What expires is looked at each time.
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
