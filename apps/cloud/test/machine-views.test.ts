// Named queries of the list of machines, which the members of an organization share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('a view is saved, replaced by its name and deleted; what cannot be shown is refused', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const organizationId = on.orgId;
  const save = (view: { name: string; query?: string; sort?: string; columns?: string }) =>
    fleet.saveMachineView({ organizationId, view });
  const listed = async () =>
    (await fleet.listMachineViews({ organizationId })).views.map((view) => [
      view.name,
      view.query,
      view.sort,
      view.columns,
    ]);
  await save({ name: ' Offline ', query: 'state:offline', sort: '-seen', columns: 'name,seen' });
  await save({ name: 'All' });
  assert.deepEqual(await listed(), [
    ['All', '', '', ''],
    ['Offline', 'state:offline', '-seen', 'name,seen'],
  ]);
  await save({ name: 'Offline', query: 'tag:barn' });
  assert.deepEqual((await listed())[1], ['Offline', 'tag:barn', '', '']);
  for (const wrong of [
    { name: '' },
    { name: 'a', query: 'stat:x' },
    { name: 'a', sort: 'x' },
    { name: 'a', columns: '<' },
  ])
    assert.match(await failure(save(wrong)), /^InvalidArgument/, JSON.stringify(wrong));
  await fleet.deleteMachineView({ organizationId, name: 'Offline' });
  for (let n = 1; n < 50; n += 1) await save({ name: `v${n}` });
  assert.equal(await failure(save({ name: 'one more' })), 'InvalidArgument INVALID_ARGUMENT');
  assert.equal((await listed()).length, 50);
});
