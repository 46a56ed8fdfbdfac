// Answers stay bounded in rows, bytes and work, whatever is stored.
import assert from 'node:assert/strict';
import test from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { sql } from 'kysely';
import { GetRobotPartHistoryResponseSchema, AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { readBounded, wholeAnswer } from '../src/rpc/rules/answer-bounds.ts';
import { callAs, services } from './every-call.ts';
import { testServer, transportTo } from './server.ts';

const mostOfClients = 4 * 2 ** 20;

for (const [what, sizes, limits, expected] of [
  ['all fit', [1, 1, 1], { rows: 5, bytes: 10 }, [3, false]],
  ['rows end it', [1, 1, 1], { rows: 2, bytes: 10 }, [2, true]],
  ['as many as fit, and no more', [1, 1, 1], { rows: 3, bytes: 3 }, [3, false]],
  ['bytes end it', [4, 4, 4], { rows: 5, bytes: 9 }, [2, true]],
  ['one is there always', [99, 1], { rows: 5, bytes: 9 }, [1, true]],
  ['nothing', [], { rows: 5, bytes: 9 }, [0, false]],
] as const)
  test(`readBounded: ${what}`, async () => {
    let most = 0;
    const rows = sizes.map((size, index) => ({ size, index }));
    const found = await readBounded(
      { ...limits, atOnce: 2, size: ({ size }: { size: number }) => size },
      (last, limit) => {
        most = Math.max(most, limit);
        const from = last ? rows.indexOf(last as never) + 1 : 0;
        return Promise.resolve(rows.slice(from, from + limit));
      },
    );
    assert.deepEqual([found.rows.length, found.isCut], expected);
    assert.ok(most <= 2);
  });

test('the history of a large configuration comes in pages that every client takes, each revision once', async () => {
  await using on = await testServer();
  const { partId } = await on.machine('m');
  const revisions = 40;
  await sql`insert into config_revision (part_id, revision, org_id, text, config, sha256, saved_by)
    select id, n, org_id, t, t::jsonb, sha256(t::bytea), 'person x' from part,
      generate_series(1, ${revisions}::int) n, lateral (select jsonb_build_object('n', n, 'x', repeat('x', 300000))::text t) texts
    where part.id = ${partId}`.execute(on.db);
  const app = await on.client(AppService);
  const seen: number[] = [];
  let pages = 0;
  for (let pageToken = ''; ; pages++) {
    const answer = await app.getRobotPartHistory({ id: partId, pageToken });
    const bytes = toBinary(GetRobotPartHistoryResponseSchema, create(GetRobotPartHistoryResponseSchema, answer)).length;
    assert.ok(bytes < mostOfClients, `${bytes} bytes`);
    seen.push(...answer.history.map(({ old }) => (JSON.parse(old?.robotConfigJson ?? '{}') as { n?: number }).n ?? 0));
    pageToken = answer.nextPageToken;
    if (pageToken === '') break;
  }
  assert.ok(pages > 1);
  assert.deepEqual(
    seen,
    Array.from({ length: revisions }, (_, n) => revisions - 1 - n),
  );
  const fleet = await on.client(FleetService);
  const saved = await fleet.listConfigRevisions({ partId });
  assert.deepEqual([saved.revisions.length, saved.truncated], [revisions, false]);
  const older = await fleet.listConfigRevisions({ partId, before: 3n });
  assert.deepEqual(
    older.revisions.map(({ revision }) => revision),
    [2n, 1n],
  );
});

test('lists without pages answer the newest rows and say that there are more', async () => {
  await using on = await testServer();
  const rows = wholeAnswer.rows + 5;
  await sql`insert into dataset (org_id, id, name, type, created_on)
    select ${on.orgId}::uuid, gen_random_uuid(), 'd' || n, 'binary_data', now() + n * interval '1 s'
    from generate_series(1, ${rows}::int) n`.execute(on.db);
  const datasets = await (await on.client(DatasetService)).listDatasetsByOrganizationID({ organizationId: on.orgId });
  assert.deepEqual([datasets.datasets.length, datasets.truncated], [wholeAnswer.rows, true]);
  const names = new Set(datasets.datasets.map(({ name }) => name));
  assert.deepEqual([names.has('d5'), names.has('d6'), names.has(`d${rows}`)], [false, true, true]);
  const all = await (await on.client(DatasetService)).listDatasetsByIDs({});
  assert.deepEqual([all.datasets.length, all.truncated], [wholeAnswer.rows, true]);
  const jobs = await (await on.client(MLTrainingService)).listTrainingJobs({ organizationId: on.orgId });
  assert.deepEqual([jobs.jobs.length, jobs.truncated], [0, false]);
});

/**
 * pages: a token or cursor, and a byte limit. newest: up to `wholeAnswer` rows, with `truncated`.
 * asked: at most what the request names, or one stored object. settings: rows that users enter by hand.
 * not offered: the call answers UNIMPLEMENTED.
 * HTTP routes return no list that grows. Owners of the installation submit each document of /tuf and SHA256SUMS within
 * the message limits. /install.sh names the builds of two channels. The other routes return one file or one
 * configuration.
 */
type Bound = 'pages' | 'newest' | 'asked' | 'settings' | 'not offered';
const bounds: Readonly<Record<string, Bound>> = {
  'AgentDeviceService.DeviceAgentConfig': 'asked',
  'AppService.CheckPermissions': 'asked',
  'AppService.GetFragment': 'newest',
  'AppService.GetRobotAPIKeys': 'newest',
  'AppService.GetRobotPartHistory': 'pages',
  'AppService.GetRobotPartLogs': 'pages',
  'AppService.GetRobotParts': 'settings',
  'AppService.ListAuthorizations': 'not offered',
  'AppService.ListFragments': 'newest',
  'AppService.ListKeys': 'newest',
  'AppService.ListLocations': 'newest',
  'AppService.ListMachineFragments': 'asked',
  'AppService.ListMachineSummaries': 'newest',
  'AppService.ListOrganizationMembers': 'not offered',
  'AppService.ListOrganizations': 'newest',
  'AppService.ListRegistryItems': 'newest',
  'AppService.ListRobots': 'newest',
  'AppService.ListRobotsForLocations': 'newest',
  'AppService.ListRobotsForOrg': 'newest',
  'AppService.TailRobotPartLogs': 'pages',
  'AuditService.ListAuditEntries': 'pages',
  'BulkService.ListBulkMachines': 'pages',
  'BulkService.ListBulkOperations': 'newest',
  'BulkService.PreviewBulkOperation': 'asked',
  'ConditionService.GetOverview': 'newest',
  'ConditionService.ListConditions': 'pages',
  'DataService.BinaryDataByFilter': 'pages',
  'DataService.BinaryDataByIDs': 'asked',
  'DataService.BoundingBoxLabelsByFilter': 'newest',
  'DataService.ExportTabularData': 'asked',
  'DataService.GetSequenceBinaryData': 'pages',
  'DataService.ListSequences': 'pages',
  'DataService.SequencesByDatasetID': 'pages',
  'DataService.TabularDataByFilter': 'pages',
  'DataService.TagsByFilter': 'newest',
  'DatasetService.ListDatasetsByIDs': 'pages',
  'DatasetService.ListDatasetsByOrganizationID': 'pages',
  'FleetService.CheckConfig': 'asked',
  'FleetService.GetConfig': 'asked',
  'FleetService.PreviewFragment': 'newest',
  'FleetService.GetMachineSamples': 'asked',
  'FleetService.GetInstallation': 'asked',
  'FleetService.GetSetUp': 'asked',
  'FleetService.ListConfigRevisions': 'newest',
  'FleetService.ListMachineFacets': 'asked',
  'FleetService.ListMachineViews': 'settings',
  'FleetService.ListMachines': 'pages',
  'FleetService.TagMachine': 'settings',
  'FleetService.RevealSecrets': 'asked',
  'FleetService.SaveConfig': 'asked',
  'InstallationService.GetHealth': 'asked',
  'LiveService.GetView': 'asked',
  'LogService.CountLogs': 'asked',
  'LogService.SearchLogs': 'pages',
  'MLTrainingService.CheckTrainingData': 'asked',
  'MLTrainingService.GetTrainingJobLogs': 'pages',
  'MLTrainingService.ListContainers': 'newest',
  'MLTrainingService.ListSupportedContainers': 'newest',
  'MLTrainingService.ListTrainingJobs': 'newest',
  'PackageService.ListPackages': 'pages',
  'ReleaseService.ListReleases': 'pages',
  'ReleaseService.SubmitMetadata': 'asked',
  'RunnerService.ListRunners': 'newest',
  'SessionService.WhoAmI': 'newest',
  'SuggestionService.ListSuggestions': 'asked',
  'SuggestionService.ReviewLabels': 'newest',
  'TimelineService.ListMachineEvents': 'pages',
};

test('every call whose answer is a list names its bound; `newest` has a field that says that there is more', () => {
  const lists = services.flatMap(({ typeName, methods }) =>
    methods
      .filter(({ output }) => output.fields.some(({ fieldKind }) => fieldKind === 'list' || fieldKind === 'map'))
      .map((method) => ({ name: `${typeName.split('.').at(-1)}.${method.name}`, method })),
  );
  assert.deepEqual(lists.map(({ name }) => name).toSorted(), Object.keys(bounds).toSorted());
  for (const { name, method } of lists)
    if (bounds[name] === 'newest') assert.ok(method.output.field['truncated'], `${name} lacks truncated`);
});

test('what the table calls not offered is not', async () => {
  await using on = await testServer();
  const transport = transportTo(on.url, await on.token(on.owner));
  const named = services.flatMap(({ typeName, methods }) =>
    methods.filter((method) => bounds[`${typeName.split('.').at(-1)}.${method.name}`] === 'not offered'),
  );
  assert.ok(named.length > 0);
  for (const method of named)
    await assert.rejects(
      () => callAs(transport, method, {}),
      (error) => error instanceof ConnectError && error.code === Code.Unimplemented,
      method.name,
    );
});
