import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { callUnaryMethod, createConnectQueryKey, useTransport } from '@connectrpc/connect-query';
import {
  ConditionService,
  type GetOverviewResponse,
  type ListConditionsRequestSchema,
  type ListConditionsResponse,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLostSince } from '../../ui/contact.tsx';
import { useNow } from '../../ui/time.tsx';
import { useSession } from '../session/session.tsx';

const refreshMs = 2_000;
/** An answer that is older says nothing of now. */
const holdsMs = 30_000;

const { listConditions, getOverview } = ConditionService.method;

/** Conditions of a filter. Unchanged ones do not cross the line again. */
export function useConditions(filter: Omit<MessageInitShape<typeof ListConditionsRequestSchema>, '$typeName'>) {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
  const queries = useQueryClient();
  return useQuery({
    queryKey: [...conditionKey, organizationId, 'list', JSON.stringify(filter)],
    queryFn: async ({ signal, queryKey }): Promise<ListConditionsResponse> => {
      const known = queries.getQueryData<ListConditionsResponse>(queryKey);
      const request = { ...filter, organizationId, knownFingerprint: known?.fingerprint ?? '' };
      const answer = await callUnaryMethod(transport, listConditions, create(listConditions.input, request), {
        signal,
      });
      return answer.unchanged && known ? measuredAgain(known, answer) : answer;
    },
    refetchInterval: refreshMs,
    placeholderData: (last) => last,
  });
}

export function useOverview() {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
  const queries = useQueryClient();
  return useQuery({
    queryKey: [...conditionKey, organizationId, 'overview'],
    queryFn: async ({ signal, queryKey }): Promise<GetOverviewResponse> => {
      const known = queries.getQueryData<GetOverviewResponse>(queryKey);
      const request = { organizationId, knownFingerprint: known?.fingerprint ?? '' };
      const answer = await callUnaryMethod(transport, getOverview, create(getOverview.input, request), { signal });
      return answer.unchanged && known ? measuredAgain(known, answer) : answer;
    },
    refetchInterval: refreshMs,
  });
}

const conditionKey = createConnectQueryKey({ schema: ConditionService, cardinality: 'finite' });

/** The same answer, with the time of the newest measurement; a server that has just started has none. */
function measuredAgain<T extends Pick<GetOverviewResponse, 'measuredOn' | 'measurementLate'>>(known: T, now: T): T {
  const next = { ...known, measurementLate: now.measurementLate };
  if (now.measuredOn) next.measuredOn = now.measuredOn;
  else delete next.measuredOn;
  return next;
}

/** What is shown after a change: everything about conditions is read again. */
export function useConditionsAgain(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: conditionKey });
}

/** Whether an answer of that time (of this browser) still says what is now. */
export function useIsCurrent(updatedAt: number): boolean {
  const isLost = useLostSince() !== undefined;
  return !isLost && useNow() - updatedAt < holdsMs;
}
