// Owners and operators of one location can read it and its machines, and no other location.
import assert from 'node:assert/strict';
import test from 'node:test';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { insertLocation } from '../src/access/store/organizations.ts';
import { insertKey } from '../src/access/store/keys.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer } from './server.ts';

const denied = 'PermissionDenied PERMISSION_DENIED';
const unknown = 'NotFound LOCATION_NOT_FOUND';

test('a right on one location shows it, its machines and no other location', async () => {
  await using on = await testServer();
  const { orgId, db } = on;
  const outer = on.server.firstRun.locationId;
  await insertLocation(db, { id: 'inner00000', orgId, name: 'Inner', parentLocationId: outer });
  await insertLocation(db, { id: 'deepest000', orgId, name: 'Deepest', parentLocationId: 'inner00000' });
  const owner = await on.client(AppService);
  await on.machine('outer');
  const ids: Record<string, string> = {};
  for (const [name, location] of [
    ['inner', 'inner00000'],
    ['deepest', 'deepest000'],
  ] as const)
    ids[name] = (await owner.newRobot({ name, location })).id;
  const keyOn = async (role: 'owner' | 'operator', ...locations: string[]): Promise<Credentials> => {
    const grants = locations.map((resourceId) => ({ role, resource: 'location' as const, resourceId, orgId }));
    const { id, key } = await insertKey(db, { orgId, name: `${role} of ${locations.join()}`, grants });
    return { type: 'api-key', entity: id, payload: key };
  };
  for (const role of ['owner', 'operator'] as const) {
    const app = await on.client(AppService, await keyOn(role, 'inner00000'));
    const { location } = await app.getLocation({ locationId: 'inner00000' });
    assert.deepEqual([location?.name, location?.robotCount, location?.parentLocationId], ['Inner', 1, ''], role);
    const listed = await app.listRobots({ locationId: 'inner00000' });
    assert.deepEqual([listed.robots.map(({ name }) => name), listed.truncated], [['inner'], false]);
    const listedToo = await app.listRobotsForLocations({ locationIds: ['inner00000'] });
    assert.deepEqual(
      listedToo.robots.map(({ id }) => id),
      [ids['inner']],
    );
    const { part } = await app.getRobotPartByNameAndLocation({ name: 'inner-main', locationId: 'inner00000' });
    assert.deepEqual([part?.robot, part?.secret !== ''], [ids['inner'], role === 'owner']);
    for (const [locationId, name, refusal] of [
      [outer, 'outer-main', denied],
      ['deepest000', 'deepest-main', denied],
      ['nowhere000', 'x', unknown],
    ] as const) {
      assert.equal(await failure(app.getLocation({ locationId })), refusal);
      assert.equal(await failure(app.listRobots({ locationId })), refusal);
      assert.equal(await failure(app.listRobotsForLocations({ locationIds: ['inner00000', locationId] })), refusal);
      assert.equal(await failure(app.getRobotPartByNameAndLocation({ name, locationId })), refusal);
    }
    assert.equal(
      await failure(app.getRobotPartByNameAndLocation({ name: 'outer-main', locationId: 'inner00000' })),
      'NotFound PART_NOT_FOUND',
    );
  }
  const both = await on.client(AppService, await keyOn('operator', 'inner00000', outer));
  assert.equal((await both.getLocation({ locationId: 'inner00000' })).location?.parentLocationId, outer);
});
