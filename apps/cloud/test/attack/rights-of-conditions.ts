import { randomUUID } from 'node:crypto';
import { ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { machineOperators, machines, others, right, type Right, type Request } from './rights.ts';
import type { World } from './world.ts';

const call = (method: string): string => `platform.conditions.v1.ConditionService/${method}`;
/** Callers of the organization that see nothing of the machine. */
const unrelated = [...others, ...machines, 'runner'] as const;

/** A condition of a machine of its own. */
async function condition(world: World): Promise<{ id: string; machine: Awaited<ReturnType<World['freshMachine']>> }> {
  const machine = await world.freshMachine();
  const id = randomUUID();
  const of = {
    orgId: world.orgId,
    subject: 'machine' as const,
    subjectId: machine.machineId,
    machineId: machine.machineId,
  };
  await world.on.db
    .insertInto('conditionRecord')
    .values({
      id,
      ...of,
      subjectName: 'x',
      code: 'TRIED',
      place: '',
      severity: 2,
      message: 'x',
      remedy: 'x',
      beganOn: new Date() as never,
      endedOn: null,
    })
    .execute();
  return { id, machine };
}

const until = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** A mute that the owner of the organization made. */
async function muted(world: World): Promise<Request> {
  const { id, machine } = await condition(world);
  const conditions = await world.on.client(ConditionService);
  const seconds = BigInt(Math.floor(Date.now() / 1_000) + 3_600);
  const { mute } = await conditions.muteCondition({ id, reason: 'tried', until: { seconds } });
  return { machine, messages: [{ id: mute?.id ?? '' }] };
}

export const rightsOfConditions: readonly Right[] = [
  right(call('ListConditions'), { ok: [...machineOperators, ...unrelated] }, ({ orgId }) => ({
    organizationId: orgId,
    code: 'NONE',
  })),
  right(call('GetOverview'), { ok: [...machineOperators, ...unrelated] }, ({ orgId }) => ({ organizationId: orgId })),
  right(call('MuteCondition'), { ok: machineOperators }, async (world) => {
    const { id, machine } = await condition(world);
    return { machine, messages: [{ id, reason: 'tried', until: until() }] };
  }),
  right(call('UnmuteCondition'), { ok: machineOperators }, muted),
];
