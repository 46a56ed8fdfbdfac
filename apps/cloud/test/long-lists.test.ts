// Lists longer than an answer: the newest rows with `truncated`, or pages that return every row once.
import assert from 'node:assert/strict';
import test from 'node:test';
import { sql } from 'kysely';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { wholeAnswer } from '../src/rpc/rules/answer-bounds.ts';
import { boundedList } from '../src/database/bounded-list.ts';
import { testDatabase } from './database.ts';
import { failure } from './failure.ts';
import { type TestServer, testServer } from './server.ts';

const more = 5;
const rows = wholeAnswer.rows + more;
/** Name of row n; a greater n is newer. */
const nth = (n: number): string => `n${String(n).padStart(6, '0')}`;
const name = sql`('n' || lpad(n::text, 6, '0'))`;
const time = sql`(timestamptz '2026-01-01' + n * interval '1 s')`;
const series = sql`generate_series(1, ${rows}::int) n`;

test('a list ends at both bounds, whether it came at once or in slices', async () => {
  await using on = await testDatabase();
  const query = (length: number) =>
    sql<{
      n: number;
      text: string;
    }>`select n, repeat('x', 100) as text from generate_series(1, ${length}::int) n order by n desc`;
  for (const [length, of, expected] of [
    [0, { rows: 9, bytes: 1e6, atOnce: 4 }, [0, false]],
    [3, { rows: 9, bytes: 1e6, atOnce: 4 }, [3, false]],
    [4, { rows: 9, bytes: 1e6, atOnce: 4 }, [4, false]],
    [9, { rows: 9, bytes: 1e6, atOnce: 4 }, [9, false]],
    [10, { rows: 9, bytes: 1e6, atOnce: 4 }, [9, true]],
    [10, { rows: 9, bytes: 1e6, atOnce: 100 }, [9, true]],
    [9, { rows: 9, bytes: 1e6, atOnce: 100 }, [9, false]],
    [100, { rows: 90, bytes: 250, atOnce: 4 }, [2, true]],
    [100, { rows: 90, bytes: 1_000, atOnce: 4 }, [8, true]],
    [100, { rows: 90, bytes: 1, atOnce: 4 }, [1, true]],
  ] as const) {
    const found = await boundedList(on.db, query(length), of);
    assert.deepEqual([found.rows.length, found.isCut], expected, JSON.stringify([length, of]));
    assert.deepEqual(
      found.rows.map(({ n }) => n),
      Array.from({ length: expected[0] }, (_, index) => length - index),
    );
  }
});

const locationOf = async (on: TestServer): Promise<string> =>
  (await (await on.client(AppService)).listLocations({ organizationId: on.orgId })).locations[0]?.id ?? '';

async function insertMachines(on: TestServer): Promise<string> {
  const location = await locationOf(on);
  await sql`with made as (insert into machine (id, org_id, location_id, name, created_on)
      select gen_random_uuid(), ${on.orgId}::uuid, ${location}, ${name}, ${time} from ${series} returning id, org_id, name, created_on)
    insert into part (id, org_id, machine_id, name, is_main, created_on)
      select gen_random_uuid(), org_id, id, name || '-main', true, created_on from made`.execute(on.db);
  return location;
}

test('public lists of machines answer with the newest, by name', async () => {
  await using on = await testServer();
  const location = await insertMachines(on);
  const app = await on.client(AppService);
  const summaries = await app.listMachineSummaries({ organizationId: on.orgId });
  for (const [what, { robots, truncated }] of Object.entries({
    org: await app.listRobotsForOrg({ orgId: on.orgId }),
    location: await app.listRobots({ locationId: location }),
    locations: await app.listRobotsForLocations({ locationIds: [location, location] }),
    summaries: {
      robots: summaries.locationSummaries.flatMap(({ machineSummaries }) =>
        machineSummaries.map(({ machineName }) => ({ name: machineName })),
      ),
      truncated: summaries.truncated,
    },
  })) {
    assert.equal(truncated, true, what);
    assert.deepEqual(
      robots.map((robot) => robot.name),
      Array.from({ length: wholeAnswer.rows }, (_, index) => nth(index + 1 + more)),
      what,
    );
  }
});

test('ListMachines has every machine once in pages of any size, and for a caller what it may operate', async () => {
  await using on = await testServer();
  await insertMachines(on);
  const every = Array.from({ length: rows }, (_, index) => nth(index + 1));
  const fleet = await on.client(FleetService);
  for (const pageSize of [0, 700, 1000]) {
    const seen: string[] = [];
    for (let pageToken = ''; ;) {
      const page = await fleet.listMachines({ organizationId: on.orgId, pageSize, pageToken });
      assert.ok(page.machines.length <= (pageSize || wholeAnswer.rows));
      seen.push(...page.machines.map((machine) => machine.name));
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
    assert.deepEqual(seen, every, `pages of ${pageSize}`);
  }
  assert.equal(
    await failure(fleet.listMachines({ organizationId: on.orgId, pageSize: 1001 })),
    'InvalidArgument INVALID_ARGUMENT',
  );
  for (const pageToken of ['x', btoa('machines %zz 1'), btoa('machines %ff 00000000-0000-4000-8000-000000000000')])
    assert.equal(
      await failure(fleet.listMachines({ organizationId: on.orgId, pageToken })),
      'InvalidArgument INVALID_ARGUMENT',
    );

  // An operator of one machine sees that machine, although 10,000 are newer.
  const { machines } = await fleet.listMachines({ organizationId: on.orgId, pageSize: 1 });
  const { id: machineId = '' } = machines[0] ?? {};
  const app = await on.client(AppService);
  const key = await app.createKey({
    name: 'one',
    authorizations: [{ authorizationId: 'robot_operator', resourceType: 'robot', resourceId: machineId }],
  });
  const one = { type: 'api-key', entity: key.id, payload: key.key } as const;
  const mine = await (await on.client(FleetService, one)).listMachines({ organizationId: on.orgId });
  const robots = await (await on.client(AppService, one)).listRobotsForOrg({ orgId: on.orgId });
  assert.deepEqual([mine.machines.map(({ id }) => id), mine.nextPageToken], [[machineId], '']);
  assert.deepEqual([robots.robots.map(({ id }) => id), robots.truncated], [[machineId], false]);
  const keys = await app.getRobotAPIKeys({ robotId: machineId });
  assert.deepEqual([keys.apiKeys.map(({ apiKey }) => apiKey?.name), keys.truncated], [['one'], false]);
});

test('a page of machines with long reports ends below what clients take', async () => {
  await using on = await testServer();
  await insertMachines(on);
  // One unknown field of 100,000 bytes.
  await sql`update part set report = '\\xc23ea08d06'::bytea || convert_to(repeat('x', 100000), 'utf8')
    where name between ${nth(1)} and ${nth(100)}`.execute(on.db);
  const fleet = await on.client(FleetService);
  const page = await fleet.listMachines({ organizationId: on.orgId, pageSize: 1000 });
  assert.ok(page.machines.length < 100 && page.nextPageToken !== '', `${page.machines.length} machines`);
  const next = await fleet.listMachines({ organizationId: on.orgId, pageSize: 1, pageToken: page.nextPageToken });
  assert.equal(next.machines[0]?.name, nth(page.machines.length + 1));
});

test('whoever belongs to more organizations than an answer holds hears of that', async () => {
  await using on = await testServer();
  await sql`insert into organization (id, name, public_namespace, created_on)
    select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ${name}, ${name}, ${time} + interval '1 year' from ${series}`.execute(
    on.db,
  );
  await sql`insert into access_grant (id, org_id, identity_type, identity_id, role, resource_type, resource_id)
    select gen_random_uuid(), id, 'api_key', ${on.owner.entity}::uuid, 'operator', 'organization', id::text
    from organization where id <> ${on.orgId}::uuid`.execute(on.db);
  const { organizations, truncated } = await (await on.client(AppService)).listOrganizations({});
  assert.deepEqual([organizations.length, organizations[0]?.name, truncated], [wholeAnswer.rows, nth(1 + more), true]);
  const who = await (await on.client(SessionService)).whoAmI({});
  assert.deepEqual([who.memberships.length, who.truncated], [wholeAnswer.rows, true]);
  assert.ok(who.memberships.every(({ organizationName }) => organizationName !== ''));
});

test('keys, locations, packages, items, releases, runners, tags and labels: the first 10,000, and that there are more', async () => {
  await using on = await testServer();
  const org = sql`${on.orgId}::uuid`;
  const { machineId } = await on.machine('m');
  for (const statement of [
    sql`insert into location (id, org_id, name, created_on) select ${name}, ${org}, ${name}, ${time} + interval '1 year' from ${series}`,
    sql`insert into api_key (id, org_id, name, key_hash, created_on)
      select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, ${org}, ${name}, '', ${time} + interval '1 year' from ${series}`,
    sql`insert into access_grant (id, org_id, identity_type, identity_id, role, resource_type, resource_id)
      select gen_random_uuid(), ${org}, 'api_key', id, 'operator', 'robot', ${machineId} from api_key where key_hash = ''`,
    sql`insert into registry_item (org_id, name, type, created_on, updated_on) select ${org}, ${name}, 'ml_model', ${time}, ${time} from ${series}`,
    sql`insert into registry_version (org_id, name, version, package_sha256, size_bytes, crc32c, files, created_on)
      select ${org}, ${nth(1)}, ${name}, '', 0, 0, '[]', ${time} from ${series} order by n`,
    sql`insert into release (name, version, platform, sha256, size_bytes, published_on)
      select 'platform-agent', ${name}, 'linux/amd64', '', 0, ${time} from ${series}`,
    sql`insert into release_channel (name, channel, version) values ('platform-agent', 'stable', ${nth(rows)})`,
    sql`insert into runner (org_id, id, host, version, executor, kinds, gpus, containers, no_scripts_because, last_seen)
      select ${org}, ${name}, '', '', 'local', '{custom}', 0, jsonb_build_array(jsonb_build_object('key', ${name}, 'uri', '',
        'framework', '', 'description', '', 'eol_ms', null)), '', now() - (${rows} - n) * interval '1 ms' from ${series}`,
    sql`insert into binary_data (org_id, id, location_id, sha256, size_bytes, tags, time_requested, time_received)
      select ${org}, gen_random_uuid(), '', '', 0, (select array_agg(${name}) from ${series}), now(), now()`,
    sql`insert into bounding_box (org_id, id, binary_id, label, x_min, y_min, x_max, y_max)
      select ${org}, gen_random_uuid(), id, ${name}, 0, 0, 1, 1 from binary_data, ${series}`,
  ])
    await statement.execute(on.db);
  const app = await on.client(AppService);
  const packages = await on.client(PackageService);
  const data = await on.client(DataService);
  const organizationId = on.orgId;

  const ascending = Array.from({ length: wholeAnswer.rows }, (_, index) => nth(index + 1 + more));
  const keys = await app.listKeys({ orgId: on.orgId });
  const machineKeys = await app.getRobotAPIKeys({ robotId: machineId });
  const locations = await app.listLocations({ organizationId });
  const items = await app.listRegistryItems({ organizationId });
  const versions = await packages.listPackages({ organizationId, name: nth(1) });
  const releases = await (await on.client(ReleaseService)).listReleases({});
  const runners = await (await on.client(RunnerService)).listRunners({ organizationId });
  const containers = await (await on.client(MLTrainingService)).listSupportedContainers({});
  for (const [what, names, truncated] of [
    ['keys', keys.apiKeys.map((key) => key.apiKey?.name), keys.truncated],
    ['keys of a machine', machineKeys.apiKeys.map((key) => key.apiKey?.name), machineKeys.truncated],
    ['locations', locations.locations.map((one) => one.name), locations.truncated],
    ['items', items.items.map((one) => one.name), items.truncated],
    ['packages', versions.packages.map((one) => one.info?.version).toReversed(), versions.truncated],
    ['releases', releases.releases.map((one) => one.version).toReversed(), releases.truncated],
    ['runners', runners.runners.map((one) => one.runnerId).toReversed(), runners.truncated],
    ['containers', Object.keys(containers.containerMap).toSorted(), containers.truncated],
  ] as const) {
    assert.equal(truncated, true, what);
    assert.deepEqual(names, ascending, what);
  }
  assert.deepEqual(releases.releases[0]?.channels, ['stable']);
  assert.deepEqual(
    keys.apiKeys[0]?.authorizations.map(({ authorizationId, resourceId }) => [authorizationId, resourceId]),
    [['robot_operator', machineId]],
  );
  const { item } = await app.getRegistryItem({ itemId: `${on.orgId}:${nth(1)}` });
  const shown = item?.metadata.case === 'mlModelMetadata' ? item.metadata.value.versions : [];
  assert.deepEqual([shown.length, shown[0]], [wholeAnswer.rows, nth(rows)]);

  // Tags have no age: they are sorted, and pages continue after the last one.
  const filter = { organizationIds: [on.orgId] };
  const tags = async (after: string) => {
    const answer = await data.tagsByFilter({ filter, after });
    return [answer.tags.length, answer.tags.at(-1), answer.truncated];
  };
  const labels = async (after: string) => {
    const answer = await data.boundingBoxLabelsByFilter({ filter, after });
    return [answer.labels.length, answer.labels.at(-1), answer.truncated];
  };
  for (const words of [tags, labels]) {
    assert.deepEqual(await words(''), [wholeAnswer.rows, nth(wholeAnswer.rows), true]);
    assert.deepEqual(await words(nth(wholeAnswer.rows)), [more, nth(rows), false]);
  }
});

test('a machine finds the package that its configuration names, however many are newer', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const org = sql`${on.orgId}::uuid`;
  await sql`insert into registry_item (org_id, name, type, created_on, updated_on) select ${org}, ${name}, 'ml_model', ${time}, ${time} from ${series}`.execute(
    on.db,
  );
  await sql`insert into registry_version (org_id, name, version, package_sha256, size_bytes, crc32c, files, created_on)
    select ${org}, ${name}, '1', '', 0, 0, '[]', ${time} from ${series} order by n`.execute(on.db);
  const config = {
    packages: [{ name: 'p', package: `${on.orgId}/${nth(1)}`, type: 'ml_model', version: 'latest' }],
  };
  await (await on.client(FleetService)).saveConfig({ partId, configJson: JSON.stringify(config) });
  const listed = await (await on.client(PackageService, part)).listPackages({ organizationId: on.orgId });
  assert.deepEqual([listed.packages.map(({ info }) => info?.name), listed.truncated], [[nth(1)], false]);
});
