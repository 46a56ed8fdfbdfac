// Who may create, rotate, delete, rename and copy which key: only keys whose every right the caller could have granted.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import type { Grant, Role } from '../src/access/rules/permissions.ts';
import { grantsOf, insertKey } from '../src/access/store/keys.ts';
import { insertLocation } from '../src/access/store/organizations.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';
import { cookieIn, signIn } from './sign-in.ts';

type Right = Grant<Role>;

/** Machine 1 is in location 1, machine 2 in location 2, machine 3 is deleted. */
async function arrange(on: TestServer) {
  const { db, orgId, server } = on;
  const location1 = server.firstRun.locationId;
  await insertLocation(db, { id: 'location02', orgId, name: 'Second', parentLocationId: null });
  const { machineId: machine1 } = await on.machine('one');
  const app = await on.client(AppService);
  const { id: machine2 } = await app.newRobot({ name: 'two', location: 'location02' });
  const { id: machine3 } = await app.newRobot({ name: 'three', location: location1 });
  await app.deleteRobot({ id: machine3 });
  const other = randomUUID();
  await db.insertInto('organization').values({ id: other, name: 'Others', publicNamespace: 'others' }).execute();
  const { id: installation } = await db.selectFrom('installation').select('id').executeTakeFirstOrThrow();
  const right = (role: Role, resource: Right['resource'], resourceId: string, org?: string): Right => ({
    role,
    resource,
    resourceId,
    orgId: org ?? (resource === 'installation' ? undefined : orgId),
  });
  const rights = {
    first: [right('owner', 'organization', orgId), right('owner', 'installation', installation)],
    installation: [right('owner', 'installation', installation)],
    owner: [right('owner', 'organization', orgId)],
    operator: [right('operator', 'organization', orgId)],
    runner: [right('runner', 'organization', orgId)],
    location1Owner: [right('owner', 'location', location1)],
    location1Operator: [right('operator', 'location', location1)],
    machine1Owner: [right('owner', 'robot', machine1)],
    machine1Operator: [right('operator', 'robot', machine1)],
    machine2Owner: [right('owner', 'robot', machine2)],
    machine3Owner: [right('owner', 'robot', machine3)],
    machine1And2: [right('owner', 'robot', machine1), right('operator', 'robot', machine2)],
    machine1AndOrganization: [right('owner', 'robot', machine1), right('operator', 'organization', orgId)],
    nothing: [],
    otherOwner: [right('owner', 'organization', other, other)],
  } satisfies Record<string, Right[]>;
  return { rights, other };
}

type Kind = keyof Awaited<ReturnType<typeof arrange>>['rights'];

const ofMachine1: readonly Kind[] = ['machine1Owner', 'machine1Operator'];
const ofMachines: readonly Kind[] = [...ofMachine1, 'machine2Owner', 'machine3Owner', 'machine1And2'];
const ofOrganization: readonly Kind[] = [
  ...ofMachines,
  'owner',
  'operator',
  'runner',
  'location1Owner',
  'location1Operator',
  'machine1AndOrganization',
  'nothing',
];
/** The key kinds that each caller may manage; everything else is refused. */
const managed: Readonly<Record<Exclude<Kind, 'nothing'> | 'part' | 'person', readonly Kind[]>> = {
  first: [...ofOrganization, 'first', 'installation'],
  person: [...ofOrganization, 'first', 'installation'],
  installation: [],
  owner: ofOrganization,
  operator: [],
  runner: [],
  location1Owner: ofMachine1,
  location1Operator: [],
  machine1Owner: ofMachine1,
  machine1Operator: [],
  machine2Owner: ['machine2Owner'],
  machine3Owner: [],
  machine1And2: ofMachine1,
  machine1AndOrganization: ofMachine1,
  otherOwner: ['otherOwner'],
  part: [],
};

type App = Client<typeof AppService>;
const actions: Readonly<Record<string, (app: App, id: string) => Promise<unknown>>> = {
  rotate: (app, id) => app.rotateKey({ id }),
  rename: (app, id) => app.renameKey({ id, name: 'renamed' }),
  copy: (app, id) => app.createKeyFromExistingKeyAuthorizations({ id }),
  delete: (app, id) => app.deleteKey({ id }),
};

const keysOf = (on: TestServer) => on.db.selectFrom('apiKey').selectAll().orderBy('id').execute();

test('rotate, rename, copy, delete: caller × key', async () => {
  await using on = await testServer();
  const { rights, other } = await arrange(on);
  const orgOf = (kind: Kind): string => (kind === 'otherOwner' ? other : on.orgId);
  const keyOf = async (kind: Kind): Promise<Credentials> => {
    const made = await insertKey(on.db, { orgId: orgOf(kind), name: kind, grants: rights[kind] });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const { part } = await on.machine('four');
  const wrong: string[] = [];
  const tried = { allowed: 0, refused: 0 };
  // The other organization has a second owner, so that its owner's key may be deleted.
  await keyOf('otherOwner');

  for (const [callerKind, allowed] of Object.entries(managed)) {
    const credentials =
      callerKind === 'part'
        ? part
        : callerKind === 'person'
          ? { cookie: await cookieOfOwner(on) }
          : await keyOf(callerKind as Kind);
    const app = 'cookie' in credentials ? asOwner(on, credentials.cookie) : await on.client(AppService, credentials);
    for (const kind of Object.keys(rights) as Kind[]) {
      const victim = await keyOf(kind);
      for (const [name, act] of Object.entries(actions)) {
        const before = await keysOf(on);
        const error = await failure(act(app, victim.entity));
        const after = await keysOf(on);
        const what = `${callerKind} ${name} ${kind}: ${error}`;
        const isAllowed = allowed.includes(kind);
        tried[isAllowed ? 'allowed' : 'refused']++;
        if (isAllowed !== (error === 'no failure')) wrong.push(what);
        if (!isAllowed && JSON.stringify(before) !== JSON.stringify(after)) wrong.push(`${what}, changed`);
        const isForeign = (callerKind === 'otherOwner') !== (kind === 'otherOwner') || callerKind === 'installation';
        const refusal = isForeign ? /KEY_NOT_FOUND/ : /NOT_OWNER|PERMISSION_DENIED/;
        if (!isAllowed && !refusal.test(error)) wrong.push(what);
        for (const copy of after.filter(({ id }) => name === 'copy' && !before.some((one) => one.id === id))) {
          assert.deepEqual(sorted(await grantsOf(on.db, 'api_key', copy.id)), sorted(rights[kind]), what);
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
  console.log(`# ${tried.allowed} allowed, ${tried.refused} refused`);
});

/** Returns the session of the installation's owner, from the sign-in link that a start creates. */
async function cookieOfOwner(on: TestServer): Promise<string> {
  return cookieIn(await signIn(on.server.signInUrl));
}

const asOwner = (on: TestServer, cookie: string): App =>
  createClient(
    AppService,
    createConnectTransport({
      baseUrl: on.url,
      httpVersion: '1.1',
      interceptors: [(next) => (request) => (request.header.set('cookie', cookie), next(request))],
    }),
  );

const sorted = (grants: readonly Right[]): string[] => grants.map((grant) => JSON.stringify(grant)).toSorted();

test('create: no caller grants more than it owns', async () => {
  await using on = await testServer();
  const { rights, other } = await arrange(on);
  const mayCreate: Readonly<Partial<Record<Kind, readonly Kind[]>>> = {
    ...managed,
    first: ofOrganization.filter((kind) => kind !== 'machine3Owner' && kind !== 'nothing'),
    owner: ofOrganization.filter((kind) => kind !== 'machine3Owner' && kind !== 'nothing'),
  };
  const wrong: string[] = [];
  for (const callerKind of Object.keys(rights) as Kind[]) {
    const orgId = callerKind === 'otherOwner' ? other : on.orgId;
    const made = await insertKey(on.db, { orgId, name: callerKind, grants: rights[callerKind] });
    const app = await on.client(AppService, { type: 'api-key', entity: made.id, payload: made.key });
    for (const kind of Object.keys(rights) as Kind[]) {
      const before = await keysOf(on);
      const error = await failure(
        app.createKey({
          name: 'new',
          authorizations: rights[kind].map(({ role, resource, resourceId }: Right) => ({
            authorizationType: 'role',
            authorizationId: `${resource}_${role}`,
            resourceType: resource,
            resourceId,
            identityType: 'api-key',
          })),
        }),
      );
      const isAllowed = mayCreate[callerKind]?.includes(kind) ?? false;
      if (isAllowed !== (error === 'no failure')) wrong.push(`${callerKind} creates ${kind}: ${error}`);
      if (!isAllowed && (await keysOf(on)).length !== before.length) wrong.push(`${callerKind} created ${kind}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('an owner of the organization does not become owner of the installation by any key or link', async () => {
  await using on = await testServer();
  const { rights } = await arrange(on);
  const made = await insertKey(on.db, { orgId: on.orgId, name: 'owner', grants: rights.owner });
  const owner: Credentials = { type: 'api-key', entity: made.id, payload: made.key };
  const app = await on.client(AppService, owner);
  assert.match(await failure(app.rotateKey({ id: on.owner.entity })), /PermissionDenied PERMISSION_DENIED/);
  assert.match(await failure(app.deleteKey({ id: on.owner.entity })), /PermissionDenied PERMISSION_DENIED/);
  assert.match(
    await failure((await on.client(SessionService, owner)).createSignInLink({})),
    /PermissionDenied PERMISSION_DENIED/,
  );
  // A key that owns the installation, but not the organization, does not become its owner through a link.
  const half = await insertKey(on.db, { orgId: on.orgId, name: 'half', grants: rights.installation });
  const installation = await on.client(SessionService, { type: 'api-key', entity: half.id, payload: half.key });
  assert.match(await failure(installation.createSignInLink({})), /PermissionDenied NOT_OWNER/);
  const whole = await on.client(SessionService);
  assert.match((await whole.createSignInLink({})).url, /sign-in\?token=/);
});

test('the last owner key of an organization without another owner stays; where a user owns it, it may go', async () => {
  await using on = await testServer();
  const { rights, other } = await arrange(on);
  const make = async (): Promise<Credentials> => {
    const made = await insertKey(on.db, { orgId: other, name: 'owner', grants: rights.otherOwner });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const [one, two] = [await make(), await make()];
  const clients = [await on.client(AppService, one), await on.client(AppService, two)] as const;
  // Both delete each other concurrently: one of them stays.
  const errors = await Promise.all([
    failure(clients[0].deleteKey({ id: two.entity })),
    failure(clients[1].deleteKey({ id: one.entity })),
  ]);
  const left = await on.db.selectFrom('apiKey').select('id').where('orgId', '=', other).execute();
  assert.equal(left.length, 1, errors.join());
  assert.equal(errors.filter((error) => error === 'no failure').length, 1, errors.join());
  const last = left[0]?.id === one.entity ? one : two;
  const app = await on.client(AppService, last);
  assert.match(await failure(app.deleteKey({ id: last.entity })), /FailedPrecondition LAST_OWNER/);
  // The first key may be deleted: the owner signs in with the link of the next start.
  assert.equal(await failure((await on.client(AppService)).deleteKey({ id: on.owner.entity })), 'no failure');
});

test('a location does not hang below one of another organization', async () => {
  await using on = await testServer();
  const { other } = await arrange(on);
  await insertLocation(on.db, { id: 'elsewhere0', orgId: other, name: 'Elsewhere', parentLocationId: null });
  const right = (resourceId: string): Right => ({
    role: 'owner',
    resource: 'organization',
    resourceId,
    orgId: resourceId,
  });
  const both = await insertKey(on.db, { orgId: on.orgId, name: 'both', grants: [right(on.orgId), right(other)] });
  const app = await on.client(AppService, { type: 'api-key', entity: both.id, payload: both.key });
  const make = app.createLocation({ organizationId: on.orgId, name: 'x', parentLocationId: 'elsewhere0' });
  assert.match(await failure(make), /NotFound LOCATION_NOT_FOUND/);
});

test('a right that is requested twice is granted once', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const right = {
    authorizationType: 'role',
    authorizationId: 'organization_operator',
    resourceType: 'organization',
    resourceId: on.orgId,
    organizationId: on.orgId,
  };
  const { id } = await app.createKey({ name: 'twice', authorizations: [right, right] });
  const { apiKeys } = await app.listKeys({ orgId: on.orgId });
  assert.equal(apiKeys.find(({ apiKey }) => apiKey?.id === id)?.authorizations.length, 1);
});
