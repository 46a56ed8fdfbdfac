// Who may read, name and save fragments, and who reads their secrets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError } from '@connectrpc/connect';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { ConfigProblemsSchema, FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { fragmentWorld, settings } from './fragment-world.ts';

const fine = 'no failure';
const unsignedFile = `https://files.example/agent#sha256=${'a'.repeat(64)}`;

test('only its machines read the secrets of a fragment, and stay when the placeholder is saved', async () => {
  await using here = await fragmentWorld();
  const { on, app, fragment, save, agent, machineId } = here;
  const network = { type: 'wifi', ssid: 'Yard', psk: 'yard secret' };
  const config = { agent: { additional_networks: [network] } };
  const id = await fragment('wifi', config);
  await save({ fragments: [id] });
  assert.deepEqual(await agent(), config.agent);
  const answers = [
    await app.getFragment({ id }),
    await app.listFragments({ organizationId: on.orgId }),
    await app.listMachineFragments({ machineId }),
    await here.fleet.getConfig({ partId: here.partId }),
  ];
  for (const answer of answers) {
    const text = JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    assert.ok(!text.includes('yard secret'));
    assert.ok(text.includes(secretPlaceholder));
  }
  const shown = (await app.getFragment({ id })).fragment?.fragment;
  await app.updateFragment({ id, name: 'wifi', config: { ...shown, debug: true } });
  assert.deepEqual(await agent(), config.agent);
  // A placeholder that stands for nothing is refused.
  const made = app.createFragment({ organizationId: on.orgId, name: 'copy', config: shown ?? {} });
  assert.equal(await failure(made), 'InvalidArgument INVALID_FRAGMENT');
});

test('no secret comes from what readers see: variables, their defaults and changes of a machine', async () => {
  await using here = await fragmentWorld();
  const { on, app, fragment, save, partId, fleet } = here;
  const network = (psk?: string) => ({ yard: { type: 'wifi', ssid: 'Yard', ...(psk && { psk }) } });
  const fragmentOf = (additional_networks: object) => ({ agent: { additional_networks } });
  const variable = (value?: object) => ({ $variable: { name: 'nets', ...(value && { default_value: value }) } });
  const named = { organizationId: on.orgId, name: 'defaults' };
  const configJson = JSON.stringify(fragmentOf(variable(network('default secret'))));
  assert.equal(await failure(app.createFragment({ ...named, configJson })), 'InvalidArgument INVALID_FRAGMENT');
  const [open, plain] = [
    await fragment('open', fragmentOf(variable())),
    await fragment('plain', fragmentOf(network())),
  ];
  const given = (nets: object) => ({ fragments: [{ id: open, variables: { nets } }] });
  const setting = (...mods: object[]) => ({ fragments: [plain], fragment_mods: [{ fragment_id: plain, mods }] });
  const pathsOf = async (config: object) =>
    (await fleet.checkConfig({ partId, configJson: JSON.stringify(config) })).problems.map(({ path }) => path);
  assert.deepEqual(await pathsOf(given(network('own secret'))), ['fragments[0].variables.nets']);
  const place = 'fragment_mods[0].mods[0].$set';
  const psk = { $set: { 'agent.additional_networks.yard.psk': 'own secret' } };
  assert.deepEqual(await pathsOf(setting(psk)), [`${place}.agent.additional_networks.yard.psk`]);
  assert.deepEqual(await pathsOf(setting({ $set: { 'agent.additional_networks': network('own secret') } })), [
    `${place}.agent.additional_networks`,
  ]);
  assert.deepEqual(await pathsOf(setting({ $set: { 'agent.additional_networks.yard.ssid': 'Barn' } }, psk)), [
    'fragment_mods',
  ]);
  assert.equal(await failure(save(setting(psk))), 'InvalidArgument INVALID_CONFIG');
  // Other values may come from there, and the secret from the machine itself.
  assert.equal(await failure(save({ ...given(network()), ...fragmentOf(network('own secret')) })), fine);
  const ssid = { $set: { 'agent.additional_networks.yard.ssid': 'Barn' } };
  assert.equal(await failure(save({ ...setting(ssid), ...fragmentOf({ yard: { psk: 'own secret' } }) })), fine);
  const { configJson: shown, mergedJson } = await fleet.getConfig({ partId });
  assert.ok(!`${shown}${mergedJson}`.includes('own secret'));
});

test('who may operate machines alone reads and names the fragments that these use', async () => {
  await using here = await fragmentWorld();
  const { on, app, fragment, save, machineId, partId, keyOf } = here;
  const [used, other] = [await fragment('used', settings({ debug: true })), await fragment('other', {})];
  await save({ fragments: [used] });
  const operator = await keyOf('operator', 'robot', machineId);
  const [theirs, fleet] = [await on.client(AppService, operator), await on.client(FleetService, operator)];
  const names = async (as: typeof app) =>
    (await as.listFragments({ organizationId: on.orgId })).fragments.map(({ name }) => name);
  assert.deepEqual([await names(app), await names(theirs)], [['other', 'used'], ['used']]);
  assert.equal(await failure(theirs.getFragment({ id: used })), fine);
  // They count their own machines, and see that there are others.
  const usage = async (as: typeof app) => {
    const { fragments } = await as.listFragments({ organizationId: on.orgId });
    const { fragment: one, fragmentUsage } = await as.getFragment({ id: used });
    const listed = fragments.find(({ id }) => id === used);
    return [listed?.robotPartCount, listed?.usedElsewhere, one?.usedElsewhere, fragmentUsage?.machines];
  };
  assert.deepEqual(
    [await usage(theirs), await usage(app)],
    [
      [1, false, false, 1],
      [1, false, false, 1],
    ],
  );
  const beside = await on.machine('beside');
  await save({ fragments: [used] }, await on.client(FleetService), beside.partId);
  assert.deepEqual(
    [await usage(theirs), await usage(app)],
    [
      [1, true, true, 1],
      [2, false, false, 2],
    ],
  );
  assert.equal(await failure(theirs.getFragment({ id: other })), 'NotFound FRAGMENT_NOT_FOUND');
  assert.equal(await failure(save({ fragments: [used], debug: true }, fleet)), fine);
  assert.equal(await failure(save({ fragments: [used, other] }, fleet)), 'InvalidArgument INVALID_CONFIG');
  const found = async (id: string) =>
    (await fleet.checkConfig({ partId, configJson: JSON.stringify({ fragments: [id] }) })).problems.map(({ message }) =>
      message.replace(id, 'it'),
    );
  // Absent and forbidden look the same.
  assert.deepEqual(await found(other), await found('00000000-0000-4000-8000-000000000000'));
  const change = theirs.updateFragment({ id: used, config: {} });
  assert.equal(await failure(change), 'PermissionDenied NOT_OWNER');
  assert.equal(await failure(theirs.deleteFragment({ id: other })), 'NotFound FRAGMENT_NOT_FOUND');
  const member = await on.client(AppService, await keyOf('operator', 'organization', on.orgId));
  assert.equal(
    await failure(member.createFragment({ organizationId: on.orgId, name: 'n' })),
    'PermissionDenied NOT_OWNER',
  );
});

test('a fragment gives a machine nothing that who saves it may not give: unsigned programs and private packages', async () => {
  await using here = await fragmentWorld();
  const { on, fragment, change, save, keyOf, partId } = here;
  const beside = await on.machine('beside');
  const id = await fragment('base', settings({ debug: true }));
  await save({ fragments: [id] });
  // Another machine of the operator uses it, so it may be named.
  const location = (await on.db.selectFrom('machine').select('locationId').executeTakeFirstOrThrow()).locationId;
  const operator = await on.client(FleetService, await keyOf('operator', 'location', location));
  assert.equal(await failure(save({ fragments: [id] }, operator, beside.partId)), fine);
  await save({}, operator, beside.partId);
  await change(id, { agent: { version_control: { agent: unsignedFile } } });
  const audit = await on.client(AuditService);
  const consents = async () =>
    (await audit.listAuditEntries({ organizationId: on.orgId })).entries
      .filter(({ action }) => action === 'consent to unsigned programs')
      .map(({ subject }) => subject);
  assert.deepEqual(await consents(), [partId]);
  assert.equal(
    await failure(save({ fragments: [id] }, operator, beside.partId)),
    'PermissionDenied UNSIGNED_PIN_REFUSED',
  );
  await change(id, { packages: [{ name: 'm', package: `${on.orgId}/secretmodel`, type: 'ml_model', version: '1' }] });
  const error = await save({ fragments: [id] }, operator, beside.partId).catch((thrown: unknown) =>
    ConnectError.from(thrown),
  );
  assert.ok(error instanceof ConnectError);
  assert.deepEqual(
    error.findDetails(ConfigProblemsSchema).flatMap(({ problems }) => problems.map(({ path }) => path)),
    ['fragments[0].packages[0].package'],
  );
});
