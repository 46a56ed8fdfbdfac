import { createHash } from 'node:crypto';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type ListMachineFacetsRequest,
  type ListMachineFacetsResponseSchema,
  type ListMachinesRequest,
  type ListMachinesResponse,
  ListMachinesResponseSchema,
  type Machine,
  MachineSchema,
  OnlineState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { parseFilters, requireQuery } from '@platform/contract/machine/filter';
import { type MachineSort, parseSort, sortKeys } from '@platform/contract/machine/sort';
import { organizationFor } from '../access/places.ts';
import { type Caller, reachOf } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import { onlineForMs } from '../machines/rules/online.ts';
import { sharedIdentities } from '../machines/shared-identities.ts';
import {
  countedPage,
  countMachines,
  type MachineFilter,
  machinePage,
  type MachinePage,
  namedFilter,
} from '../machines/store/machine-lists.ts';
import { type Contacts, dependOnContacts } from '../machines/store/machine-terms.ts';
import { machineToken, pageOf, readMachineToken } from '../rpc/rules/page-tokens.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { machineMessage } from './machine-message.ts';
import { facetFields, isListedField, type ListedField } from '@platform/contract/machine/facets';
import { machineFacets } from '../machines/store/machine-facets.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** The machines that the caller may see and that match, a page of them in an order. */
export async function listMachines(
  deps: FleetDeps,
  request: ListMachinesRequest,
  caller: Caller,
): Promise<MessageInitShape<typeof ListMachinesResponseSchema>> {
  const { db } = deps;
  const sort = requireSort(request.sort);
  const comparisons = parseFilters(request.filters).map((comparison) => ({ comparison, isNegated: false }));
  const terms = [...comparisons, ...requireQuery(request.query)];
  const contacts = contactsOf(deps, dependOnContacts(terms, sort));
  const page = requirePage(request, sort, contacts);
  const { id: orgId } = await organizationFor(db, caller, request.organizationId);
  // `reach` limits the list to the machines and locations that the caller may see.
  const all = { reach: reachOf(caller), orgId, query: { terms, contacts } };
  const filter = request.named === '' ? all : await namedFilter(db, all, request.named);
  const { rows, isCut, ...counts } = await readPage(db, filter, page);
  const shared = await sharedIdentities(
    deps,
    rows.map(({ id }) => id),
  );
  const last = rows.at(-1);
  const next = isByName(sort) && last ? { name: last.machineName, id: last.machineId } : (page.skip ?? 0) + rows.length;
  const answer = create(ListMachinesResponseSchema, {
    machines: (await Promise.all(rows.map((part) => machineMessage(deps, part, { sharing: shared.get(part.id) })))).map(
      withoutDefaults,
    ),
    nextPageToken: isCut ? machineToken(next) : '',
    ...counts,
  });
  const fingerprint = fingerprintOf(answer);
  return fingerprint === request.knownFingerprint ? { fingerprint, unchanged: true } : { ...answer, fingerprint };
}

/** They are for the page of one machine, and long. */
function withoutDefaults(machine: MessageInitShape<typeof MachineSchema>): Machine {
  const { report, ...listed } = create(MachineSchema, machine);
  return report ? { ...listed, report: { ...report, deviceDefaults: undefined } } : listed;
}

/** Machines that are online are seen all the time. */
function fingerprintOf(answer: ListMachinesResponse): string {
  const machines = answer.machines.map((machine) => {
    const { lastSeen: _, ...rest } = machine;
    return machine.onlineState === OnlineState.ONLINE ? rest : machine;
  });
  const bytes = toBinary(ListMachinesResponseSchema, { ...answer, machines });
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
}

/** The first page comes with the numbers of all machines. */
async function readPage(db: Database, filter: MachineFilter, page: MachinePage & { isFirst: boolean }) {
  if (!page.isFirst) return machinePage(db, filter, page);
  if (filter.query?.terms.length === 0 && !page.sort)
    return { ...(await machinePage(db, filter, page)), ...(await countMachines(db, filter)) };
  const { total } = await countMachines(db, { reach: filter.reach, ...(filter.orgId && { orgId: filter.orgId }) });
  return { ...(await countedPage(db, filter, page)), total };
}

export const contactsOf = ({ presence, clock }: FleetDeps, areNeeded: boolean): Contacts => ({
  seen: areNeeded ? JSON.stringify(Object.fromEntries(presence.recent())) : '{}',
  now: clock.wall(),
  onlineMs: onlineForMs(presence.checkMs()),
});

const isByName = ({ by, isDescending }: MachineSort): boolean => by === 'name' && !isDescending;

/** @throws PlatformError INVALID_ARGUMENT */
function requireSort(text: string): MachineSort {
  const sort = parseSort(text);
  if (sort) return sort;
  const limit = `one of ${sortKeys.join(', ')}, with a leading "-" in descending order`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'sort', value: text.slice(0, 80), limit });
}

/** @throws PlatformError INVALID_ARGUMENT */
function requirePage(
  request: ListMachinesRequest,
  by: MachineSort,
  contacts: Contacts,
): MachinePage & { isFirst: boolean } {
  const { after, size } = pageOf(request, readMachineToken);
  const sort = isByName(by) ? undefined : { by, contacts };
  if (after === undefined) return { skip: request.skip, size, sort, isFirst: true };
  if (request.skip > 0) {
    const limit = '0 in a request with a page_token';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'skip', value: request.skip, limit });
  }
  if (typeof after === 'number') return { skip: after, size, sort, isFirst: false };
  if (sort) {
    const limit = 'a token of a page in the same order';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'page_token', value: request.pageToken.slice(0, 80), limit });
  }
  return { after, size, isFirst: false };
}

const longestText = 200;

/** The values of fields of the machines that the caller may see and that match. */
export async function listMachineFacets(
  deps: FleetDeps,
  { organizationId, query, fields, containing }: ListMachineFacetsRequest,
  caller: Caller,
): Promise<MessageInitShape<typeof ListMachineFacetsResponseSchema>> {
  const { db } = deps;
  const listed = fields.length === 0 ? facetFields : [...new Set(fields.map(requireListed))];
  if (containing.length > longestText || containing.includes('\0'))
    throw invalidArgument(
      'containing',
      JSON.stringify(containing.slice(0, 40)),
      `at most ${longestText} characters without NUL`,
    );
  const terms = requireQuery(query);
  const contacts = contactsOf(deps, true);
  const { id: orgId } = await organizationFor(db, caller, organizationId);
  const filter = { reach: reachOf(caller), orgId, query: { terms, contacts } };
  return { facets: await machineFacets(db, filter, { fields: listed, containing, contacts }).then(messagesOf) };
}

const messagesOf = (facets: Awaited<ReturnType<typeof machineFacets>>) =>
  facets.map(({ field, values, more }) => ({
    field,
    values: values.map(({ value, machines }) => ({ value, machines })),
    more,
  }));

function requireListed(field: string): ListedField {
  if (isListedField(field)) return field;
  const limit = 'a field whose values are listed, for example state or tag';
  throw new PlatformError('INVALID_ARGUMENT', { field: 'fields', value: JSON.stringify(field.slice(0, 40)), limit });
}
