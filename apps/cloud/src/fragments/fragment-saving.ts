import { create } from '@bufbuild/protobuf';
import { fragmentLimits } from '@platform/contract/config/fragments';
import { PlatformError } from '@platform/contract/errors/errors';
import { ConfigProblemsSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Caller } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited, type Record as RecordEntry } from '../access/store/audited.ts';
import { checkedComment, problemMessage, problemsInError } from '../configs/config-saving.ts';
import { contentHash } from '../configs/secret-marks.ts';
import { insertMergedRevisions, lockFollowers } from '../configs/store/merged-revisions.ts';
import {
  countFragments,
  deleteFragment,
  findFragment,
  type FragmentRow,
  insertFragment,
  lockFragments,
  partsWith,
  updateFragment,
} from '../configs/store/fragments.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { type FragmentEffect, fragmentEffects } from './fragment-effects.ts';
import { type FragmentText, readFragment } from './rules/fragment-text.ts';

export type FragmentDeps = { db: Database; changes: Changes; releases: ReleaseCache; secrets: Secrets };

type NewFragment = { orgId: string; name: string; text: string; comment: string };

/** @throws PlatformError INVALID_FRAGMENT, FRAGMENT_TOO_LARGE, TOO_MANY_FRAGMENTS, NAME_TAKEN */
export async function createFragment(
  deps: FragmentDeps,
  caller: Caller,
  { orgId, name, text: given, comment }: NewFragment,
): Promise<string> {
  const read = readFragment(given, undefined);
  refuseFragmentErrors(read);
  const why = comment === '' ? '' : checkedComment(comment);
  return audited(deps, caller, async (trx, record) => {
    const count = await countFragments(trx, orgId);
    const limit = fragmentLimits.perOrganization;
    if (count >= limit) throw new PlatformError('TOO_MANY_FRAGMENTS', { count, limit });
    const id = await insertFragment(trx, { orgId, name, ...revisionOf(deps, caller, read, why) });
    await record({ orgId, action: 'create fragment', subject: id, details: { name } });
    return id;
  });
}

const revisionOf = ({ secrets }: FragmentDeps, caller: Caller, { text, config }: FragmentText, comment: string) => ({
  text,
  config,
  sha256: contentHash(text, secrets.sealingKey),
  savedBy: actorOf(caller),
  comment,
});

function refuseFragmentErrors({ problems }: FragmentText): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (!first) return;
  const value = create(ConfigProblemsSchema, { problems: errors.slice(0, problemsInError).map(problemMessage) });
  throw new PlatformError(
    'INVALID_FRAGMENT',
    { count: errors.length, path: first.path || '(whole)', problem: first.message.replace(/\.$/, '') },
    undefined,
    [{ desc: ConfigProblemsSchema, value }],
  );
}

type FragmentChange = {
  /** Undefined: the one that it has when it is saved. */
  name: string | undefined;
  /** Undefined: the name alone changes. */
  text: string | undefined;
  comment: string;
  /** The revision, or the time of the last change in ms since 1970, that the caller knows. */
  expected: { revision?: number; lastUpdated?: number };
};

/** A configuration or another fragment may be saved while a fragment is. */
const mostTries = 3;

/**
 * Saves the next revision of a fragment, and of each part that follows it.
 *
 * @throws PlatformError INVALID_FRAGMENT, FRAGMENT_TOO_LARGE, FRAGMENT_BREAKS_MACHINES, FRAGMENT_REACHES_TOO_MANY,
 * FRAGMENT_CONFLICT, FRAGMENT_MOVED, NAME_TAKEN
 */
export async function saveFragment(
  deps: FragmentDeps,
  caller: Caller,
  id: string,
  change: FragmentChange,
): Promise<void> {
  const why = change.comment === '' ? '' : checkedComment(change.comment);
  for (let tries = 1; ; tries++) {
    const fragment = await findFragment(deps.db, id);
    if (!fragment) throw new PlatformError('FRAGMENT_NOT_FOUND', { fragmentId: id });
    requireExpected(fragment, change.expected);
    const read = change.text === undefined ? undefined : readFragment(change.text, fragment.text);
    if (read) refuseFragmentErrors(read);
    const isNew = read !== undefined && read.text !== fragment.text;
    const name = change.name ?? fragment.name;
    const next = isNew ? nextOf(deps, caller, { ...fragment, name }, { ...read, comment: why }) : undefined;
    const effects = next ? await fragmentEffects(deps, caller, next) : [];
    refuseBroken(effects);
    if (await writeFragment(deps, caller, { fragment, next, name, effects })) return;
    if (tries === mostTries) throw new PlatformError('FRAGMENT_MOVED', { tries });
  }
}

/** The next revision of a fragment as it will be stored. */
export const nextOf = (
  deps: Pick<FragmentDeps, 'secrets'>,
  caller: Caller,
  fragment: FragmentRow,
  read: FragmentText & { comment: string },
): FragmentRow => {
  const revision = fragment.newest + 1;
  const { text, config, comment } = read;
  const sha256 = contentHash(text, deps.secrets.sealingKey);
  return { ...fragment, newest: revision, revision, text, config, sha256, savedBy: actorOf(caller), comment };
};

function requireExpected({ newest, lastUpdated }: FragmentRow, expected: FragmentChange['expected']): void {
  const isStale =
    (expected.revision !== undefined && expected.revision !== newest) ||
    (expected.lastUpdated !== undefined && expected.lastUpdated !== lastUpdated);
  if (isStale)
    throw new PlatformError('FRAGMENT_CONFLICT', {
      revision: newest,
      ...(expected.revision !== undefined && { expectedRevision: expected.revision }),
    });
}

function refuseBroken(effects: readonly FragmentEffect[]): void {
  const broken = effects.filter(({ errors }) => errors.length > 0);
  const [first] = broken;
  const [error] = first?.errors ?? [];
  if (!first || !error) return;
  throw new PlatformError('FRAGMENT_BREAKS_MACHINES', {
    count: broken.length,
    machine: first.machineName,
    path: error.path || '(whole)',
    problem: error.message.replace(/\.$/, ''),
  });
}

type FragmentWrite = {
  fragment: FragmentRow;
  next: FragmentRow | undefined;
  name: string;
  effects: readonly FragmentEffect[];
};

/** @returns false: something that it depends on changed since it was read. */
function writeFragment(deps: FragmentDeps, caller: Caller, write: FragmentWrite): Promise<boolean> {
  const { fragment, next, name, effects } = write;
  const { id, orgId } = fragment;
  return audited(deps, caller, async (trx, record) => {
    await lockFragments(trx, [id], true);
    const locked = await findFragment(trx, id);
    // A new name, too, is a change.
    if (locked?.newest !== fragment.newest || locked.lastUpdated !== fragment.lastUpdated) return false;
    if (next && !(await lockFollowers(trx, id, effects))) return false;
    await updateFragment(trx, { id, orgId, name, revision: next?.revision ?? fragment.newest }, next && storedOf(next));
    const comment = `Fragment ${name}, revision ${next?.revision ?? 0}${next?.comment ? `: ${next.comment}` : ''}`;
    await insertMergedRevisions(trx, effects, { savedBy: actorOf(caller), comment });
    if (next || name !== fragment.name) await recordSave(record, write);
    return true;
  });
}

const storedOf = ({ text, config, sha256, savedBy, comment }: FragmentRow) => ({
  text,
  config,
  sha256,
  savedBy,
  comment,
});

async function recordSave(record: RecordEntry, { fragment, next, name, effects }: FragmentWrite): Promise<void> {
  const { id, orgId } = fragment;
  await record(
    {
      orgId,
      action: 'save fragment',
      subject: id,
      details: {
        ...(next && { revision: next.revision, parts: effects.length }),
        ...(name !== fragment.name && { name: { from: fragment.name, to: name } }),
      },
    },
    ...effects.map(({ partId }) => ['config', partId] as const),
  );
  // Who may save a fragment owns its machines: saving it is the consent.
  for (const { partId, pins, revision } of effects)
    if (pins.length > 0) {
      const details = { revision: revision + 1, pins, fragment: name };
      await record({ orgId, action: 'consent to unsigned programs', subject: partId, details });
    }
}

/** @throws PlatformError FRAGMENT_IN_USE */
export async function removeFragment(deps: FragmentDeps, caller: Caller, fragment: FragmentRow): Promise<void> {
  const { id, orgId, name } = fragment;
  await audited(deps, caller, async (trx, record) => {
    // A configuration that is being saved has locked it, or finds it absent.
    await lockFragments(trx, [id], true);
    const users = await partsWith(trx, id, { isFollowing: false, limit: fragmentLimits.machines });
    if (users.length > 0)
      throw new PlatformError('FRAGMENT_IN_USE', { name, count: users.length, machines: namesOfUsers(users) });
    await deleteFragment(trx, id);
    await record({ orgId, action: 'delete fragment', subject: id, details: { name } });
  });
}

const namedUsers = 20;

function namesOfUsers(users: readonly { machineName: string }[]): string {
  const names = [...new Set(users.map(({ machineName }) => machineName))];
  const more = names.length - namedUsers;
  return `${names.slice(0, namedUsers).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
