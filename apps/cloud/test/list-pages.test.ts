// Lists of packages, releases and datasets return every row once across pages, despite deletions and insertions in
// between.
import assert from 'node:assert/strict';
import test from 'node:test';
import { sql } from 'kysely';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { insertKey } from '../src/access/store/keys.ts';
import { wholeAnswer } from '../src/rpc/rules/answer-bounds.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';

type Page = { names: string[]; nextPageToken: string; truncated: boolean };
type List = (of: { pageToken: string; pageSize: number }) => Promise<Page>;
type Kind = { insert(from: number, to: number): Promise<unknown>; remove(name: string): Promise<unknown> };

const rows = wholeAnswer.rows + 5;
/** Name of row n; a greater n is newer. Each three rows share a time. */
const nth = (n: number): string => `n${String(n).padStart(6, '0')}`;
const name = sql`('n' || lpad(n::text, 6, '0'))`;
const time = sql`(timestamptz '2026-01-01' + n / 3 * interval '1.000001 s')`;

async function listsOf(on: TestServer, who: Credentials): Promise<Record<string, List>> {
  const packages = await on.client(PackageService, who);
  const releases = await on.client(ReleaseService, who);
  const datasets = await on.client(DatasetService, who);
  const organizationId = on.orgId;
  const page = (names: (string | undefined)[], of: Omit<Page, 'names'>): Page => ({
    names: names.map((one) => one ?? ''),
    nextPageToken: of.nextPageToken,
    truncated: of.truncated,
  });
  return {
    packages: async (of) => {
      const found = await packages.listPackages({ organizationId, name: 'model', ...of });
      return page(
        found.packages.map(({ info }) => info?.version),
        found,
      );
    },
    releases: async (of) => {
      const found = await releases.listReleases({ name: 'platform-agent', ...of });
      return page(
        found.releases.map(({ version }) => version),
        found,
      );
    },
    datasets: async (of) => {
      const found = await datasets.listDatasetsByOrganizationID({ organizationId, ...of });
      return page(
        found.datasets.map((one) => one.name),
        found,
      );
    },
    'datasets of all organizations': async (of) => {
      const found = await datasets.listDatasetsByIDs(of);
      return page(
        found.datasets.map((one) => one.name),
        found,
      );
    },
  };
}

function kindsOf(on: TestServer): Record<string, Kind> {
  const { db } = on;
  const org = sql`${on.orgId}::uuid`;
  const series = (from: number, to: number) => sql`generate_series(${from}::int, ${to}::int) n`;
  const datasets: Kind = {
    insert: (from, to) =>
      sql`insert into dataset (org_id, id, name, type, created_on)
        select ${org}, gen_random_uuid(), ${name}, 'binary_data', ${time} from ${series(from, to)}`.execute(db),
    remove: (one) => sql`delete from dataset where name = ${one}`.execute(db),
  };
  return {
    packages: {
      insert: (from, to) =>
        sql`insert into registry_version (org_id, name, version, package_sha256, size_bytes, crc32c, files, created_on)
          select ${org}, 'model', ${name}, '', 0, 0, '[]', ${time} from ${series(from, to)} order by n`.execute(db),
      remove: (one) => sql`delete from registry_version where version = ${one}`.execute(db),
    },
    releases: {
      insert: (from, to) =>
        sql`insert into release (name, version, platform, sha256, size_bytes, published_on)
          select 'platform-agent', ${name}, 'linux/amd64', '', 0, ${time} from ${series(from, to)}`.execute(db),
      remove: (one) => sql`delete from release where version = ${one}`.execute(db),
    },
    datasets,
  };
}

async function pagesOf(list: List, pageSize: number, between: (page: Page) => Promise<unknown> = async () => {}) {
  const pages: Page[] = [];
  for (let pageToken = ''; ;) {
    const page = await list({ pageSize, pageToken });
    pages.push(page);
    assert.equal(page.truncated, page.nextPageToken !== '');
    assert.ok(page.names.length <= (pageSize || wholeAnswer.rows));
    if (page.nextPageToken === '') return pages;
    pageToken = page.nextPageToken;
    await between(page);
  }
}
const namesIn = (pages: readonly Page[]): string[] => pages.flatMap(({ names }) => names);

test('every row once in pages of any size, newest first; rows that come and go meanwhile shift nothing', async () => {
  await using on = await testServer();
  await sql`insert into registry_item (org_id, name, type, created_on, updated_on)
    values (${on.orgId}::uuid, 'model', 'ml_model', now(), now())`.execute(on.db);
  const kinds = kindsOf(on);
  for (const kind of Object.values(kinds)) await kind.insert(1, rows);
  const lists = await listsOf(on, on.owner);
  const every = Array.from({ length: rows }, (_, index) => nth(index + 1));
  for (const [what, list] of Object.entries(lists)) {
    for (const pageSize of [0, 700, 1000]) {
      const pages = await pagesOf(list, pageSize);
      assert.deepEqual(namesIn(pages).toSorted(), every, `${what} in pages of ${pageSize}`);
      assert.equal(pages.length, Math.ceil(rows / (pageSize || wholeAnswer.rows)));
      for (const [index, { names }] of pages.slice(1).entries())
        assert.ok(
          names.every((one) => one < nth(rows - index * (pageSize || wholeAnswer.rows))),
          `${what}: pages come newest first`,
        );
    }
    assert.equal(await failure(list({ pageSize: 1001, pageToken: '' })), 'InvalidArgument INVALID_ARGUMENT');
    for (const token of ['x', 'packages 1', 'datasets 1 x', 'releases 1 a b %zz', 'releases 99999999999999999 a b c'])
      for (const pageToken of [token, btoa(token).replaceAll('=', '')])
        if (!(what === 'packages' && token === 'packages 1'))
          assert.equal(await failure(list({ pageSize: 1, pageToken })), 'InvalidArgument INVALID_ARGUMENT', pageToken);
  }

  // Before each next page, deletes the last row of the page and inserts newer rows.
  for (const [what, kind] of Object.entries(kinds)) {
    const gone: string[] = [];
    let next = rows;
    const pages = await pagesOf(lists[what] ?? assert.fail(what), 900, async ({ names }) => {
      const oldest = names.toSorted()[0] ?? '';
      gone.push(oldest);
      await kind.remove(oldest);
      await kind.insert(next + 1, next + 2);
      next += 2;
    });
    assert.deepEqual(namesIn(pages).toSorted(), every, `${what}: gone on the way: ${gone.join(' ')}`);
  }
});

test('pages show a caller nothing that it may not see', async () => {
  await using on = await testServer();
  const { db } = on;
  await kindsOf(on)['datasets']?.insert(1, 30);
  const other = '00000000-0000-4000-8000-000000000001';
  await db.insertInto('organization').values({ id: other, name: 'Others', publicNamespace: 'others' }).execute();
  const grants = [{ role: 'owner' as const, resource: 'organization' as const, resourceId: other, orgId: other }];
  const key = await insertKey(db, { orgId: other, name: 'foreign', grants });
  const foreign = await listsOf(on, { type: 'api-key', entity: key.id, payload: key.key });
  const own = await listsOf(on, on.owner);
  const list = 'datasets of all organizations';
  const first = await own[list]?.({ pageSize: 10, pageToken: '' });
  const pageToken = first?.nextPageToken ?? '';
  assert.equal(first?.names.length, 10);
  assert.deepEqual((await foreign[list]?.({ pageSize: 10, pageToken }))?.names, []);
  assert.equal(
    await failure(foreign['datasets']?.({ pageSize: 10, pageToken }) ?? assert.fail()),
    'NotFound ORGANIZATION_NOT_FOUND',
  );
});
