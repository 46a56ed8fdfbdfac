import assert from 'node:assert/strict';
import test from 'node:test';
import { createClient } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { failure } from './failure.ts';
import { testServer, transportTo } from './server.ts';

test('who may authenticate, and with what error not', async () => {
  await using on = await testServer();
  const auth = createClient(AuthService, transportTo(on.url));
  const { partId, part } = await on.machine('m1');
  const { entity, payload } = on.owner;
  const id = '11111111-2222-4333-8444-555555555555';

  const rows: [
    name: string,
    entity: string,
    credentials: { type: string; payload: string } | undefined,
    failure: string,
  ][] = [
    ['wrong key', entity, { type: 'api-key', payload: 'x' }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['empty key', entity, { type: 'api-key', payload: '' }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['unknown key id', id, { type: 'api-key', payload }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['key id that is not a UUID', "' or 1=1", { type: 'api-key', payload }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['key as part secret', entity, { type: 'robot-secret', payload }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['part secret as key', partId, { type: 'api-key', payload: part.payload }, 'Unauthenticated INVALID_CREDENTIALS'],
    ['no credentials', entity, undefined, 'InvalidArgument INVALID_ARGUMENT'],
    ['unknown type', entity, { type: 'password', payload }, 'InvalidArgument INVALID_ARGUMENT'],
  ];
  for (const [name, who, credentials, expected] of rows) {
    assert.deepEqual(
      await failure(auth.authenticate({ entity: who, ...(credentials && { credentials }) })),
      expected,
      name,
    );
  }
  for (const [before, after] of [
    ['', '\n'],
    ['', '\r\n'],
    [' ', '\t'],
  ] as const) {
    const spaced = { entity: `${entity}${after}`, credentials: { type: 'api-key', payload: before + payload + after } };
    assert.notEqual((await auth.authenticate(spaced)).accessToken, '', 'white space came with a file');
  }
  const token = await on.token(on.owner);
  const again = createClient(AuthService, transportTo(on.url, token));
  assert.deepEqual(
    await failure(again.authenticate({ entity, credentials: { type: 'api-key', payload } })),
    'InvalidArgument INVALID_ARGUMENT',
  );
  assert.equal((await (await on.client(SessionService)).whoAmI({})).kind, 'api_key');
  assert.deepEqual(
    (await (await on.client(SessionService, on.runner)).whoAmI({})).memberships.map(({ organizationId, role }) => [
      organizationId,
      role,
    ]),
    [[on.orgId, 'runner']],
  );
  const asPart = await (await on.client(SessionService, part)).whoAmI({});
  assert.deepEqual([asPart.kind, asPart.id], ['part', partId]);
});

test('tokens: what is refused later on', async () => {
  await using on = await testServer();
  const token = await on.token(on.owner);
  const [head, body, signature] = token.split('.') as [string, string, string];
  const other = Buffer.from(
    JSON.stringify({ ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object), sub: on.runner.entity }),
  ).toString('base64url');
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
  const rows: [name: string, header: string | undefined, row: string][] = [
    ['absent', undefined, 'NOT_AUTHENTICATED'],
    ['no Bearer', token, 'NOT_AUTHENTICATED'],
    ['no token', 'Bearer ', 'NOT_AUTHENTICATED'],
    ['garbage', 'Bearer a.b.c', 'NOT_AUTHENTICATED'],
    ['other subject', `Bearer ${head}.${other}.${signature}`, 'NOT_AUTHENTICATED'],
    ['no signature', `Bearer ${none}`, 'NOT_AUTHENTICATED'],
  ];
  for (const [name, header, row] of rows) {
    const transport = transportTo(on.url);
    const app = createClient(AppService, transport);
    const call = app.listOrganizations({}, header === undefined ? {} : { headers: { authorization: header } });
    assert.deepEqual(await failure(call), `Unauthenticated ${row}`, name);
  }
});

test('a key that is rotated or deleted ends its tokens at once; a new one works', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const created = await app.createKey({
    name: 'for a test',
    authorizations: [
      {
        authorizationType: 'role',
        authorizationId: 'organization_operator',
        resourceType: 'organization',
        resourceId: on.orgId,
        organizationId: on.orgId,
        identityType: 'api-key',
      },
    ],
  });
  assert.match(created.id, /^[0-9a-f-]{36}$/);
  const credentials = { type: 'api-key', entity: created.id, payload: created.key } as const;
  const first = createClient(AppService, transportTo(on.url, await on.token(credentials)));
  assert.equal((await first.listOrganizations({})).organizations.length, 1);
  assert.deepEqual(await failure(first.listKeys({ orgId: on.orgId })), 'PermissionDenied NOT_OWNER');

  const rotated = await app.rotateKey({ id: created.id });
  assert.deepEqual(await failure(first.listOrganizations({})), 'Unauthenticated TOKEN_EXPIRED');
  assert.deepEqual(await failure(on.token(credentials)), 'Unauthenticated INVALID_CREDENTIALS');
  const token = await on.token({ ...credentials, payload: rotated.key });
  const second = createClient(AppService, transportTo(on.url, token));
  assert.equal((await second.listOrganizations({})).organizations.length, 1);

  await app.deleteKey({ id: created.id });
  assert.deepEqual(await failure(second.listOrganizations({})), 'Unauthenticated TOKEN_EXPIRED');
  await assert.rejects(second.listOrganizations({}), /the key, machine or run that it was issued for is gone/);
  assert.deepEqual(await failure(app.deleteKey({ id: created.id })), 'NotFound KEY_NOT_FOUND');
  const listed = (await app.listKeys({ orgId: on.orgId })).apiKeys;
  assert.deepEqual(listed.map((key) => [key.apiKey?.name, key.apiKey?.key]).toSorted(), [
    ['first key', ''],
    ['runner', ''],
  ]);
});
