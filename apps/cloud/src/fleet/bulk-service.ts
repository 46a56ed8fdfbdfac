import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  BulkMachineState,
  type BulkOperationSchema,
  BulkService,
} from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { callerOf } from '../access/caller.ts';
import { organizationFor } from '../access/places.ts';
import { belongsTo, type Caller, isMember } from '../access/rules/permissions.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import {
  bulkCounts,
  bulkMachines,
  type BulkOperationRow,
  type BulkState,
  claimBulkMachines,
  findBulkOperation,
  insertBulkOperation,
  listBulkOperations,
  returnClaims,
  saveBulkResult,
  stopBulkOperation,
} from '../machines/store/bulk-operations.ts';
import { bulkToken, pageOf, readBulkToken } from '../rpc/rules/page-tokens.ts';
import { applyBulkChange, evaluateTarget, readChange, requireBulkKind, storedChange } from './bulk-changes.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { type BulkKind, type BulkOutcome, reasonsOf } from './rules/bulk-outcomes.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const states = {
  waiting: BulkMachineState.WAITING,
  done: BulkMachineState.DONE,
  unchanged: BulkMachineState.UNCHANGED,
  refused: BulkMachineState.REFUSED,
  failed: BulkMachineState.FAILED,
} as const satisfies Record<BulkState, BulkMachineState>;
const stateOf = (wire: BulkMachineState): BulkState | undefined =>
  (Object.keys(states) as BulkState[]).find((state) => states[state] === wire);

const countOf = (outcomes: readonly BulkOutcome[], is: BulkOutcome['is']): number =>
  outcomes.filter((outcome) => outcome.is === is).length;

/** The operation, for members of its organization and for who started it. @throws PlatformError */
async function bulkOperationFor({ db }: FleetDeps, caller: Caller, id: string): Promise<BulkOperationRow> {
  const found = await findBulkOperation(db, id);
  const absent = new PlatformError('BULK_OPERATION_NOT_FOUND', { operationId: id });
  if (!found || !belongsTo(caller, found.orgId)) throw absent;
  if (isMember(caller, found.orgId) || found.starterId === caller.id) return found;
  throw absent;
}

async function messagesOf({ db }: FleetDeps, rows: readonly BulkOperationRow[]) {
  const counts = await bulkCounts(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row): MessageInitShape<typeof BulkOperationSchema> => {
    const own = counts.get(row.id);
    const { waiting = 0, done = 0, unchanged = 0, refused = 0, failed = 0 } = own ?? {};
    return {
      id: row.id,
      organizationId: row.orgId,
      number: row.number,
      change: readChange(row.change),
      query: row.query,
      startedBy: row.startedBy,
      startedOn: timestampFromMs(row.startedOn),
      ...(row.stoppedOn !== null && { stoppedOn: timestampFromMs(row.stoppedOn), stoppedBy: row.stoppedBy }),
      waiting,
      done,
      unchanged,
      refused,
      failed,
    };
  });
}

async function messageOf(deps: FleetDeps, id: string) {
  const row = await findBulkOperation(deps.db, id);
  if (!row) throw new PlatformError('BULK_OPERATION_NOT_FOUND', { operationId: id });
  const [operation] = await messagesOf(deps, [row]);
  return operation ? { operation } : {};
}

const planHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async previewBulkOperation({ target, change }, context) {
      const caller = callerOf(context);
      const kind = await requireBulkKind(deps, caller, { change, orgId: target?.organizationId ?? '' });
      const { candidates, outcomes } = await evaluateTarget(deps, caller, { target, kind });
      return {
        targets: candidates.length,
        changing: countOf(outcomes, 'changing'),
        unchanged: countOf(outcomes, 'unchanged'),
        refused: countOf(outcomes, 'refused'),
        refusals: reasonsOf(candidates, outcomes, (one) =>
          one.is === 'refused' ? { code: one.code, text: one.reason } : undefined,
        ),
        notes: reasonsOf(candidates, outcomes, (one) =>
          one.is === 'changing' && one.note !== undefined ? { code: '', text: one.note } : undefined,
        ),
      };
    },
    async startBulkOperation({ target, change, expectedChanging: expected }, context) {
      const caller = callerOf(context);
      const kind = await requireBulkKind(deps, caller, { change, orgId: target?.organizationId ?? '' });
      const { orgId, query, candidates, outcomes } = await evaluateTarget(deps, caller, { target, kind });
      const changing = countOf(outcomes, 'changing');
      if (expected > 0 && expected !== changing) throw new PlatformError('BULK_TARGET_CHANGED', { changing, expected });
      if (changing === 0)
        throw invalidArgument('target', 'no machine would change', 'at least one; PreviewBulkOperation says why');
      const machines = candidates.map(({ id, name }, index) => ({
        machineId: id,
        name,
        ...initialState(outcomes[index]),
      }));
      const id = await audited(deps, caller, async (trx, record) => {
        const operation = {
          orgId,
          query,
          change: storedChange(change),
          startedBy: actorOf(caller),
          starterId: caller.id,
        };
        const made = await insertBulkOperation(trx, operation, machines);
        const details = { change: kind.is, query, machines: changing };
        await record({ orgId, action: 'start bulk operation', subject: made, details });
        return made;
      });
      return messageOf(deps, id);
    },
    async listBulkOperations({ organizationId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      const { rows, isCut } = await listBulkOperations(db, id, isMember(caller, id) ? undefined : caller.id);
      return { operations: await messagesOf(deps, rows), truncated: isCut };
    },
  } satisfies Partial<ServiceImpl<typeof BulkService>>;
};

function initialState(outcome: BulkOutcome | undefined): { state: BulkState; code: string; reason: string } {
  if (outcome?.is === 'refused') return { state: 'refused', code: outcome.code, reason: outcome.reason };
  return { state: outcome?.is === 'unchanged' ? 'unchanged' : 'waiting', code: '', reason: '' };
}

const mostAtOnce = 100;
/** A call returns after about this time, so that progress shows and a stop acts. */
const stepMs = 1_000;

/** Claims machines. If other calls have all that wait, it waits for a step: callers repeat the call at once. */
async function claimed(
  { db, clock }: FleetDeps,
  { id, stoppedOn }: BulkOperationRow,
  most: number,
  signal: AbortSignal,
): Promise<{ place: number; machineId: string }[]> {
  const found = await claimBulkMachines(db, id, most);
  if (found.length > 0 || stoppedOn !== null) return found;
  const { waiting = 0 } = (await bulkCounts(db, [id])).get(id) ?? {};
  if (waiting === 0) return [];
  await clock.sleep(stepMs, signal);
  return signal.aborted ? [] : claimBulkMachines(db, id, most);
}

/** Changes the next machines that wait. */
async function runSome(
  deps: FleetDeps,
  caller: Caller,
  { operation, most, signal }: { operation: BulkOperationRow; most: number; signal: AbortSignal },
): Promise<void> {
  const kind = await requireBulkKind(deps, caller, { change: readChange(operation.change), orgId: operation.orgId });
  const next = await claimed(deps, operation, most, signal);
  const started = deps.clock.now();
  for (const [index, { place, machineId }] of next.entries()) {
    if (index > 0 && deps.clock.now() - started > stepMs) {
      const left = next.slice(index).map((one) => one.place);
      return returnClaims(deps.db, operation.id, left);
    }
    await saveBulkResult(deps.db, operation.id, place, await resultOf(deps, caller, machineId, kind));
  }
}

async function resultOf(deps: FleetDeps, caller: Caller, machineId: string, kind: BulkKind) {
  try {
    await applyBulkChange(deps, caller, machineId, kind);
    return { state: 'done', code: '', reason: '' } as const;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    // A call before this one deleted it, and ended before it could say so.
    if (kind.is === 'delete' && error.code === 'MACHINE_NOT_FOUND')
      return { state: 'done', code: '', reason: '' } as const;
    return { state: 'failed', code: error.code, reason: error.what } as const;
  }
}

const runHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async runBulkOperation({ id, most }, context) {
      const caller = callerOf(context);
      const operation = await bulkOperationFor(deps, caller, id);
      if (most > mostAtOnce)
        throw new PlatformError('INVALID_ARGUMENT', { field: 'most', value: most, limit: `at most ${mostAtOnce}` });
      await runSome(deps, caller, { operation, most: most || mostAtOnce, signal: context.signal });
      return messageOf(deps, operation.id);
    },
    async stopBulkOperation({ id }, context) {
      const caller = callerOf(context);
      const operation = await bulkOperationFor(deps, caller, id);
      await audited(deps, caller, async (trx, record) => {
        if (await stopBulkOperation(trx, operation.id, actorOf(caller)))
          await record({ orgId: operation.orgId, action: 'stop bulk operation', subject: operation.id });
      });
      return messageOf(deps, operation.id);
    },
    async getBulkOperation({ id }, context) {
      const operation = await bulkOperationFor(deps, callerOf(context), id);
      return messageOf(deps, operation.id);
    },
    async listBulkMachines(request, context) {
      const operation = await bulkOperationFor(deps, callerOf(context), request.id);
      const { after = 0, size } = pageOf(request, readBulkToken);
      const limit = size || longestPage;
      const page = { state: stateOf(request.state), after, limit: limit + 1 };
      const rows = await bulkMachines(db, operation.id, page);
      const shown = rows.slice(0, limit);
      return {
        machines: shown.map((row) => ({
          machineId: row.machineId,
          name: row.name,
          state: states[row.state],
          code: row.code,
          reason: row.reason,
          ...(row.changedOn !== null && { changedOn: timestampFromMs(row.changedOn) }),
        })),
        nextPageToken: rows.length > limit ? bulkToken(shown.at(-1)?.place ?? 0) : '',
      };
    },
  } satisfies Partial<ServiceImpl<typeof BulkService>>;
};

const longestPage = 1_000;

export const bulkRoutes =
  (deps: FleetDeps) =>
  (router: ConnectRouter): void => {
    router.service(BulkService, { ...planHandlers(deps), ...runHandlers(deps) });
  };
