import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import {
  FleetService,
  type ListMachinesResponse,
  type Machine,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type Query, useQueries, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { pagesKey } from '../../../ui/paged-list.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { pagesOf, refreshMsOf, rowsOfPage, type RowRange } from '../../../ui/row-pages.ts';

const method = FleetService.method.listMachines;

export interface MachineList {
  /** Machines that the caller may see, and those of them that match; undefined: not known yet. */
  counts: { total: number; matching: number } | undefined;
  error: Error | null;
  /** The machine at a place of the list; undefined: it is not loaded yet. */
  machineAt: (index: number) => Machine | undefined;
  /** Loads these rows and keeps them up to date, in place of those before. */
  setVisible: (range: RowRange) => void;
}

/** The list of machines of a query, of which only the visible pages are loaded. */
export function useMachineList({
  query,
  sort,
  isEnabled,
}: {
  query: string;
  sort: string;
  isEnabled: boolean;
}): MachineList {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
  const queries = useQueryClient();
  const [visible, setVisible] = useState<RowRange>({ first: 0, last: 0 });
  // The first page always has the counts.
  const pages = [...new Set([0, ...pagesOf(visible)])];
  const isVisible = (page: number): boolean => pagesOf(visible).includes(page);
  const found = useQueries({
    queries: pages.map((page) => ({
      queryKey: [...pagesKey(method), organizationId, query, sort, page],
      enabled: isEnabled,
      queryFn: async ({ signal, queryKey }: { signal: AbortSignal; queryKey: readonly unknown[] }) => {
        const known = queries.getQueryData<ListMachinesResponse>(queryKey);
        const place = { pageSize: rowsOfPage, skip: page * rowsOfPage };
        const request = { organizationId, query, sort, ...place, knownFingerprint: known?.fingerprint ?? '' };
        const answer = await callUnaryMethod(transport, method, create(method.input, request), { signal });
        return answer.unchanged && known ? known : answer;
      },
      refetchInterval: ({ state }: Query<ListMachinesResponse>) =>
        isVisible(page) && refreshMsOf(state.data?.matching ?? 0),
      // While another query loads, the rows of the one before stay.
      placeholderData: (last?: ListMachinesResponse, of?: { queryKey: readonly unknown[] }) =>
        of?.queryKey.at(-1) === page ? last : undefined,
    })),
  });
  const newest = found.filter(({ data }) => data).toSorted((a, b) => b.dataUpdatedAt - a.dataUpdatedAt)[0]?.data;
  const byPage = new Map(pages.map((page, index) => [page, found[index]?.data?.machines]));
  return {
    counts: isEnabled && newest ? { total: newest.total, matching: newest.matching } : undefined,
    error: isEnabled ? (found.find(({ error }) => error)?.error ?? null) : null,
    machineAt: (index) => byPage.get(Math.floor(index / rowsOfPage))?.[index % rowsOfPage],
    setVisible,
  };
}
