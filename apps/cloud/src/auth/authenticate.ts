import { timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors';
import type { Caller } from '../rules/permissions.ts';
import { type Identities, type Identity, proofOf } from './identities.ts';
import { hashSecret } from './secrets.ts';
import type { Claims, CredentialsType, Tokens } from './tokens.ts';

export const sessionCookie = 'platform_session';

/** Proofs of who is calling → the caller. */
export type Authenticator = {
  /** @throws PlatformError INVALID_CREDENTIALS */
  check(type: CredentialsType, entity: string, secret: string): Promise<{ caller: Caller; claims: Claims }>;
  /** Credentials → access token. @throws PlatformError INVALID_CREDENTIALS */
  token(type: CredentialsType, entity: string, secret: string): Promise<string>;
  /** The value of an `authorization` header. @throws PlatformError NOT_AUTHENTICATED, TOKEN_EXPIRED */
  bearer(authorization: string): Promise<Caller>;
  /** The value of a `cookie` header; undefined: no session in it, or none that lives. */
  session(cookies: string): Promise<Caller | undefined>;
};

export function authenticator(identities: Identities, tokens: Tokens): Authenticator {
  const identityOf = (type: CredentialsType, id: string): Promise<Identity | undefined> =>
    type === 'api-key' ? identities.apiKey(id) : identities.part(id);

  const check = async (type: CredentialsType, entity: string, secret: string) => {
    const identity = await identityOf(type, entity);
    const hash = hashSecret(secret);
    const known = identity?.proofs.get(proofOf(hash));
    if (!identity || !known || !timingSafeEqual(known, hash)) throw new PlatformError('INVALID_CREDENTIALS');
    return {
      caller: identity.caller,
      claims: { subject: identity.caller.id, credentials: type, proof: proofOf(hash) },
    };
  };
  return {
    check,
    token: async (type, entity, secret) => tokens.issue((await check(type, entity, secret)).claims),
    async bearer(authorization) {
      if (!authorization.startsWith('Bearer ')) {
        throw new PlatformError('NOT_AUTHENTICATED', {
          problem: 'the authorization header does not start with "Bearer "',
        });
      }
      const claims = await tokens.read(authorization.slice('Bearer '.length));
      const identity = await identityOf(claims.credentials, claims.subject);
      if (!identity?.proofs.has(claims.proof)) throw new PlatformError('TOKEN_EXPIRED');
      return identity.caller;
    },
    async session(cookies) {
      const value = cookieOf(cookies);
      return value === undefined ? undefined : (await identities.session(hashSecret(value)))?.caller;
    },
  };
}

/** The session's secret in a `cookie` header. */
export const cookieOf = (cookies: string): string | undefined =>
  cookies
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${sessionCookie}=`))
    ?.slice(sessionCookie.length + 1);
