import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { mostTags, readTag } from '@platform/contract/machine/tags';
import { callerOf } from '../access/caller.ts';
import type { Caller } from '../access/rules/permissions.ts';
import { changed } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import { operatedMainPart } from '../machines/part-access.ts';
import { changeTags } from '../machines/store/machine-tags.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

interface TagChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** @throws PlatformError INVALID_ARGUMENT */
export function requireTagChange({ add, remove }: TagChange): TagChange {
  const change = { add: requireTags('add', add), remove: requireTags('remove', remove) };
  if (change.add.length + change.remove.length > 0) return change;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'add', value: 'no tag', limit: 'a tag to add or to remove' });
}

function requireTags(field: string, texts: readonly string[]): string[] {
  if (texts.length > mostTags)
    throw new PlatformError('INVALID_ARGUMENT', { field, value: `${texts.length} tags`, limit: `at most ${mostTags}` });
  return texts.map((text) => {
    const read = readTag(text);
    if ('tag' in read) return read.tag;
    throw invalidArgument(field, JSON.stringify(text.slice(0, 40)), read.problem);
  });
}

/** @returns all tags of the machine. @param change - checked by `requireTagChange`. */
export const tagMachine = (
  deps: Pick<FleetDeps, 'db' | 'changes'>,
  caller: Caller,
  { orgId, machineId }: { orgId: string; machineId: string },
  change: TagChange,
): Promise<string[]> =>
  audited(deps, caller, async (trx, record) => {
    const { before, after } = await changeTags(trx, machineId, change);
    const details = changed({ tags: before.join(' ') }, { tags: after.join(' ') });
    if (details) await record({ orgId, action: 'tag machine', subject: machineId, details });
    return after;
  });

export const tagHandlers = (deps: FleetDeps) =>
  ({
    async tagMachine({ id, add, remove }, context) {
      const caller = callerOf(context);
      const part = await operatedMainPart(deps.db, caller, id);
      return { tags: await tagMachine(deps, caller, part, requireTagChange({ add, remove })) };
    },
  }) satisfies Partial<ServiceImpl<typeof FleetService>>;
