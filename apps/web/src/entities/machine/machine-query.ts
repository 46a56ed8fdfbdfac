import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi } from '@tanstack/react-router';
import { isLasting } from '../../ui/failures.ts';
import { useClock } from '../../ui/time.tsx';
import { machineRefreshMs } from './machine-refresh.ts';

const route = getRouteApi('/machines/$machineId');

/** The machine of the page URL, refreshed regularly while it exists. */
export function useMachine() {
  const { machineId } = route.useParams();
  const clock = useClock();
  return useQuery(
    FleetService.method.getMachine,
    { id: machineId },
    { refetchInterval: ({ state }) => !isLasting(state.error) && machineRefreshMs(state.data?.machine, clock.wall()) },
  );
}
