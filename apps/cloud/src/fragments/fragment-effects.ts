import type { Problem } from '@platform/contract/config/config';
import { fragmentLimits } from '@platform/contract/config/fragments';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { identified, newUnsignedPins, readConfig } from '../configs/config-saving.ts';
import { type FragmentSource, fragmentsOf } from '../configs/merged-config.ts';
import { forbiddenNames } from '../configs/new-names.ts';
import { packageProblems } from '../configs/package-problems.ts';
import { refusals } from '../configs/rules/named-in-config.ts';
import { contentHash } from '../configs/secret-marks.ts';
import { type ConfigRow, findConfig } from '../configs/store/configs.ts';
import { type FragmentRow, type FragmentUser, partsWith } from '../configs/store/fragments.ts';
import type { Database } from '../database/database.ts';
import type { JsonObject, UsedFragment } from '../database/schema.ts';
import { machineFacts } from '../machines/rules/machine-facts.ts';
import { findPart, type PartRow } from '../machines/store/machines.ts';
import type { ReleaseCache } from '../releases/release-cache.ts';
import { type ConfigDifference, configChanges } from './rules/config-changes.ts';

/** What a saved fragment does to a part that follows it. */
export type FragmentEffect = FragmentUser & {
  /** The revision that it is computed from. */
  revision: number;
  config: JsonObject;
  used: UsedFragment[];
  sha256: Buffer;
  changes: ConfigDifference[];
  /** Errors that the present configuration does not have. */
  errors: Problem[];
  /** New programs without a release signature. */
  pins: string[];
};

type EffectDeps = { db: Database; releases: ReleaseCache; secrets: Secrets };

/**
 * What the next revision of a fragment does to each part that follows it, checked with the rights of the caller.
 *
 * @throws PlatformError FRAGMENT_REACHES_TOO_MANY
 */
export async function fragmentEffects(deps: EffectDeps, caller: Caller, next: FragmentRow): Promise<FragmentEffect[]> {
  const { machines: limit } = fragmentLimits;
  const users = await partsWith(deps.db, next.id, { isFollowing: true, limit: limit + 1 });
  if (users.length > limit)
    throw new PlatformError('FRAGMENT_REACHES_TOO_MANY', { count: `More than ${limit}`, name: next.name, limit });
  const computed: Computed = new Map();
  const effects: FragmentEffect[] = [];
  for (const user of users) {
    const effect = await effectOn(deps, caller, { user, next, computed });
    if (effect) effects.push(effect);
  }
  return effects;
}

type Effect = Omit<FragmentEffect, keyof FragmentUser | 'revision'>;

/** Machines of one fleet are alike: each combination of configuration and reported facts is computed once. */
type Computed = Map<string, Effect>;

/** @returns undefined: the part was deleted. */
async function effectOn(
  deps: EffectDeps,
  caller: Caller,
  { user, next, computed }: { user: FragmentUser; next: FragmentRow; computed: Computed },
): Promise<FragmentEffect | undefined> {
  const [part, saved] = await Promise.all([findPart(deps.db, user.partId), findConfig(deps.db, user.partId)]);
  if (!part || !saved) return undefined;
  const key = `${saved.sha256.toString('hex')} ${JSON.stringify(machineFacts(part))}`;
  const effect = computed.get(key) ?? (await computeEffect(deps, caller, { part, saved, next }));
  computed.set(key, effect);
  return { ...user, ...effect, revision: saved.revision };
}

async function computeEffect(
  { db, releases, secrets }: EffectDeps,
  caller: Caller,
  { part, saved, next }: { part: PartRow; saved: ConfigRow; next: FragmentRow },
): Promise<Effect> {
  const present = fragmentsOf(db, part.orgId);
  const after = await readConfig(releases, saved.text, { part, fragments: withNext(present, next) });
  const before = await readConfig(releases, saved.text, { part, fragments: present });
  const named = { orgId: part.orgId, config: after.config };
  const forbidden = await forbiddenNames(db, caller, named, async () => saved.config);
  const paths = new Set(forbidden.map(({ path }) => path));
  const ofNames = [...refusals(forbidden), ...(await packageProblems(db, part.orgId, after.config, paths))];
  const known = new Set([
    ...before.problems.map(identified),
    ...(await packageProblems(db, part.orgId, before.config)).map(before.placed).map(identified),
  ]);
  return {
    config: after.config,
    used: after.used,
    sha256: contentHash(saved.text, secrets.sealingKey, after.hashes),
    changes: configChanges(saved.config, after.config),
    errors: [...after.problems, ...ofNames.map(after.placed)].filter(
      (one) => one.severity === 'error' && !known.has(identified(one)),
    ),
    pins: newUnsignedPins(after.config, saved.config),
  };
}

/** The present fragments, before them the next revision of one: those who follow it find this one first. */
const withNext =
  (present: FragmentSource, next: FragmentRow): FragmentSource =>
  async (uses) => [next, ...(await present(uses))];
