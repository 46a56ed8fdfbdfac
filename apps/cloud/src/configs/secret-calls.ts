import type { ServiceImpl } from '@connectrpc/connect';
import { keepSecrets, revealedSecrets } from '@platform/contract/config/placeholders';
import { parseConfigText } from '@platform/contract/config/text';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Caller } from '../access/rules/permissions.ts';
import { audited } from '../access/store/audited.ts';
import type { Database } from '../database/database.ts';
import { ownedPart } from '../machines/part-access.ts';
import { requireSize } from './config-saving.ts';
import { requireConfig } from './store/configs.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const recentMinutes = 10;

/** The call that shows owners what the placeholders of a configuration stand for. */
export const secretHandlers = (deps: { db: Database; clock: Clock }) => {
  const { db, clock } = deps;
  return {
    async revealSecrets({ partId, revision, paths, configJson }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      requireRecentSignIn(caller, clock.wall());
      const config = await requireConfig(db, part, Number(revision));
      const all = configJson === '' ? ownSecrets(config.text) : meantSecrets(configJson, config.text);
      const [known, wanted] = [new Set(all.map(({ path }) => path)), new Set(paths)];
      const absent = paths.find((path) => !known.has(path));
      if (absent !== undefined)
        throw invalidArgument('paths', absent, `the path of a secret of revision ${config.revision}`);
      const secrets = paths.length === 0 ? all : all.filter(({ path }) => wanted.has(path));
      await audited(deps, caller, async (_, record) => {
        const details = { revision: config.revision, fields: secrets.map(({ savedPath }) => savedPath) };
        await record({ orgId: part.orgId, action: 'reveal secrets', subject: part.id, details });
      });
      return { secrets: secrets.map(({ path, value }) => ({ path, value })) };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

type Revealed = { path: string; savedPath: string; value: string };

const ownSecrets = (text: string): Revealed[] =>
  revealedSecrets(text).map(({ path, value }) => ({ path, savedPath: path, value }));

/** What the placeholders of a text stand for. @throws PlatformError CONFIG_TOO_LARGE, INVALID_ARGUMENT */
function meantSecrets(text: string, saved: string): readonly Revealed[] {
  requireSize(text);
  if (parseConfigText(text).is === 'problem')
    throw new PlatformError('INVALID_ARGUMENT', { field: 'config_json', limit: 'valid JSON' });
  return keepSecrets(text, [saved]).values;
}

/** @throws PlatformError SIGN_IN_NOT_RECENT */
function requireRecentSignIn(caller: Caller, now: number): void {
  const signedInOn = 'signedInOn' in caller ? caller.signedInOn : undefined;
  if (signedInOn !== undefined && now - signedInOn <= recentMinutes * 60_000) return;
  throw new PlatformError('SIGN_IN_NOT_RECENT', {
    limitMinutes: recentMinutes,
    ...(signedInOn !== undefined && { minutes: Math.floor((now - signedInOn) / 60_000) }),
  });
}
