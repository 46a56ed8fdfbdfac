// Owners of another organization mix ids of both organizations: no request reads, changes or deletes foreign data.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { JsonObject } from '@bufbuild/protobuf';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import { callOf, outcomeOf, pathOf, wireTo } from './attack/ask.ts';
import { changes, contentsOf } from './attack/contents.ts';
import type { Right } from './attack/rights.ts';
import { rightsOfData } from './attack/rights-of-data.ts';
import { rightsOfMachines } from './attack/rights-of-machines.ts';
import { rightsOfTraining } from './attack/rights-of-training.ts';
import { routedCalls } from './attack/routed.ts';
import { makeWorld, mark, type World } from './attack/world.ts';

/** Maps ids of the attacked organization to the attacker's own of the same kind. Longest first: some contain others. */
async function counterparts(world: World): Promise<Map<string, string>> {
  const { on, foreign } = world;
  const as = { token: await world.token(foreign.owner) };
  const dataset = await (
    await on.client(DatasetService, as)
  ).createDataset({ organizationId: foreign.orgId, name: 'theirs' });
  const { binaryDataId } = await (
    await on.client(DataSyncService, as)
  ).dataCaptureUpload({
    metadata: { partId: foreign.machine.partId, type: 1, datasetIds: [dataset.id] },
    sensorContents: [{ data: { case: 'binary', value: Buffer.from('theirs') } }],
  });
  const pairs: [string, string][] = [
    [world.dataId, binaryDataId],
    [world.looseId, binaryDataId],
    [world.orgId, foreign.orgId],
    [world.locationId, foreign.locationId],
    [world.elsewhereId, foreign.locationId],
    [world.machine.machineId, foreign.machine.machineId],
    [world.machine.partId, foreign.machine.partId],
    [world.datasetId, dataset.id],
    [world.otherDatasetId, dataset.id],
  ];
  return new Map(pairs.toSorted(([a], [b]) => b.length - a.length));
}

/** Replaces all ids by the attacker's own, except some. */
function mixtures(text: string, own: ReadonlyMap<string, string>): string[] {
  const named = [...own.keys()].filter((id) => text.includes(id));
  const replaced = (ids: readonly string[]): string =>
    ids.reduce((found, id) => found.replaceAll(id, own.get(id) ?? ''), text);
  const found = named.flatMap((kept) => [replaced(named.filter((id) => id !== kept)), replaced([kept])]);
  return [...new Set([replaced(named), ...found])];
}

test('things of two organizations in one request: what is foreign is neither shown nor changed', async (t) => {
  await using world = await makeWorld();
  using wire = wireTo(world.on.url);
  const own = await counterparts(world);
  const headers = {
    authorization: `Bearer ${await world.token(world.foreign.owner)}`,
    'connect-protocol-version': '1',
  };
  const methods = new Map((await routedCalls(wire)).map((method) => [pathOf(method).slice(1), method]));
  const rights: readonly Right[] = [...rightsOfData, ...rightsOfMachines, ...rightsOfTraining];
  const contents = await contentsOf(world.on.db, world.on.server.dataFolder);
  const counts = { requests: 0, answered: 0 };
  const wrong: string[] = [];
  for (const { call, ask } of rights.filter((_, index) => index % attackRounds(1, 4) === 0)) {
    const method = methods.get(call);
    assert.ok(method, call);
    const { messages } = await ask(world);
    const before = await contents(world.foreign.orgId);
    for (const text of mixtures(JSON.stringify(messages), own)) {
      const outcome = outcomeOf(await wire.send(callOf(method, JSON.parse(text) as JsonObject[], headers)));
      counts.requests++;
      if (outcome.code === 'ok') counts.answered++;
      if (outcome.bytes.includes(mark)) wrong.push(`${call} shows what is foreign: ${text.slice(0, 400)}`);
      if (['internal', 'unknown'].includes(outcome.code)) wrong.push(`${call} fails: ${text.slice(0, 400)}`);
    }
    // Files have no owner: the attacker's own uploads are among them.
    const after = await contents(world.foreign.orgId);
    for (const change of changes({ ...before, blobs: '', change: '' }, { ...after, blobs: '', change: '' }))
      wrong.push(`${call} changed what is foreign: ${change}`);
  }
  t.diagnostic(JSON.stringify(counts));
  for (const line of wrong) t.diagnostic(line);
  assert.equal(wrong.length, 0, 'the lines above name them');
  assert.ok(counts.answered > 0, 'requests of the attacker alone succeed');
});
