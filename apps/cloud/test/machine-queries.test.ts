// Queries of the list of machines: what matches, in which order, how many of how many, and for whom.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
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

type FleetClient = Client<typeof FleetService>;

interface Given {
  name: string;
  /** Age of the last contact, stored; 'now': it checks in; absent: never. */
  seen?: number | 'now';
  isIn?: boolean;
  isUninstalled?: boolean;
  tags?: string[];
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
    tags: ['Barn', 'site/北'],
    seen: 200 * hour,
    isIn: true,
    report: { server: { runningVersion: '1.2.0' }, facts: { disk: { sizeBytes: 8_000_000_000n, freeBytes: 1_000n } } },
  },
  { name: 'gone', seen: 5 * hour, isUninstalled: true, report: { server: { runningVersion: 'main-4f2a' } } },
  { name: '50% off_', tags: ['barns'] },
];

async function makeFleet(on: TestServer): Promise<Record<string, string>> {
  await insertLocation(on.db, { id: location, orgId: on.orgId, name: 'Hof Lindau', parentLocationId: null });
  const ids: Record<string, string> = {};
  for (const { name, seen, isIn, isUninstalled, report, tags } of fleetOf) {
    const { machineId, partId, part } = await on.machine(name);
    ids[name] = machineId;
    if (tags) await (await on.client(FleetService)).tagMachine({ id: machineId, add: tags });
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
  ['BARN', [off, armel, two, pump]],
  ['\u00c4rmel', [armel]],
  ['\uff42\uff41\uff52\uff4e', [off, armel, two, pump]],
  ['barn 2', [two]],
  ['pi-', [armel, two]],
  ['%', [off]],
  ['_', [off]],
  ['\\', []],
  ["'; drop table part; --", []],
  ['-barn', [gone]],
  ['tag:barn', [pump]],
  ['-tag:barn', [off, armel, two, gone]],
  ['tag!=barn', [off, armel, two, gone]],
  ['tag~barn', [off, pump]],
  ['tag:site/北 tag=BARN', [pump]],
  ['tag:barn name:50', []],
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
    ['tag', [pump, off, armel, two, gone]],
    ['condition', [armel, off, two, gone, pump]],
    ['disk_free', [pump, off, armel, two, gone]],
    ['-host', [two, armel, off, gone, pump]],
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

test('an answer that is known is not repeated, until something other than the last contact of an online machine changes', async () => {
  await using on = await testServer();
  const ids = await makeFleet(on);
  const fleet = await on.client(FleetService);
  const request = { organizationId: on.orgId, query: 'state:online' };
  const first = await fleet.listMachines(request);
  assert.deepEqual([first.machines.length, first.unchanged], [1, false]);
  const knownFingerprint = first.fingerprint;
  const again = async () => fleet.listMachines({ ...request, knownFingerprint });
  const known = await again();
  assert.deepEqual([known.unchanged, known.machines.length, known.fingerprint], [true, 0, knownFingerprint]);
  assert.ok((await fleet.listMachines({ ...request, query: '', knownFingerprint })).machines.length > 1);
  await fleet.tagMachine({ id: ids[armel]!, add: ['new'] });
  const changed = await again();
  assert.deepEqual([changed.unchanged, changed.machines[0]?.tags], [false, ['new']]);
});

test('facets: how many machines of a query have which values, for whom the caller may see', async () => {
  await using on = await testServer();
  const ids = await makeFleet(on);
  const facets = async (of: FleetClient, request: { query?: string; fields?: string[]; containing?: string }) =>
    (await of.listMachineFacets({ organizationId: on.orgId, ...request })).facets.map(({ field, values }) =>
      [field, ...values.map(({ value, machines }) => `${value} ${machines}`)].join(', '),
    );
  const fleet = await on.client(FleetService);
  assert.deepEqual(await facets(fleet, {}), [
    'state, offline 2, awaiting 1, online 1, uninstalled 1',
    'condition, DISK_FULL 1',
    'tag, barn 1, barns 1, site/北 1',
    'location, My location 3, Hof Lindau 2',
    'server, 1.2.0 1, 1.2.0-rc.1 1, 1.4.2 1, main-4f2a 1',
    'agent, 0.10.0 1, 0.2.0 1',
  ]);
  const narrow = { query: 'state:offline', fields: ['tag', 'location', 'host'], containing: 'ﬁeld' };
  assert.deepEqual(await facets(fleet, narrow), ['tag', 'location', 'host']);
  assert.deepEqual(await facets(fleet, { ...narrow, containing: 'A' }), [
    'tag, barn 1',
    'location, Hof Lindau 2',
    'host',
  ]);
  for (const wrong of [
    { fields: ['seen'] },
    { query: 'stat:x' },
    { containing: 'x'.repeat(201) },
    { containing: '\0' },
  ])
    assert.match(await failure(facets(fleet, wrong)), /^InvalidArgument/, JSON.stringify(wrong));
  const grants = [{ role: 'operator' as const, resource: 'robot' as const, resourceId: ids[gone]!, orgId: on.orgId }];
  const { id, key } = await insertKey(on.db, { orgId: on.orgId, name: 'narrow', grants });
  const narrowed = await on.client(FleetService, { type: 'api-key', entity: id, payload: key });
  assert.deepEqual(await facets(narrowed, { fields: ['state'] }), ['state, uninstalled 1']);
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
      const found = await fleet.listMachines({ organizationId: on.orgId, query: 'name~barn', sort });
      assert.deepEqual(
        [found.machines.map(({ name }) => name), found.total, found.matching],
        [[...barns], total, barns.length],
      );
    }
  }
});
