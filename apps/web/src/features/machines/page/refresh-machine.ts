import { createConnectQueryKey } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQueryClient } from '@tanstack/react-query';

const queryKey = createConnectQueryKey({ schema: FleetService.method.getMachine, cardinality: 'finite' });

/** Reads machines again after a change: the answer shows what was ordered. */
export function useRefreshMachine(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey });
}
