import { useQuery } from '@connectrpc/connect-query';
import { FleetService, type MachineFacet } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  isListedField,
  type ListedField,
  presenceOf,
  toggledTerm,
  writtenValue,
} from '@platform/contract/machine/facets';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import type { CSSProperties } from 'react';
import { useSession } from '../../../entities/session/session.tsx';
import { useLostSince } from '../../../ui/contact.tsx';
import { formatGrouped } from '../../../ui/quantities.ts';
import { knownState } from '../../../ui/server-contact.ts';

interface FacetListProps {
  query: string;
  onQuery: (query: string) => void;
}

const titles: Readonly<Partial<Record<ListedField, string>>> = {
  state: 'State',
  condition: 'Condition',
  tag: 'Tag',
  location: 'Location',
  server: 'Server',
  agent: 'Agent',
};
const refreshMs = 15_000;
const shownValues = 5;

/** How many of the found machines have which values; a click adds the value to the query or removes it. */
export function FacetList({ query, onQuery }: FacetListProps) {
  const { organizationId } = useSession().organization;
  const { data } = useQuery(
    FleetService.method.listMachineFacets,
    { organizationId, query },
    { refetchInterval: refreshMs, placeholderData: keepPreviousData },
  );
  return (
    <aside className="facets" aria-label="Facets">
      {(data?.facets ?? [])
        .filter(({ values }) => values.length > 0)
        .map((facet) => (
          <FacetGroup key={facet.field} facet={facet} query={query} onQuery={onQuery} />
        ))}
    </aside>
  );
}

const stateOrder = ['offline', 'awaiting', 'online', 'uninstalled'];
/** As the table has them. */
const stateTexts: Readonly<Record<string, string>> = {
  offline: 'Offline',
  awaiting: 'Awaiting setup',
  online: 'Online',
  uninstalled: 'Uninstalled',
};
const stateText = (state: string, isLost: boolean): string =>
  knownState({ tone: 'quiet', text: stateTexts[state] ?? state }, isLost).text;

function FacetGroup({ facet: { field, values, more }, query, onQuery }: FacetListProps & { facet: MachineFacet }) {
  const [isOpen, setOpen] = useState(false);
  const isLost = useLostSince() !== undefined;
  if (!isListedField(field)) return null;
  const ordered =
    field === 'state' ? values.toSorted((a, b) => stateOrder.indexOf(a.value) - stateOrder.indexOf(b.value)) : values;
  const shown = isOpen ? ordered : ordered.slice(0, shownValues);
  const hidden = values.length - shown.length + more;
  const most = Math.max(...values.map(({ machines }) => machines));
  return (
    <section>
      <h2>{titles[field] ?? field}</h2>
      <ul>
        {shown.map(({ value, machines }) => {
          const term = writtenValue(field, value);
          const presence = presenceOf(query, term);
          const text = field === 'state' ? stateText(value, isLost) : value;
          return (
            <li key={value}>
              <button
                type="button"
                className="facet"
                aria-pressed={presence !== 'absent'}
                title={presence === 'excluded' ? `without ${text}` : `${text}; with Alt: without it`}
                style={{ '--share': machines / most } as CSSProperties}
                onClick={({ altKey }) => onQuery(toggledTerm(query, altKey ? `-${term}` : term))}
              >
                <span className="facet-value">{text}</span>
                <span className="soft">{formatGrouped(machines)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {hidden > 0 && !isOpen && (
        <button type="button" className="link-button small" onClick={() => setOpen(true)}>
          {hidden} more
        </button>
      )}
      {isOpen && more > 0 && (
        <p className="soft small">
          {more} more: type {field}: to find them
        </p>
      )}
    </section>
  );
}
