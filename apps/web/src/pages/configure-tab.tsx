import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { FailureNote, Loading } from '../parts/messages.tsx';
import { machineView } from '../view/machine-status.ts';
import { ConfigPanel } from './config-panel.tsx';
import { useMachine } from './machine-query.ts';
import { useConfigSchema } from './schema-query.ts';

/** CONFIGURE: the desired configuration as JSON. */
export function ConfigureTab() {
  const machine = useMachine().data?.machine;
  const schema = useConfigSchema();
  const partId = machine?.partId ?? '';
  const saved = useQuery(
    FleetService.method.getConfig,
    { partId },
    // The text being edited is never replaced; the panel reports a newer revision.
    { enabled: partId !== '', staleTime: Infinity, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  );
  if (saved.error) return <FailureNote error={saved.error} />;
  if (schema.error) return <FailureNote error={schema.error} />;
  if (machine === undefined || saved.data === undefined || schema.data === undefined) return <Loading />;
  const reload = async (): Promise<GetConfigResponse | undefined> => (await saved.refetch()).data;
  return (
    <ConfigPanel
      machine={machineView(machine)}
      saved={saved.data}
      newest={machine.wantedRevision}
      schema={schema.data}
      reload={reload}
    />
  );
}
