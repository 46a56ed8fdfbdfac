import type { JsonObject } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from '../failure.ts';
import { callOf, type Headers, type Outcome, outcomeOf, type Wire } from './ask.ts';
import type { Trial } from './matrix.ts';
import { answersOf, members, placed } from './rights.ts';
import type { Machine, World } from './world.ts';

/** What a configuration can open to its machine. */
type Opened = { config: JsonObject; isUsedBy(machine: Machine): Promise<boolean> };

const downloaded =
  ({ on, orgId, token }: World, name: string): Opened['isUsedBy'] =>
  async ({ part }) =>
    (
      await fetch(`${on.url}/packages/${orgId}/${name}/1.tar.gz`, {
        headers: { authorization: `Bearer ${await token(part)}` },
      })
    ).ok;

const packaged = (kind: 'ml_model' | 'ml_training', configOf: (of: string) => JsonObject) => async (world: World) => {
  const name = await world.freshPackage(kind);
  return { config: configOf(`${world.orgId}/${name}`), isUsedBy: downloaded(world, name) };
};

const modelEntry = (of: string) => ({ packages: [{ name: 'x', package: of, type: 'ml_model', version: '1' }] });

const opened = {
  model: packaged('ml_model', modelEntry),
  'script of another type': packaged('ml_training', modelEntry),
  module: packaged('ml_model', (of) => ({
    modules: [{ name: 'x', module_id: of, type: 'registry', version: '1' }],
  })),
  'model in a fragment': async (world: World) => {
    const name = await world.freshPackage('ml_model');
    const id = await world.freshFragment(modelEntry(`${world.orgId}/${name}`));
    return { config: { fragments: [id] }, isUsedBy: downloaded(world, name) };
  },
  dataset: async ({ on, freshDataset }: World) => {
    const id = await freshDataset();
    return {
      config: { services: [{ name: 'data', type: 'data_manager', attributes: { dataset_ids: [id] } }] },
      isUsedBy: async ({ part, partId }: Machine) =>
        (await failure(
          (await on.client(DataSyncService, part)).dataCaptureUpload({
            metadata: { partId, type: 1, datasetIds: [id] },
            sensorContents: [{ data: { case: 'binary', value: Buffer.from('image') } }],
          }),
        )) === 'no failure',
    };
  },
} satisfies Record<string, (world: World) => Promise<Opened>>;

/** A call that saves a configuration. `before`: what happened to the machine earlier. */
type Saving = {
  method: typeof FleetService.method.saveConfig | typeof AppService.method.updateRobotPart;
  message(partId: string, config: JsonObject): JsonObject;
  before?(world: World, partId: string, config: JsonObject): Promise<void>;
};

const savings = {
  SaveConfig: {
    method: FleetService.method.saveConfig,
    message: (partId, config) => ({ partId, configJson: JSON.stringify(config) }),
  },
  'restore of an old revision': {
    method: FleetService.method.saveConfig,
    message: (partId, config) => ({ partId, configJson: JSON.stringify(config) }),
    async before({ on }, partId, config) {
      const fleet = await on.client(FleetService);
      for (const one of [config, {}, { note: 1 }]) await fleet.saveConfig({ partId, configJson: JSON.stringify(one) });
      // Long enough ago for datasets, too.
      await sql`update config_revision set saved_on = now() - interval '40 days' where part_id = ${partId}`.execute(
        on.db,
      );
    },
  },
  UpdateRobotPart: {
    method: AppService.method.updateRobotPart,
    message: (id, robotConfig) => ({ id, robotConfig }),
  },
  'UpdateRobotPart with text': {
    method: AppService.method.updateRobotPart,
    message: (id, config) => ({ id, robotConfigJson: JSON.stringify(config) }),
  },
} satisfies Record<string, Saving>;

/** Members may save the names; who has rights on the machine only gets INVALID_CONFIG. */
const answers = answersOf({
  ok: members,
  invalid: ['operator of the machine', 'owner of the machine', ...placed],
});

/** First every caller saves a configuration, then its machine uses what it names. */
export const trialsOfSteps = (world: World, wire: Wire): Trial[] =>
  (Object.entries(savings) as [string, Saving][]).flatMap(([how, by]) =>
    (Object.entries(opened) as [string, (world: World) => Promise<Opened>][]).map(([thing, open]): Trial => ({
      what: `${thing} by ${how}`,
      answers,
      ofUnauthenticated: () => 'not authenticated',
      prepare: () => prepared(world, wire, by, open),
    })),
  );

async function prepared(world: World, wire: Wire, by: Saving, open: (world: World) => Promise<Opened>) {
  const machine = await world.freshMachine();
  const { config, isUsedBy } = await open(world);
  await by.before?.(world, machine.partId, config);
  const message = by.message(machine.partId, config);
  const send = async (headers: Headers): Promise<Outcome> => {
    const call = callOf(by.method, [message], { 'connect-protocol-version': '1', ...headers });
    const outcome = outcomeOf(await wire.send(call));
    const isUsed = await isUsedBy(machine);
    if (isUsed === (outcome.code === 'ok')) return outcome;
    return { ...outcome, code: `${outcome.code}, and the machine ${isUsed ? 'uses' : 'cannot use'} it;` };
  };
  return { text: JSON.stringify(message).slice(0, 300), subject: { machine }, send };
}
