import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { fieldsFrom, typedAt, writtenValue } from '@platform/contract/machine/facets';
import { exampleOf, parseMachineQuery } from '@platform/contract/machine/query';
import { useDebounced } from '../../../ui/time.tsx';
import { formatCount } from '../../../ui/quantities.ts';

export interface Suggestion {
  /** The place of the query that it replaces. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly hint: string;
}

const most = 8;
const settleMs = 120;

/** What may be meant at the caret: fields by their first letters, or the values that machines have, the most frequent first. */
export function useSuggestions({
  query,
  caret,
  organizationId,
}: {
  query: string;
  caret: number | undefined;
  organizationId: string;
}): readonly Suggestion[] {
  const typed = caret === undefined ? undefined : typedAt(query, caret);
  const value = typed?.is === 'value' ? typed : undefined;
  // Machines of the other words: a value that none of them has would find nothing.
  const rest = value ? query.slice(0, value.start).replace(/-$/, '') + query.slice(value.end) : '';
  const request = useDebounced(
    JSON.stringify({
      query: parseMachineQuery(rest).problem ? '' : rest.trim(),
      fields: [value?.field ?? ''],
      containing: value?.text ?? '',
    }),
    settleMs,
  );
  const found = useQuery(
    FleetService.method.listMachineFacets,
    { organizationId, ...(JSON.parse(request) as { query: string; fields: string[]; containing: string }) },
    { enabled: value !== undefined && !request.includes('[""]'), staleTime: 5_000 },
  );
  if (typed?.is === 'name')
    return fieldsFrom(typed.text)
      .slice(0, most)
      .map(({ field, description }) => ({ ...typed, text: startOf(field), hint: description }));
  if (!value) return [];
  const { field, start, end } = value;
  const [facet] = found.data?.facets ?? [];
  if (facet?.field !== field) return [];
  const written = facet.values.map(({ value: known, machines }) => ({
    start,
    end,
    text: writtenValue(field, known),
    hint: formatCount(machines, 'machine'),
  }));
  return written.slice(0, most).filter(({ text }) => text !== query.slice(start, end));
}

/** The field with the operator of its example: "state:", "seen>". */
const startOf = (field: Parameters<typeof exampleOf>[0]): string =>
  /^[a-z_]+[!<>=~:]+/.exec(exampleOf(field))?.[0].replace('~', ':') ?? field;
