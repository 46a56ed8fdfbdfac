import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi } from '@tanstack/react-router';
import { isLasting } from '../view/failures.ts';

const route = getRouteApi('/machines/$machineId');
const refreshMs = 1000;

/** The machine of the page URL, refreshed regularly while it exists. */
export function useMachine() {
  const { machineId } = route.useParams();
  return useQuery(
    FleetService.method.getMachine,
    { id: machineId },
    { refetchInterval: ({ state }) => !isLasting(state.error) && refreshMs },
  );
}
