// State of a machine that was copied or put back, as the server receives it. Two rows for each kind of state: two
// machines go on from one copied folder, and one machine goes on from the state of yesterday.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import {
  type AgentReportSchema,
  FleetService,
  type SampleBatchSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { dataServiceFor, dataset, upload } from './captured-uploads.ts';
import { testServer } from './server.ts';
import { trainingServer } from './training-server.ts';

type Server = Awaited<ReturnType<typeof testServer>>;
type Batch = MessageInitShape<typeof SampleBatchSchema>;

const minute = 60_000;
const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
const noon = Math.floor(systemClock.wall() / minute) * minute - 3 * 60 * minute;

async function machineOf(on: Server, name: string) {
  const { machineId, partId, part } = await on.machine(name);
  const [agent, sync, robot] = [
    await on.client(AgentDeviceService, part),
    await on.client(DataSyncService, part),
    await on.client(RobotService, part),
  ];
  const fleet = await on.client(FleetService);
  return {
    fleet,
    partId,
    report: async (report: MessageInitShape<typeof AgentReportSchema>) =>
      void (await agent.deviceAgentConfig({ id: partId, hostInfo, report })),
    /** Checks for changes until an answer asks for this upgrade; 0: for none. */
    async untilAsked(upgrade: number): Promise<number> {
      let knownFingerprint = '';
      for (let checks = 0; checks < 5; checks++) {
        const wait = durationFromMs(10_000);
        const answer = await agent.deviceAgentConfig({ id: partId, hostInfo, knownFingerprint, wait });
        if (!answer.notModified && Number(answer.systemUpgrades) === upgrade) return upgrade;
        knownFingerprint = answer.fingerprint;
      }
      return assert.fail(`no answer asked for ${upgrade}`);
    },
    asked: async () => Number((await agent.deviceAgentConfig({ id: partId, hostInfo })).systemUpgrades),
    /** Samples `first` to `last` of a run, with a value that depends on its twin. */
    async samples(
      spoolId: string,
      first: number,
      last: number,
      { twin = 0, startMs = noon, isEstimated = false } = {},
    ) {
      const samples: Batch = {
        spoolId,
        firstSequence: BigInt(first),
        start: BigInt(startMs / 1000 + first * 60),
        samples: Array.from({ length: last - first + 1 }, (_, n) => ({
          seconds: n * 60,
          diskPermille: twin * 100 + first + n,
          timeEstimated: isEstimated,
        })),
      };
      await agent.deviceAgentConfig({ id: partId, hostInfo, samples });
    },
    async stored(): Promise<number> {
      const span = { from: timestampFromMs(noon - 60 * minute), until: timestampFromMs(noon + 90 * minute) };
      return (await fleet.getMachineSamples({ partId, ...span })).samples.length;
    },
    async repeated(): Promise<string> {
      const found = (await fleet.getMachine({ id: machineId })).machine?.conditions ?? [];
      return found.find(({ code }) => code === 'SPOOL_REPEATED')?.message.split(' arrived')[0] ?? '';
    },
    async capture(text: string, tookMs: number): Promise<string> {
      const time = timestampFromMs(tookMs);
      const { binaryDataId } = await sync.dataCaptureUpload({
        metadata: {
          partId,
          componentType: 'camera',
          componentName: 'cam',
          type: DataType.BINARY_SENSOR,
          fileName: 'cam.png',
        },
        sensorContents: [
          { metadata: { timeRequested: time, timeReceived: time }, data: { case: 'binary', value: Buffer.from(text) } },
        ],
      });
      return binaryDataId;
    },
    mustRestart: async () => (await robot.needsRestart({ id: partId })).mustRestart,
  };
}

type Machine = Awaited<ReturnType<typeof machineOf>>;

/** A row: what happens, and the right value. */
const rows: readonly [kind: string, what: string, happens: (of: Machine) => Promise<unknown>, right: unknown][] = [
  [
    'samples',
    'started twice: those that waited in the copy once, those of each computer all',
    async ({ samples, stored, repeated }) => {
      await samples('before the copy', 1, 3);
      for (const run of ['one', 'other']) {
        await samples('before the copy', 2, 3);
        await samples(run, 1, 2);
      }
      await samples('one', 2, 4);
      await samples('other', 2, 3);
      return [await stored(), await repeated()];
    },
    [3 + 4 + 3, ''],
  ],
  [
    'samples',
    'put back: those that waited yesterday once, the new ones all',
    async ({ samples, stored, repeated }) => {
      await samples('yesterday', 1, 5);
      await samples('today', 1, 5);
      await samples('yesterday', 3, 5);
      await samples('after', 1, 2);
      await samples('today', 4, 5);
      return [await stored(), await repeated()];
    },
    [5 + 5 + 2, ''],
  ],
  [
    'samples',
    'put back: some that were dropped since, offline for days, are not taken for stored ones',
    async ({ samples, stored, repeated }) => {
      await samples('yesterday', 11, 20);
      await samples('today', 1, 1);
      await samples('yesterday', 1, 20);
      await samples('yesterday', 8, 12);
      return [await stored(), await repeated()];
    },
    [20 + 1, ''],
  ],
  [
    'samples',
    'put back: one whose time was estimated then is the same sample',
    async ({ samples, stored, repeated }) => {
      await samples('yesterday', 1, 3);
      await samples('today', 1, 1);
      await samples('yesterday', 1, 3, { startMs: noon - 30 * minute, isEstimated: true });
      return [await stored(), await repeated()];
    },
    [3 + 1, ''],
  ],
  [
    'samples',
    'a memory snapshot resumed twice: different samples under one identity are all stored, each once, and counted',
    async ({ samples, stored, repeated }) => {
      await samples('run', 1, 3);
      for (let round = 0; round < 2; round++) {
        for (const twin of [1, 2, 3]) await samples('run', 3, 6, { twin });
      }
      return [await stored(), await repeated()];
    },
    [3 + 3 * 4, '9 samples'],
  ],
  [
    'captures',
    'started twice: the image that waited in the copy once, two of the same name and time both',
    async ({ capture }) => {
      const waited = [await capture('waited', noon), await capture('waited', noon)];
      const own = [await capture('one', noon + 1), await capture('other', noon + 1)];
      return [new Set(waited).size, new Set(own).size];
    },
    [1, 2],
  ],
  [
    'captures',
    'put back: images that were uploaded since yesterday are the same images',
    async ({ capture }) => {
      const first = [await capture('a', noon), await capture('b', noon + 1)];
      const again = [await capture('a', noon), await capture('b', noon + 1), await capture('c', noon + 2)];
      return [first[0] === again[0], first[1] === again[1], new Set([...first, ...again]).size];
    },
    [true, true, 3],
  ],
  [
    'restart',
    'started twice: one request restarts one computer',
    async ({ fleet, partId, mustRestart }) => {
      await fleet.restartPart({ partId });
      return Promise.all([mustRestart(), mustRestart()]).then((both) => both.filter(Boolean).length);
    },
    1,
  ],
  [
    'restart',
    'put back: a request that was taken is not given again',
    async ({ fleet, partId, mustRestart }) => {
      await fleet.restartPart({ partId });
      return [await mustRestart(), await mustRestart()];
    },
    [true, false],
  ],
  [
    'upgrade',
    'started twice, put back: a request that is reported as done is withdrawn; the next one counts',
    async ({ fleet, partId, report, asked, untilAsked }) => {
      await fleet.upgradeSystem({ partId });
      await untilAsked(1);
      await report({ systemUpgradesDone: 0n });
      const before = await asked();
      await report({ systemUpgradesDone: 1n });
      await untilAsked(0);
      // Now it has the count of the answer, or of yesterday.
      await report({ systemUpgradesDone: 0n });
      const after = await asked();
      await fleet.upgradeSystem({ partId });
      return [before, after, await untilAsked(2)];
    },
    [1, 0, 2],
  ],
  [
    'upgrade',
    'a server that was put back: what the machine did before does not hide later requests',
    async ({ fleet, partId, report, untilAsked }) => {
      await fleet.upgradeSystem({ partId });
      await report({ systemUpgradesDone: 7n });
      await untilAsked(0);
      await fleet.upgradeSystem({ partId });
      return untilAsked(2);
    },
    2,
  ],
];

test('state that was copied or put back', async (t) => {
  await using on = await testServer();
  for (const [n, [kind, what, happens, right]] of rows.entries())
    await t.test(`${kind}: ${what}`, async () => {
      assert.deepEqual(await happens(await machineOf(on, `machine ${n}`)), right);
    });
});

test('captures: put back: an image that a user took out of a dataset meanwhile stays out', async () => {
  await using server = await trainingServer();
  const datasetId = await dataset(server, 'parts');
  await server.configure(dataServiceFor(datasetId));
  const data = server.client(DataService, 'owner');
  const members = async (): Promise<bigint> =>
    (await data.binaryDataByFilter({ countOnly: true, dataRequest: { filter: { datasetId } } })).count;
  const image = { at: 1_700_000_000, bytes: Buffer.from('image'), datasetIds: [datasetId] };
  const id = await upload(server, image);
  assert.equal(await members(), 1n);
  await data.removeBinaryDataFromDatasetByIDs({ datasetId, binaryDataIds: [id] });
  assert.equal(await upload(server, image), id);
  assert.equal(await members(), 0n);
});
