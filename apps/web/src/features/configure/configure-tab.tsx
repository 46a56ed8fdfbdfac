import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { DefaultsOfMachine } from './form/default-source.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { machineView } from '../../entities/machine/machine-status.ts';
import { ConfigPanel } from './config-panel.tsx';
import { useDraftStart } from './draft/kept-draft.ts';
import { useMachine } from '../../entities/machine/machine-query.ts';
import { useConfigSchema } from './schema/schema-query.ts';
import { ServerSchemas } from './schema/server-schemas.tsx';

/** CONFIGURE: the desired configuration as JSON. */
export function ConfigureTab() {
  const machine = useMachine().data?.machine;
  return machine === undefined ? <Loading /> : <ConfigureMachine key={machine.partId} machine={machine} />;
}

function ConfigureMachine({ machine }: { machine: Machine }) {
  const { partId } = machine;
  const schema = useConfigSchema();
  const [opened, setOpened] = useState(0);
  const saved = useQuery(
    FleetService.method.getConfig,
    { partId },
    // The text being edited is never replaced; the panel reports a newer revision.
    { staleTime: Infinity, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  );
  // The revision that the page opened with: a later one must not begin the editor anew.
  const [first, setFirst] = useState<GetConfigResponse>();
  if (first === undefined && saved.data !== undefined) setFirst(saved.data);
  const start = useDraftStart(partId, first);
  const error = (first === undefined ? saved.error : null) ?? schema.error ?? start.error;
  if (error) return <FailureNote error={error} />;
  if (schema.data === undefined || start.data === undefined) return <Loading />;
  const reload = async (): Promise<GetConfigResponse | undefined> => (await saved.refetch()).data;
  const restart = async (): Promise<void> => {
    const newest = await reload();
    if (newest !== undefined && newest.revision !== first?.revision) setFirst(newest);
    else await start.refetch();
    setOpened((count) => count + 1);
  };
  return (
    <ServerSchemas partId={partId}>
      <DefaultsOfMachine machine={machine}>
        <ConfigPanel
          key={`${opened} ${start.data.kept?.keptAt ?? 0}`}
          machine={machineView(machine)}
          start={start.data}
          newest={machine.wantedRevision}
          schema={schema.data}
          reload={reload}
          restart={() => void restart()}
        />
      </DefaultsOfMachine>
    </ServerSchemas>
  );
}
