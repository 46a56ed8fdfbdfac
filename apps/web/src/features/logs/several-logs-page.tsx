import { useQuery, createQueryOptions, useTransport } from '@connectrpc/connect-query';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { mostMachines } from '@platform/contract/logs/query';
import { parseMachineQuery } from '@platform/contract/machine/query';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import type { LogMachine } from './log-machines.ts';
import { Logs, type WriteSearch } from './logs-tab.tsx';
import { TextField } from '../../ui/fields.tsx';
import { CrossIcon, MachineIcon } from '../../ui/icons.tsx';
import { BackLink } from '../../ui/layout.tsx';
import { EmptyState, FailureNote, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/time.tsx';
import { UserText } from '../../ui/isolated-text.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { formatCount, formatGrouped } from '../../ui/quantities.ts';
import { isolateText } from '../../ui/user-text.ts';
import { type SeveralSearch, withLines, withMachines, idsOf } from './several-search.ts';
import './several-logs.css';

const route = getRouteApi('/machines/logs');
const settleMs = 200;

/** The lines of several machines on one axis of time. */
export function SeveralLogsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const chosen = useChosenMachines(search);
  const { machines, unknown } = chosen;
  const write = useCallback<WriteSearch>(
    (next, replace = false) =>
      void navigate({ search: (before) => withLines(before, next), replace, resetScroll: false }),
    [navigate],
  );
  const choose = (ids: readonly string[]): void =>
    void navigate({ search: (before) => withMachines(before, ids), replace: true, resetScroll: false });
  return (
    <div className="page">
      <title>Logs of machines · Platform</title>
      <div className="page-head">
        <div>
          <BackLink to="/machines" {...(search.of !== undefined && { search: { q: search.of } })}>
            Machines
          </BackLink>
          <h1>{machines.length === 0 ? 'Logs of machines' : `Logs of ${formatCount(machines.length, 'machine')}`}</h1>
          <OfQuery search={search} matching={chosen.matching} />
        </div>
      </div>
      <Legend machines={machines} unknown={unknown} onChoose={choose} />
      {chosen.error !== undefined && <FailureNote error={chosen.error} />}
      {machines.length > 0 ? (
        <Logs machines={machines} search={search} write={write} />
      ) : chosen.isLoading ? (
        <Loading />
      ) : (
        chosen.error === undefined && <NoMachines isQuery={search.of !== undefined} />
      )}
    </div>
  );
}

/** Which of the machines of a query are shown. */
function OfQuery({ search: { of }, matching }: { search: SeveralSearch; matching: number | undefined }) {
  if (of === undefined || matching === undefined) return null;
  const isCut = matching > mostMachines;
  return (
    <p className="soft" role="status">
      {isCut ? `The first ${mostMachines} by name of ` : ''}
      {formatGrouped(matching)} {matching === 1 ? 'machine' : 'machines'}
      {of !== '' && (
        <>
          {' '}
          that match <code className="break">{of}</code>
        </>
      )}
      {isCut && '. Add words to the filter of the list to choose others.'}
    </p>
  );
}

interface LegendProps {
  machines: readonly LogMachine[];
  unknown: readonly string[];
  onChoose: (ids: readonly string[]) => void;
}

/** The machines with their colors, and a field that adds one. */
function Legend({ machines, unknown, onChoose }: LegendProps) {
  const ids = [...machines.map(({ id }) => id), ...unknown];
  const without = (id: string): void => onChoose(ids.filter((one) => one !== id));
  return (
    <div className="log-legend">
      <ul aria-label="Machines">
        {machines.map(({ id, name }, index) => (
          <li key={id} className={`log-machine log-machine-${index}`}>
            <Link to="/machines/$machineId/logs" params={{ machineId: id }}>
              <UserText text={name} />
            </Link>
            <RemoveButton name={isolateText(name)} onPress={() => without(id)} />
          </li>
        ))}
        {unknown.map((id) => (
          <li key={id} className="soft">
            <span className="mono">{id.slice(0, 40)}</span> is not there
            <RemoveButton name={id.slice(0, 40)} onPress={() => without(id)} />
          </li>
        ))}
      </ul>
      {ids.length < mostMachines && <AddMachine chosen={ids} onAdd={(id) => onChoose([...ids, id])} />}
    </div>
  );
}

const RemoveButton = ({ name, onPress }: { name: string; onPress: () => void }) => (
  <button
    type="button"
    className="button button-quiet button-small button-icon"
    aria-label={`Without ${name}`}
    onClick={onPress}
  >
    <CrossIcon />
  </button>
);

/** The browser offers names while the user types. */
function AddMachine({ chosen, onAdd }: { chosen: readonly string[]; onAdd: (id: string) => void }) {
  const { organizationId } = useSession().organization;
  const [typed, setTyped] = useState('');
  const words = useDebounced(typed, settleMs).trim();
  const query = parseMachineQuery(words).problem ? '' : words;
  const list = useQuery(
    FleetService.method.listMachines,
    { organizationId, query, pageSize: 2 * mostMachines },
    // While another word loads, the names of the one before stay.
    { placeholderData: keepPreviousData },
  );
  const others = (list.data?.machines ?? []).filter(({ id }) => !chosen.includes(id));
  const found = typed.trim() === '' ? undefined : others.find(({ name }) => name === typed.trim());
  return (
    <form
      className="log-add"
      onSubmit={(event) => {
        event.preventDefault();
        if (!found) return;
        setTyped('');
        onAdd(found.id);
      }}
    >
      <TextField
        label="Add a machine by its name"
        value={typed}
        onChange={setTyped}
        list={others.map(({ name }) => name)}
      />
      <button type="submit" className="button" disabled={!found}>
        Add
      </button>
    </form>
  );
}

const NoMachines = ({ isQuery }: { isQuery: boolean }) => (
  <div className="card">
    <EmptyState icon={<MachineIcon />} title={isQuery ? 'No machine matches' : 'No machines are chosen'}>
      <p>Add one by its name, or select up to {mostMachines} in the list of machines and press Logs.</p>
      <Link to="/machines" className="button">
        Select machines
      </Link>
    </EmptyState>
  </div>
);

interface Chosen {
  machines: readonly LogMachine[];
  /** How many match the query, of which there are the first ones; undefined without a query. */
  matching: number | undefined;
  /** IDs that name no machine which the user may see. */
  unknown: readonly string[];
  error: unknown;
  isLoading: boolean;
}

const toLogMachine = ({ id, partId, name }: Machine): LogMachine => ({ id, partId, name });

/** The machines of the URL. */
function useChosenMachines(search: SeveralSearch): Chosen {
  const transport = useTransport();
  const { organizationId } = useSession().organization;
  const ids = idsOf(search);
  const { of } = search;
  const found = useQueries({
    queries: ids.map((id) => ({
      ...createQueryOptions(FleetService.method.getMachine, { id }, { transport }),
      staleTime: Infinity,
    })),
  });
  const list = useQuery(
    FleetService.method.listMachines,
    { organizationId, query: of ?? '', pageSize: mostMachines },
    { enabled: of !== undefined, staleTime: Infinity },
  );
  if (of !== undefined)
    return {
      machines: (list.data?.machines ?? []).map(toLogMachine),
      matching: list.data?.matching,
      unknown: [],
      error: list.error ?? undefined,
      isLoading: list.isPending,
    };
  return {
    machines: found.flatMap(({ data }) => (data?.machine ? [toLogMachine(data.machine)] : [])),
    matching: undefined,
    unknown: ids.filter((_, index) => found[index]?.isError),
    error: found.find(({ error }) => error)?.error ?? undefined,
    isLoading: found.some(({ isPending }) => isPending),
  };
}
