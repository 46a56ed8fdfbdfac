import { changedTags, mostTags } from '@platform/contract/machine/tags';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Trx } from '../../database/database.ts';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

/** @throws PlatformError INVALID_ARGUMENT: too many tags, MACHINE_NOT_FOUND */
export async function changeTags(
  trx: Trx,
  machineId: string,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
): Promise<{ before: string[]; after: string[] }> {
  const machine = await trx
    .selectFrom('machine')
    .select('tags')
    .where('id', '=', machineId)
    .forUpdate()
    .executeTakeFirst();
  if (!machine) throw new PlatformError('MACHINE_NOT_FOUND', { machineId });
  const after = changedTags(machine.tags, add, remove);
  if (after.length > mostTags) {
    const value = `${after.length} tags`;
    throw invalidArgument('add', value, `at most ${mostTags} tags of a machine`);
  }
  await trx.updateTable('machine').set({ tags: after }).where('id', '=', machineId).execute();
  return { before: machine.tags, after };
}
