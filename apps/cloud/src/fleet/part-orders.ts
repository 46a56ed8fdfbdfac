import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { type FleetService, OrderKind, type PartOrderSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { callerOf } from '../access/caller.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import { operatedPart } from '../machines/part-access.ts';
import { hasOtherAgent, machineFacts, reportOf } from '../machines/rules/machine-facts.ts';
import { deriveOrder, orderKinds, type PartOrderRow, type StoredKind } from '../machines/rules/part-orders.ts';
import { sharedIdentities } from '../machines/shared-identities.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { insertOrder, readOrders } from '../machines/store/part-orders.ts';
import type { FleetDeps } from './fleet-deps.ts';

type OrderMessage = MessageInitShape<typeof PartOrderSchema>;

function orderMessage(order: PartOrderRow, now: number): OrderMessage[] {
  const derived = deriveOrder(order, now);
  if (!derived) return [];
  const { state, since, reason, until } = derived;
  return [
    {
      id: order.id,
      kind: orderKinds[order.kind],
      state,
      requestedBy: order.requestedBy,
      requestedOn: timestampFromMs(order.requestedOn),
      since: timestampFromMs(since),
      reason,
      ...(until !== undefined && { until: timestampFromMs(until) }),
    },
  ];
}

/** The newest order of each kind, of the last day. */
export const orderMessages = async (
  { db, clock }: Pick<FleetDeps, 'db' | 'clock'>,
  partId: string,
): Promise<OrderMessage[]> => (await readOrders(db, partId)).flatMap((order) => orderMessage(order, clock.wall()));

type OrderedKind = Exclude<StoredKind, 'restart server'>;
const ordered: Readonly<Record<OrderedKind, OrderKind>> = {
  'restart agent': OrderKind.RESTART_AGENT,
  reboot: OrderKind.REBOOT,
};

/** @throws PlatformError ORDER_UNSUPPORTED: each computer with these credentials would do it, and one would report it */
async function requireOneComputer(deps: FleetDeps, part: PartRow, kind: OrderedKind): Promise<void> {
  if ((await sharedIdentities(deps, [part.id])).get(part.id)?.computers === undefined) return;
  const problem = 'several computers use its credentials, and each of them would do it. Split the machine first';
  throw new PlatformError('ORDER_UNSUPPORTED', { name: part.machineName, order: kind, problem });
}

/** @throws PlatformError ORDER_UNSUPPORTED: it could not succeed */
function requireKnown(part: PartRow, kind: OrderedKind): void {
  const report = reportOf(part);
  if (report?.knownOrders.includes(ordered[kind]) === true && !hasOtherAgent(part)) return;
  const version = machineFacts(part).agent?.version ?? report?.agent?.runningVersion ?? '';
  const problem = hasOtherAgent(part)
    ? 'it runs the agent of another product'
    : report === undefined
      ? 'no agent has reported for it yet'
      : report.knownOrders.length === 0
        ? `its agent ${version} is too old, or nothing starts it again`
        : `its agent ${version} cannot do it on this machine`;
  throw new PlatformError('ORDER_UNSUPPORTED', { name: part.machineName, order: kind, problem });
}

export const orderHandlers = (deps: FleetDeps) => {
  const { db, clock } = deps;
  return {
    async orderPart({ partId, kind: asked }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      const kind = (Object.keys(ordered) as OrderedKind[]).find((one) => ordered[one] === asked);
      if (!kind) {
        const limit = 'RESTART_AGENT or REBOOT; RestartPart restarts the machine server';
        throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: asked, limit });
      }
      requireKnown(part, kind);
      await requireOneComputer(deps, part, kind);
      const order = await audited(deps, caller, async (trx, record) => {
        await record({ orgId: part.orgId, action: `order ${kind}`, subject: part.id }, ['part', part.id]);
        return insertOrder(trx, { partId: part.id, orgId: part.orgId, kind, requestedBy: actorOf(caller) });
      });
      const [message] = orderMessage(order, clock.wall());
      return { ...(message && { order: message }) };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};
