// The audit list: sign-ins, read rights, pages. Sessions end with the key that created them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { FakeClock } from '@platform/kit/testing';
import { failedSignIns } from '../src/access/failed-sign-ins.ts';
import type { Grant, Role } from '../src/access/rules/permissions.ts';
import { audit } from '../src/access/store/audit.ts';
import { insertKey } from '../src/access/store/keys.ts';
import { testDatabase, testLog } from './database.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';
import { cookieIn, signIn } from './sign-in.ts';

type Entries = { action: string; subject: string; actor: string; details?: object | undefined }[];
const rowsOf = (entries: Entries) => entries.map(({ action, subject, details }) => [action, subject, details ?? null]);

const withCookie = <S extends typeof SessionService | typeof AppService>(on: TestServer, service: S, cookie: string) =>
  createClient(
    service,
    createConnectTransport({
      baseUrl: on.url,
      httpVersion: '1.1',
      interceptors: [(next) => (request) => (request.header.set('cookie', cookie), next(request))],
    }),
  );

async function keyWith(on: TestServer, grants: readonly Grant<Role>[]): Promise<Credentials> {
  const made = await insertKey(on.db, { orgId: on.orgId, name: 'made', grants });
  return { type: 'api-key', entity: made.id, payload: made.key };
}

test('sign-ins, sign-outs and failed sign-ins, newest first', async () => {
  await using on = await testServer();
  const sessions = await on.client(SessionService);
  const owner = on.server.firstRun.ownerId;
  const { url } = await sessions.createSignInLink({});
  const cookie = cookieIn(await signIn(url));
  assert.equal((await signIn(url)).status, 401);
  await withCookie(on, SessionService, cookie).signOut({});
  for (const entity of [on.owner.entity, on.owner.entity, randomUUID()])
    assert.match(await failure(on.token({ ...on.owner, entity, payload: 'wrong' })), /INVALID_CREDENTIALS/);

  const client = await on.client(AuditService);
  // The server writes failed sign-ins asynchronously, not before it answers.
  const read = async (organizationId: string, count: number) => {
    for (;;) {
      const { entries } = await client.listAuditEntries({ organizationId });
      if (entries.length >= count) return entries;
    }
  };
  const entries = await read(on.orgId, 5);
  const signInDetails = { by: 'sign-in link', address: '127.0.0.1' };
  assert.deepEqual(rowsOf(entries), [
    ['failed sign-in', on.owner.entity, { credentials: 'api-key', count: 1 }],
    ['sign out', owner, null],
    ['sign in', owner, signInDetails],
    ['create sign-in link', owner, null],
    ['create sign-in link', owner, null],
  ]);
  assert.deepEqual(
    entries.map(({ actor }) => actor.split(' (')[0]),
    ['unknown', 'person Owner', 'person Owner', 'api_key first key', 'server start'],
  );
  assert.deepEqual(rowsOf(await read('', 2)).toSorted(), [
    ['failed sign-in', 'unknown ID', { credentials: 'api-key', count: 1 }],
    ['failed sign-in', 'unknown link', { credentials: 'sign-in link', count: 1 }],
  ]);
});

test('a thousand failures are two entries', async () => {
  await using database = await testDatabase();
  const clock = new FakeClock();
  const stop = new AbortController();
  const failed = failedSignIns({ db: database.db, clock, log: testLog }, stop.signal);
  const counts = async (): Promise<unknown[]> =>
    (await database.db.selectFrom('audit').select('details').orderBy('id').execute()).map(
      ({ details }) => details?.['count'],
    );
  for (let n = 0; n < 1000; n++) failed.note({ orgId: null, subject: 'unknown ID', credentials: 'api-key' });
  await clock.advance(3_600_000);
  failed.note({ orgId: null, subject: 'unknown ID', credentials: 'api-key' });
  failed.note({ orgId: null, subject: 'unknown ID', credentials: 'api-key' });
  stop.abort();
  await failed.done;
  assert.deepEqual((await counts()).toSorted(), [1, 1, 1, 999]);
});

test('pages, times and actions', async () => {
  await using on = await testServer();
  for (let n = 0; n < 25; n++)
    await audit(on.db, { orgId: on.orgId, actor: 'test', action: n % 5 === 0 ? 'fifth' : 'other', subject: String(n) });
  const client = await on.client(AuditService);
  const seen: string[] = [];
  let pages = 0;
  for (let pageToken = ''; ; pages++) {
    const page = await client.listAuditEntries({ organizationId: on.orgId, pageSize: 10, pageToken });
    seen.push(...page.entries.map(({ subject }) => subject));
    pageToken = page.nextPageToken;
    if (pageToken === '') break;
  }
  assert.equal(pages, 2);
  assert.deepEqual(
    seen.slice(0, 25),
    Array.from({ length: 25 }, (_, n) => String(24 - n)),
  );
  const { entries } = await client.listAuditEntries({ organizationId: on.orgId, actions: ['fifth'] });
  assert.deepEqual(
    entries.map(({ subject }) => subject),
    ['20', '15', '10', '5', '0'],
  );
  const wide = { organizationId: on.orgId, since: timestampFromMs(0), until: timestampFromMs(Date.UTC(9000, 0)) };
  assert.equal((await client.listAuditEntries(wide)).entries.length, 26);
  const future = { organizationId: on.orgId, since: timestampFromMs(Date.UTC(9000, 0)) };
  assert.deepEqual((await client.listAuditEntries(future)).entries, []);
  const past = { organizationId: on.orgId, until: timestampFromMs(0) };
  assert.deepEqual((await client.listAuditEntries(past)).entries, []);
  for (const wrong of [{ pageSize: -1 }, { pageSize: 1001 }, { pageToken: 'x' }])
    assert.match(await failure(client.listAuditEntries({ organizationId: on.orgId, ...wrong })), /INVALID_ARGUMENT/);
});

test('only owners of the organization read its entries, only owners of the installation the others', async () => {
  await using on = await testServer();
  const { part, machineId } = await on.machine('m');
  const of = (role: Role, resource: Grant['resource'], resourceId: string): Grant<Role>[] => [
    { role, resource, resourceId, orgId: on.orgId },
  ];
  const other = randomUUID();
  await on.db.insertInto('organization').values({ id: other, name: 'Others', publicNamespace: 'others' }).execute();
  const foreign = { role: 'owner', resource: 'organization', resourceId: other, orgId: other } as const;
  const rows: readonly [string, Credentials, RegExp, RegExp][] = [
    ['first key', on.owner, /^no failure/, /^no failure/],
    ['owner', await keyWith(on, of('owner', 'organization', on.orgId)), /^no failure/, /PERMISSION_DENIED/],
    ['operator', await keyWith(on, of('operator', 'organization', on.orgId)), /NOT_OWNER/, /PERMISSION_DENIED/],
    ['runner', on.runner, /NOT_OWNER/, /PERMISSION_DENIED/],
    ['owner of a machine', await keyWith(on, of('owner', 'robot', machineId)), /NOT_OWNER/, /PERMISSION_DENIED/],
    ['machine', part, /NOT_OWNER/, /PERMISSION_DENIED/],
    ['foreign owner', await keyWith(on, [foreign]), /ORGANIZATION_NOT_FOUND/, /PERMISSION_DENIED/],
  ];
  for (const [who, credentials, organization, installation] of rows) {
    const client = await on.client(AuditService, credentials);
    assert.match(await failure(client.listAuditEntries({ organizationId: on.orgId })), organization, who);
    assert.match(await failure(client.listAuditEntries({})), installation, who);
  }
});

test('sessions and links end with the key behind them, but not the session that ends the key', async () => {
  await using on = await testServer();
  const isIn = async (client: Client<typeof SessionService>): Promise<boolean> =>
    (await failure(client.whoAmI({}))) === 'no failure';
  const owner = withCookie(on, SessionService, cookieIn(await signIn(on.server.signInUrl)));
  const byKey = await on.client(SessionService);
  for (const end of ['rotateKey', 'deleteKey'] as const) {
    const key = await keyWith(on, [
      { role: 'owner', resource: 'organization', resourceId: on.orgId, orgId: on.orgId },
      {
        role: 'owner',
        resource: 'installation',
        resourceId: (await on.db.selectFrom('installation').select('id').executeTakeFirstOrThrow()).id,
        orgId: undefined,
      },
    ]);
    const sessions = await on.client(SessionService, key);
    const cookie = cookieIn(await signIn((await sessions.createSignInLink({})).url));
    const first = withCookie(on, SessionService, cookie);
    // A session created from the key's session, and unused sign-in links of both.
    const second = withCookie(on, SessionService, cookieIn(await signIn((await first.createSignInLink({})).url)));
    const links = [(await first.createSignInLink({})).url, (await sessions.createSignInLink({})).url];
    assert.deepEqual([await isIn(first), await isIn(second), await isIn(owner)], [true, true, true]);
    await withCookie(on, AppService, cookie)[end]({ id: key.entity });
    assert.deepEqual([await isIn(first), await isIn(second), await isIn(owner)], [true, false, true], end);
    for (const link of links) assert.equal((await signIn(link)).status, 401, end);
  }
  assert.ok(await isIn(byKey));
  // Every other way to end a key ends its sessions, too.
  const session = withCookie(on, SessionService, cookieIn(await signIn((await byKey.createSignInLink({})).url)));
  assert.ok(await isIn(session));
  await (await on.client(AppService)).rotateKey({ id: on.owner.entity });
  assert.ok(!(await isIn(session)));
  assert.ok(await isIn(owner));
});

test('deletions and renames of machines, parts and their secrets are audited', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const app = await on.client(AppService);
  const { machineId, partId } = await on.machine('press');
  const { partId: second } = await app.newRobotPart({ robotId: machineId, partName: 'arm' });
  await app.updateRobot({ id: machineId, name: 'lathe' });
  await app.updateRobotPart({ id: second, name: 'left arm' });
  const { location } = await app.createLocation({ organizationId: on.orgId, name: 'hall' });
  await app.updateLocation({ locationId: location?.id ?? '', name: 'yard' });
  await app.updateRobot({ id: machineId, location: location?.id ?? '' });
  await app.deleteRobotPart({ partId: second });
  await fleet.deleteMachine({ id: machineId });
  await app.deleteLocation({ locationId: location?.id ?? '' });
  const client = await on.client(AuditService);
  const { entries } = await client.listAuditEntries({ organizationId: on.orgId });
  const place = on.server.firstRun.locationId;
  assert.deepEqual(
    rowsOf(entries.toReversed()).filter(([action]) => action !== 'create sign-in link' && action !== 'delete location'),
    [
      ['create machine', machineId, null],
      ['create part', second, null],
      ['update machine', machineId, { name: { from: 'press', to: 'lathe' } }],
      ['update part', second, { name: { from: 'arm', to: 'left arm' } }],
      ['create location', location?.id, null],
      ['update location', location?.id, { name: { from: 'hall', to: 'yard' } }],
      ['update machine', machineId, { location: { from: place, to: location?.id } }],
      ['delete part', second, null],
      ['delete machine', machineId, { name: 'lathe' }],
    ],
  );
  assert.equal(entries.filter(({ action }) => action === 'delete location').length, 1);
  assert.ok(partId);
});
