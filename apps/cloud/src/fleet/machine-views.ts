import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService, MachineView } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { requireQuery } from '@platform/contract/machine/filter';
import { parseSort } from '@platform/contract/machine/sort';
import { callerOf } from '../access/caller.ts';
import { organizationFor } from '../access/places.ts';
import { requireMember } from '../access/rules/permissions.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import { deleteMachineView, listMachineViews, mostViews, saveMachineView } from '../machines/store/machine-views.ts';
import { requiredName } from '../rpc/fields.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { operatedPart } from '../machines/part-access.ts';
import { answeredSamples, intervalOf, timedSamples } from '../machines/rules/samples.ts';
import { readSamples } from '../machines/store/samples.ts';
import { msOf } from '../rpc/protobuf-times.ts';

/** Calls for the named queries of an organization. */
export const viewHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async listMachineViews({ organizationId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      requireMember(caller, id);
      const views = await listMachineViews(db, id);
      return {
        views: views.map(({ name, query, sort, columns, savedBy, savedOn }) => ({
          name,
          query,
          sort,
          columns,
          savedBy,
          savedOn: timestampFromMs(savedOn),
        })),
      };
    },
    async saveMachineView({ organizationId, view }, context) {
      const caller = callerOf(context);
      const { id: orgId } = await organizationFor(db, caller, organizationId);
      requireMember(caller, orgId);
      const checked = requireView(view);
      await audited(deps, caller, async (trx, record) => {
        const isSaved = await saveMachineView(trx, { orgId, ...checked, savedBy: actorOf(caller) });
        if (!isSaved) throw invalid('name', `view ${mostViews + 1}`, `at most ${mostViews} views of an organization`);
        await record({ orgId, action: 'save machine view', subject: checked.name, details: { query: checked.query } });
      });
      return {};
    },
    async deleteMachineView({ organizationId, name }, context) {
      const caller = callerOf(context);
      const { id: orgId } = await organizationFor(db, caller, organizationId);
      requireMember(caller, orgId);
      await audited(deps, caller, async (trx, record) => {
        if (await deleteMachineView(trx, orgId, name))
          await record({ orgId, action: 'delete machine view', subject: name });
      });
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

const invalid = (field: string, value: string, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });

const longestColumns = 300;

function requireView(view: MachineView | undefined): { name: string; query: string; sort: string; columns: string } {
  const { name = '', query = '', sort = '', columns = '' } = view ?? {};
  requireQuery(query);
  if (!parseSort(sort)) throw invalid('sort', JSON.stringify(sort.slice(0, 40)), 'an order of ListMachinesRequest');
  if (columns.length > longestColumns || !/^[a-z_,]*$/.test(columns))
    throw invalid('columns', JSON.stringify(columns.slice(0, 40)), 'names of columns, separated by commas');
  return { name: requiredName('name', name), query, sort, columns };
}

const dayMs = 24 * 3_600_000;
/** One day of single samples. */
const mostAnswered = 1_440;
const longestDays = 31;

export const sampleHandlers = ({ db, clock }: FleetDeps) =>
  ({
    async getMachineSamples(request, context) {
      const part = await operatedPart(db, callerOf(context), request.partId);
      const until = request.until ? msOf(request.until) : clock.wall();
      const from = request.from ? msOf(request.from) : until - dayMs;
      const most = request.most || mostAnswered;
      const refuse = (field: string, value: string, limit: string) =>
        new PlatformError('INVALID_ARGUMENT', { field, value, limit });
      if (most > mostAnswered) throw refuse('most', String(most), `1 to ${mostAnswered}`);
      if (!(from < until)) throw refuse('from', new Date(from).toISOString(), 'before until');
      if (until - from > longestDays * dayMs)
        throw refuse('from', new Date(from).toISOString(), `at most ${longestDays} days before until`);
      const span = { from, until };
      const interval = intervalOf(span, most);
      const batches = await readSamples(db, part.id, span);
      return {
        samples: answeredSamples(batches.flatMap(timedSamples), span, { interval, most }),
        ...(interval !== undefined && { interval: durationFromMs(interval) }),
      };
    },
  }) satisfies Partial<ServiceImpl<typeof FleetService>>;
