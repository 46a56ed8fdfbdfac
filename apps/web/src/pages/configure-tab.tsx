import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { FailureNote, Waiting } from '../parts/messages.tsx';
import { machineView } from '../view/machine-status.ts';
import { ConfigDesk } from './config-desk.tsx';
import { useMachine } from './machine-query.ts';
import { useConfigSchema } from './schema-query.ts';

/** CONFIGURE: the wanted configuration as JSON. */
export function ConfigureTab() {
  const machine = useMachine().data?.machine;
  const schema = useConfigSchema();
  const partId = machine?.partId ?? '';
  const saved = useQuery(
    FleetService.method.getConfig,
    { partId },
    // What somebody edits is not replaced behind their back; the desk says when there is a newer one.
    { enabled: partId !== '', staleTime: Infinity, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  );
  if (saved.error) return <FailureNote error={saved.error} />;
  if (schema.error) return <FailureNote error={schema.error} />;
  if (machine === undefined || saved.data === undefined || schema.data === undefined) return <Waiting />;
  const reload = async (): Promise<GetConfigResponse | undefined> => (await saved.refetch()).data;
  return (
    <ConfigDesk
      machine={machineView(machine)}
      saved={saved.data}
      newest={machine.wantedRevision}
      schema={schema.data}
      reload={reload}
    />
  );
}
