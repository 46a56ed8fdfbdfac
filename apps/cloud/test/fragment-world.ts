// A server with one machine, and short ways to make fragments and to see what the machine gets of them.
import type { JsonObject } from '@bufbuild/protobuf';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { insertKey } from '../src/access/store/keys.ts';
import { type Credentials, testServer } from './server.ts';

export async function fragmentWorld() {
  const on = await testServer();
  const { orgId, db } = on;
  const { machineId, partId, part } = await on.machine('barn');
  const fleet = await on.client(FleetService);
  const app = await on.client(AppService);
  const fragment = async (name: string, config: object, extra: object = {}): Promise<string> => {
    const made = await app.createFragment({
      organizationId: orgId,
      name,
      configJson: JSON.stringify(config),
      ...extra,
    });
    return made.fragment?.id ?? '';
  };
  const change = (id: string, config: object, extra: object = {}) =>
    app.updateFragment({ id, configJson: JSON.stringify(config), ...extra });
  const save = (config: object, as = fleet, to = partId) =>
    as.saveConfig({ partId: to, configJson: JSON.stringify(config) });
  /** What the agent of the machine gets. */
  const agent = async (): Promise<JsonObject | undefined> =>
    (await (await on.client(AgentDeviceService, part)).deviceAgentConfig({ id: partId })).agent;
  const keyOf = async (
    role: 'owner' | 'operator',
    resource: 'organization' | 'location' | 'robot',
    resourceId: string,
  ): Promise<Credentials> => {
    const { id, key } = await insertKey(db, { orgId, name: 'k', grants: [{ role, resource, resourceId, orgId }] });
    return { type: 'api-key', entity: id, payload: key };
  };
  return {
    on,
    machineId,
    partId,
    part,
    fleet,
    app,
    fragment,
    change,
    save,
    agent,
    keyOf,
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}

export const settings = (values: object) => ({ agent: { advanced_settings: values } });
