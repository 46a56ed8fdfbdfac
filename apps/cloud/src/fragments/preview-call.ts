import type { ServiceImpl } from '@connectrpc/connect';
import { ConfigChangeKind, type FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { callerOf } from '../access/caller.ts';
import { problemMessage } from '../configs/config-saving.ts';
import { ownedFragment } from './fragment-access.ts';
import { type FragmentEffect, fragmentEffects } from './fragment-effects.ts';
import { type FragmentDeps, nextOf } from './fragment-saving.ts';
import { readFragment } from './rules/fragment-text.ts';

const kinds = {
  added: ConfigChangeKind.ADDED,
  removed: ConfigChangeKind.REMOVED,
  changed: ConfigChangeKind.CHANGED,
} as const;

const mostMachines = 500;
const mostOfEach = 100;

/** The call that says what saving a fragment would change, and where. */
export const fragmentPreview = (deps: Omit<FragmentDeps, 'changes'>) =>
  ({
    async previewFragment({ fragmentId, configJson }, context) {
      const caller = callerOf(context);
      const fragment = await ownedFragment(deps.db, caller, fragmentId);
      const read = readFragment(configJson, fragment.text);
      const problems = read.problems.map(problemMessage);
      if (read.problems.some(({ severity }) => severity === 'error')) return { problems };
      const effects = await fragmentEffects(deps, caller, nextOf(deps, caller, fragment, { ...read, comment: '' }));
      const sorted = effects.toSorted((a, b) => Number(b.errors.length > 0) - Number(a.errors.length > 0));
      return {
        problems,
        machineCount: effects.length,
        machines: sorted.slice(0, mostMachines).map(effectMessage),
        truncated: effects.length > mostMachines,
      };
    },
  }) satisfies Partial<ServiceImpl<typeof FleetService>>;

const effectMessage = ({ machineId, machineName, partId, partName, changes, errors }: FragmentEffect) => ({
  machineId,
  machineName,
  partId,
  partName,
  changes: changes.slice(0, mostOfEach).map(({ path, kind }) => ({ path, kind: kinds[kind] })),
  changeCount: changes.length,
  problems: errors.slice(0, mostOfEach).map(problemMessage),
});
