import type { ConnectRouter } from '@connectrpc/connect';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import type { Clock } from '@platform/kit';
import { cookieOf } from '../access/session-cookie.ts';
import { callerOf } from '../access/caller.ts';
import { type Caller, mayGive, memberships, requireInstallationOwner } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { audited } from '../access/store/audited.ts';
import { grantsOf } from '../access/store/keys.ts';
import { findOrganizations } from '../access/store/organizations.ts';
import { auditedOrganizations, deleteSession, insertSignInLink } from '../access/store/sessions.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { wholeAnswer } from '../rpc/rules/answer-bounds.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';

const signInLinkMs = 15 * 60_000;

type SessionDeps = {
  db: Database;
  clock: Clock;
  secrets: Secrets;
  changes: Changes;
  version: string;
  addresses: Addresses;
};

export const sessionRoutes =
  (deps: SessionDeps) =>
  (router: ConnectRouter): void => {
    const { db, clock, secrets, changes } = deps;
    router.service(SessionService, {
      async whoAmI(_, context) {
        const caller = callerOf(context);
        const all = memberships(caller);
        const places = all.slice(0, wholeAnswer.rows);
        const organizations = await findOrganizations(
          db,
          caller.kind === 'part' ? [caller.orgId] : places.map((place) => place.orgId),
        );
        const names = new Map(organizations.map(({ id, name }) => [id, name]));
        return {
          kind: caller.kind,
          id: caller.id,
          name: caller.name,
          serverVersion: deps.version,
          memberships: places.map(({ orgId, role }) => ({
            organizationId: orgId,
            organizationName: names.get(orgId) ?? '',
            role,
          })),
          truncated: places.length < all.length,
        };
      },
      async createSignInLink(_, context) {
        const expiresOn = clock.wall() + signInLinkMs;
        const caller = callerOf(context);
        const userId = await userFor(db, caller, secrets.first.ownerId);
        const by =
          'signedInOn' in caller ? { byKeyId: caller.byKeyId, signedInOn: caller.signedInOn } : { byKeyId: caller.id };
        const token = await audited({ db }, caller, async (trx, record) => {
          for (const orgId of await auditedOrganizations(trx, userId))
            await record({ orgId, action: 'create sign-in link', subject: userId });
          return insertSignInLink(trx, { userId, expiresOn, ...by });
        });
        return { url: `${baseUrlOf(deps, context)}/sign-in?token=${token}`, expiresOn: timestampFromMs(expiresOn) };
      },
      async signOut(_, context) {
        const token = cookieOf(context.requestHeader.get('cookie') ?? '');
        if (token === undefined)
          throw new PlatformError('INVALID_ARGUMENT', {
            field: 'cookie',
            limit: 'only a browser session can sign out',
          });
        changes.notify('session', await deleteSession(db, token));
        return {};
      },
    });
  };

/**
 * The user to sign in: users sign in as themselves. A key that may grant all rights of the installation's owner signs
 * in that owner.
 */
async function userFor(db: Database, caller: Caller, ownerId: string): Promise<string> {
  if (caller.kind === 'person') return caller.id;
  requireInstallationOwner(caller);
  for (const grant of await grantsOf(db, 'person', ownerId)) {
    if (!mayGive(caller, grant)) throw new PlatformError('NOT_OWNER', { organizationId: grant.orgId ?? '' });
  }
  return ownerId;
}
