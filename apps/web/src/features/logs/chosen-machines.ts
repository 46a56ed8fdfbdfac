import { createQueryOptions, useQuery, useTransport } from '@connectrpc/connect-query';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { mostMachines } from '@platform/contract/logs/query';
import { useQueries } from '@tanstack/react-query';
import type { LogMachine } from './log-machines.ts';
import { useSession } from '../../entities/session/session.tsx';
import { idsOf, type SeveralSearch } from './several-search.ts';

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
export function useChosenMachines(search: SeveralSearch): Chosen {
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
