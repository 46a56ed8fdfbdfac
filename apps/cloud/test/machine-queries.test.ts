// Queries of the list of machines: what matches, in which order, how many of how many, and for whom.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AgentReportSchema, FleetService, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { insertKey } from '../src/access/store/keys.ts';
import { insertLocation } from '../src/access/store/organizations.ts';
import { at } from '../src/database/database.ts';
import { reportFacts } from '../src/machines/rules/report-facts.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';

const hour = 3_600_000;
const hostInfo = { platform: 'linux/arm64', tags: ['platform-agent'] };
const location = 'lindau0000';

interface Given {
  name: string;
  /** Age of the last contact, stored; 'now': it checks in; absent: never. */
  seen?: number | 'now';
  isIn?: boolean;
  isUninstalled?: boolean;
  report?: MessageInitShape<typeof AgentReportSchema>;
}
const fleetOf: readonly Given[] = [
  {
    name: 'Barn a\u0308rmel',
    seen: 'now',
    report: {
      hostname: 'Pi-One',
      agent: { runningVersion: '0.2.0' },
      server: { runningVersion: '1.4.2' },
      conditions: [{ code: 'DISK_FULL', message: 'The disk is full.', severity: Severity.ERROR }],
    },
  },
  {
    name: 'barn 2',
    seen: 3 * hour,
    isIn: true,
    report: { hostname: 'pi-two', agent: { runningVersion: '0.10.0' }, server: { runningVersion: '1.2.0-rc.1' } },
  },
  {
    name: 'pump',
    seen: 200 * hour,
    isIn: true,
    report: { server: { runningVersion: '1.2.0' }, facts: { disk: { sizeBytes: 8_000_000_000n, freeBytes: 1_000n } } },
  },
  { name: 'gone', seen: 5 * hour, isUninstalled: true, report: { server: { runningVersion: 'main-4f2a' } } },
  { name: '50% off_' },
];

async function makeFleet(on: TestServer): Promise<Record<string, string>> {
  await insertLocation(on.db, { id: location, orgId: on.orgId, name: 'Hof Lindau', parentLocationId: null });
  const ids: Record<string, string> = {};
  for (const { name, seen, isIn, isUninstalled, report } of fleetOf) {
    const { machineId, partId, part } = await on.machine(name);
    ids[name] = machineId;
    if (isIn) await on.db.updateTable('machine').set({ locationId: location }).where('id', '=', machineId).execute();
    if (seen === 'now' && report)
      await (await on.client(AgentDeviceService, part)).deviceAgentConfig({ id: partId, hostInfo, report });
    if (typeof seen !== 'number') continue;
    const contact = at(systemClock.wall() - seen);
    const facts = JSON.stringify(report ? reportFacts(create(AgentReportSchema, report)) : {});
    await sql`update part set last_seen = ${contact}, facts = ${facts}::jsonb where id = ${partId}::uuid`.execute(
      on.db,
    );
    if (isUninstalled) await sql`update part set uninstalled_on = ${contact} where id = ${partId}::uuid`.execute(on.db);
  }
  return ids;
}

const [armel, two, pump, gone, off] = ['Barn a\u0308rmel', 'barn 2', 'pump', 'gone', '50% off_'];
const every = [off, armel, two, gone, pump];
const expectations: readonly (readonly [query: string, names: readonly (string | undefined)[]])[] = [
  ['', every],
  ['BARN', [armel, two]],
  ['\u00c4rmel', [armel]],
  ['\uff42\uff41\uff52\uff4e', [armel, two]],
  ['barn 2', [two]],
  ['pi-', [armel, two]],
  ['%', [off]],
  ['_', [off]],
  ['\\', []],
  ["'; drop table part; --", []],
  ['-barn', [off, gone, pump]],
  ['state:online', [armel]],
  ['state:offline', [two, pump]],
  ['state:awaiting', [off]],
  ['state:uninstalled', [gone]],
  ['-state:online', [off, two, gone, pump]],
  ['seen>7d', [pump]],
  ['seen<1h', [armel]],
  ['seen>1h', [two, gone, pump]],
  ['-seen<1d', [off, pump]],
  ['server<1.2.0', [two]],
  ['server<1.3', [two, pump]],
  ['server<=1.2', [two, pump]],
  ['server>1.2', [armel]],
  ['server:1.2', [two, pump]],
  ['server=1.2.0', [pump]],
  ['server:1.4.2', [armel]],
  ['server:main-4f2a', [gone]],
  ['server~main', [gone]],
  ['server!=1.2.0', [armel, two, gone]],
  ['agent>=0.2', [armel, two]],
  ['agent>0.2', [two]],
  ['condition:disk', [armel]],
  ['condition=DISK_FULL', [armel]],
  ['condition=DISK', []],
  ['location:lindau', [two, pump]],
  ['location:"hof l" -pump', [two]],
  ['-location:lindau', [off, armel, gone]],
  ['disk_free<2GB', [pump]],
  ['host:TWO', [two]],
  ['state:offline, server<1.2.0', [two]],
];

test('machines are found by words, state, versions, conditions, location and time', async () => {
  await using on = await testServer();
  const ids = await makeFleet(on);
  const fleet = await on.client(FleetService);
  const list = (query: string, more: { sort?: string; pageSize?: number; skip?: number; pageToken?: string } = {}) =>
    fleet.listMachines({ organizationId: on.orgId, query, ...more });
  const byId: readonly (readonly [string, readonly (string | undefined)[]])[] = [
    [ids['pump']!.slice(0, 8), [pump]],
    [`id:${ids['pump']!.toUpperCase()}`, [pump]],
  ];
  for (const [query, names] of [...expectations, ...byId]) {
    const { machines, total, matching } = await list(query);
    assert.deepEqual(
      machines.map(({ name }) => name),
      names,
      query,
    );
    assert.deepEqual([total, matching], [5, names.length], query);
  }
  for (const [query, code] of [
    ['stat:offline', 'InvalidArgument QUERY_NOT_VALID'],
    ['x'.repeat(1_001), 'InvalidArgument QUERY_NOT_VALID'],
  ] as const)
    assert.equal(await failure(list(query)), code);

  for (const [sort, names] of [
    ['', every],
    ['name', every],
    ['-name', every.toReversed()],
    ['state', [two, pump, off, armel, gone]],
    ['seen', [armel, two, gone, pump, off]],
    ['-seen', [pump, gone, two, armel, off]],
    ['server', [two, pump, armel, off, gone]],
    ['-server', [armel, pump, two, off, gone]],
    ['agent', [armel, two, off, gone, pump]],
    ['-location', undefined],
    ['revision', every],
  ] as const) {
    const whole = await list('', { sort });
    if (names)
      assert.deepEqual(
        whole.machines.map(({ name }) => name),
        names,
        sort,
      );
    const paged: string[] = [];
    for (let pageToken = ''; ;) {
      const page = await list('', { sort, pageSize: 2, pageToken });
      assert.equal(page.total, pageToken === '' ? 5 : 0);
      paged.push(...page.machines.map(({ name }) => name));
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
    assert.deepEqual(
      paged,
      whole.machines.map(({ name }) => name),
      sort,
    );
    const [third] = (await list('', { sort, skip: 2, pageSize: 1 })).machines;
    assert.equal(third?.name, paged[2], sort);
  }
  const { nextPageToken: pageToken } = await list('', { pageSize: 1 });
  for (const wrong of [{ sort: 'color' }, { sort: '--name' }, { sort: 'seen', pageToken }, { skip: 1, pageToken }])
    assert.equal(await failure(list('', wrong)), 'InvalidArgument INVALID_ARGUMENT', JSON.stringify(wrong));
  const named = await fleet.listMachines({ organizationId: on.orgId, named: 'pump', query: 'state:online' });
  assert.deepEqual([named.machines.length, named.total, named.matching], [0, 5, 0]);
});

test('only machines that the caller may see are found and counted', async () => {
  await using on = await testServer();
  const ids = await makeFleet(on);
  const clientFor = async (resource: 'location' | 'robot', resourceId: string) => {
    const grants = [{ role: 'operator' as const, resource, resourceId, orgId: on.orgId }];
    const { id, key } = await insertKey(on.db, { orgId: on.orgId, name: resourceId, grants });
    return on.client(FleetService, { type: 'api-key', entity: id, payload: key } satisfies Credentials);
  };
  for (const [fleet, total, barns] of [
    [await clientFor('location', location), 2, [two]],
    [await clientFor('robot', ids['gone']!), 1, []],
  ] as const) {
    for (const sort of ['', '-seen']) {
      const all = await fleet.listMachines({ organizationId: on.orgId, sort });
      assert.deepEqual([all.machines.length, all.total, all.matching], [total, total, total]);
      const found = await fleet.listMachines({ organizationId: on.orgId, query: 'barn', sort });
      assert.deepEqual(
        [found.machines.map(({ name }) => name), found.total, found.matching],
        [[...barns], total, barns.length],
      );
    }
  }
});
