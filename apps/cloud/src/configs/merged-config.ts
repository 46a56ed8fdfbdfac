import type { Problem } from '@platform/contract/config/config';
import { configLimitBytes, parseConfigText } from '@platform/contract/config/text';
import {
  type FragmentUse,
  placedProblem,
  readFragmentUses,
  resolveFragments,
} from '@platform/contract/config/fragments';
import { type Caller, isMember, reachOf } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import type { JsonObject, UsedFragment } from '../database/schema.ts';
import type { ConfigRow } from './store/configs.ts';
import { findFragments, type FragmentRow, usedWithin } from './store/fragments.ts';

/** Finds the fragments of a configuration; what the caller may not use is left out. */
export type FragmentSource = (uses: readonly FragmentUse[]) => Promise<readonly FragmentRow[]>;

/** A configuration with its fragments. */
export type MergedConfig = {
  config: JsonObject;
  problems: Problem[];
  /** In the order in which they were merged. */
  used: UsedFragment[];
  /** Identify the contents of the fragments. */
  hashes: Buffer[];
  /** A problem of the merged configuration at its place in the own one. */
  placed: (problem: Problem) => Problem;
};

/** @param source - undefined: the machine is not known, so the fragments stay unmerged. */
export async function mergeFragments(own: JsonObject, source: FragmentSource | undefined): Promise<MergedConfig> {
  const unmerged = { config: own, problems: [], used: [], hashes: [], placed: (problem: Problem) => problem };
  if (!source || (own['fragments'] === undefined && own['fragment_mods'] === undefined)) return unmerged;
  const { uses } = readFragmentUses(own);
  const rows = await source(uses);
  const rowOf = ({ id, version }: FragmentUse): FragmentRow | undefined =>
    rows.find((row) => row.id === id && row.revision === (version ?? row.newest));
  const { config, problems, sourceOf } = resolveFragments(own, rowOf);
  const tooLarge = uses.length > 0 ? sizeProblems(config) : [];
  // What is too large for a machine is not looked into.
  if (tooLarge.length > 0) return { ...unmerged, problems: tooLarge };
  const found = uses.flatMap((use) => {
    const row = rowOf(use);
    return row ? [{ row, isPinned: use.version !== undefined }] : [];
  });
  return {
    config: { ...config },
    problems: [...problems],
    used: found.map(({ row: { id, name, revision }, isPinned }) => ({ id, name, revision, isPinned })),
    hashes: found.map(({ row }) => row.sha256),
    placed: (problem) => placedProblem(problem, sourceOf),
  };
}

/** A machine reads the merged configuration whole. */
function sizeProblems(config: object): Problem[] {
  const text = JSON.stringify(config);
  const sizeBytes = Buffer.byteLength(text);
  const parsed = parseConfigText(text);
  const remedy = 'Use fewer or smaller fragments.';
  if (sizeBytes > configLimitBytes) {
    const message = `make a configuration of ${sizeBytes} bytes; the limit is ${configLimitBytes} bytes.`;
    return [{ path: 'fragments', message, remedy, severity: 'error' }];
  }
  return parsed.is === 'problem' ? [{ ...parsed.problem, path: 'fragments' }] : [];
}

/**
 * The fragments that the caller may use in the configuration of the part: those of the organization for its members; for
 * others those that a machine uses which they may operate.
 *
 * @param newest - the newest configuration of the part, whose fragments stay usable.
 */
export const fragmentsFor =
  (db: Database, caller: Caller, orgId: string, newest: () => Promise<ConfigRow | undefined>): FragmentSource =>
  async (uses) => {
    const found = await findFragments(db, orgId, namesOf(uses));
    if (found.length === 0 || isMember(caller, orgId)) return found;
    const known = new Set(((await newest())?.fragments ?? []).map(({ id }) => id));
    const unknown = found.map(({ id }) => id).filter((id) => !known.has(id));
    const used = await usedWithin(db, unknown, reachOf(caller));
    return found.filter(({ id }) => known.has(id) || used.has(id));
  };

/** All fragments of the organization, for configurations that are saved already. */
export const fragmentsOf =
  (db: Database, orgId: string): FragmentSource =>
  (uses) =>
    findFragments(db, orgId, namesOf(uses));

const namesOf = (uses: readonly FragmentUse[]) => uses.map(({ id, version }) => ({ id, revision: version }));
