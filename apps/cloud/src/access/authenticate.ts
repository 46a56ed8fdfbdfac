import { timingSafeEqual } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FailedSignIn } from './failed-sign-ins.ts';
import { type Identities, type Identity, proofOf } from './identities.ts';
import type { AttemptCaller, Caller } from './rules/permissions.ts';
import { hashSecret } from './secrets.ts';
import { cookieOf } from './session-cookie.ts';
import type { Claims, CredentialsType, Tokens } from './tokens.ts';

/** Credentials by which a caller signs in. */
export type SecretType = Exclude<CredentialsType, 'attempt'>;

/** Finds the caller by its credentials. */
export type Authenticator = {
  /** @throws PlatformError INVALID_CREDENTIALS */
  check(type: SecretType, entity: string, secret: string): Promise<{ caller: Caller; claims: Claims }>;
  /** Exchanges credentials for an access token. @throws PlatformError INVALID_CREDENTIALS */
  token(type: SecretType, entity: string, secret: string): Promise<string>;
  /** Issues a token for one attempt of a job. */
  attemptToken(jobId: string, attempt: number): Promise<string>;
  /** @param authorization - value of the header. @throws PlatformError NOT_AUTHENTICATED, TOKEN_EXPIRED, LEASE_LOST */
  bearer(authorization: string): Promise<Caller>;
  /**
   * @param cookies - value of the `cookie` header. @returns undefined: it contains no session, or the session has
   * ended.
   */
  session(cookies: string): Promise<Caller | undefined>;
};

/**
 * @param attemptOf - finds an attempt of a job; undefined: it was lost, or ended some minutes ago.
 * @param onFailed - receives failed sign-ins.
 */
export function authenticator({
  identities,
  tokens,
  attemptOf: findAttempt,
  onFailed,
}: {
  identities: Identities;
  tokens: Tokens;
  attemptOf: (jobId: string, attempt: number) => Promise<AttemptCaller | undefined>;
  onFailed: (failed: FailedSignIn) => void;
}): Authenticator {
  const identityOf = (type: SecretType, id: string): Promise<Identity | undefined> =>
    type === 'api-key' ? identities.apiKey(id) : identities.part(id);
  /** Not cached: an attempt may end at any moment. */
  const attemptOf = async ({ subject: jobId, proof }: Claims): Promise<Caller> => {
    const caller = await findAttempt(jobId, Number(proof));
    if (!caller) throw new PlatformError('LEASE_LOST', { jobId, attempt: proof });
    return caller;
  };

  // Secrets are of letters and digits: white space around one came with a file or a copy.
  const check = async (type: SecretType, entity: string, secret: string) => {
    const identity = await identityOf(type, entity.trim());
    const hash = hashSecret(secret.trim());
    const known = identity?.proofs.get(proofOf(hash));
    if (!identity || !known || !timingSafeEqual(known, hash)) {
      onFailed({ credentials: type, ...subjectOf(identity?.caller) });
      throw new PlatformError('INVALID_CREDENTIALS');
    }
    return {
      caller: identity.caller,
      claims: { subject: identity.caller.id, credentials: type, proof: proofOf(hash) },
    };
  };
  return {
    check,
    attemptToken: (jobId, attempt) => tokens.issue({ subject: jobId, credentials: 'attempt', proof: String(attempt) }),
    token: async (type, entity, secret) => tokens.issue((await check(type, entity, secret)).claims),
    async bearer(authorization) {
      if (!authorization.startsWith('Bearer ')) {
        throw new PlatformError('NOT_AUTHENTICATED', {
          problem: 'the authorization header does not start with "Bearer "',
        });
      }
      const claims = await tokens.read(authorization.slice('Bearer '.length));
      if (claims.credentials === 'attempt') return attemptOf(claims);
      const identity = await identityOf(claims.credentials, claims.subject);
      if (!identity)
        throw new PlatformError('TOKEN_EXPIRED', { problem: 'the key, machine or run that it was issued for is gone' });
      if (!identity.proofs.has(claims.proof))
        throw new PlatformError('TOKEN_EXPIRED', { problem: 'the key that it was issued for was rotated or replaced' });
      return identity.caller;
    },
    async session(cookies) {
      const value = cookieOf(cookies);
      return value === undefined ? undefined : (await identities.session(hashSecret(value)))?.caller;
    },
  };
}

const subjectOf = (caller: Caller | undefined): Pick<FailedSignIn, 'orgId' | 'subject'> => {
  if (!caller) return { orgId: null, subject: 'unknown ID' };
  const orgId = 'orgId' in caller ? caller.orgId : caller.grants.find((grant) => grant.orgId !== undefined)?.orgId;
  return { orgId: orgId ?? null, subject: caller.id };
};
