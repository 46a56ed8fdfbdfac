import type { MessageInitShape } from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors/errors';
import type {
  ListMachineFacetsRequest,
  ListMachineFacetsResponseSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { facetFields, isListedField, type ListedField } from '@platform/contract/machine/facets';
import { requireQuery } from '@platform/contract/machine/filter';
import { organizationFor } from '../access/places.ts';
import { type Caller, reachOf } from '../access/rules/permissions.ts';
import { machineFacets } from '../machines/store/machine-facets.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { contactsOf } from './machine-list.ts';

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
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'containing',
      value: JSON.stringify(containing.slice(0, 40)),
      limit: `at most ${longestText} characters without NUL`,
    });
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
