// Fragments: configurations that machines share. Their calls, what machines get of them, and who may save what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { JsonObject } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService, FragmentVisibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { ConfigProblemsSchema, FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { insertKey } from '../src/access/store/keys.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer } from './server.ts';

const fine = 'no failure';
const unsignedFile = `https://files.example/agent#sha256=${'a'.repeat(64)}`;

async function world() {
  const on = await testServer();
  const { orgId, db } = on;
  const { machineId, partId, part } = await on.machine('barn');
  const fleet = await on.client(FleetService);
  const app = await on.client(AppService);
  const fragment = async (name: string, config: object, extra: object = {}): Promise<string> => {
    const made = await app.createFragment({
      organizationId: orgId,
      name,
      configJson: JSON.stringify(config),
      ...extra,
    });
    return made.fragment?.id ?? '';
  };
  const change = (id: string, config: object, extra: object = {}) =>
    app.updateFragment({ id, configJson: JSON.stringify(config), ...extra });
  const save = (config: object, as = fleet, to = partId) =>
    as.saveConfig({ partId: to, configJson: JSON.stringify(config) });
  /** What the agent of the machine gets. */
  const agent = async (): Promise<JsonObject | undefined> =>
    (await (await on.client(AgentDeviceService, part)).deviceAgentConfig({ id: partId })).agent;
  const keyOf = async (
    role: 'owner' | 'operator',
    resource: 'organization' | 'location' | 'robot',
    resourceId: string,
  ): Promise<Credentials> => {
    const { id, key } = await insertKey(db, { orgId, name: 'k', grants: [{ role, resource, resourceId, orgId }] });
    return { type: 'api-key', entity: id, payload: key };
  };
  return {
    on,
    machineId,
    partId,
    part,
    fleet,
    app,
    fragment,
    change,
    save,
    agent,
    keyOf,
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}

const settings = (values: object) => ({ agent: { advanced_settings: values } });

test('a fragment is created, read, listed, changed with its revisions kept, and deleted', async () => {
  await using here = await world();
  const { app, on } = here;
  const typed = '{"agent":  {"advanced_settings": {"debug": true}} }';
  const made = await app.createFragment({
    organizationId: on.orgId,
    name: 'base',
    configJson: typed,
    comment: 'first',
  });
  const id = made.fragment?.id ?? '';
  assert.equal(made.fragment?.fragmentJson, typed);
  assert.deepEqual(made.fragment?.fragment, JSON.parse(typed));
  assert.equal(made.fragment?.revision, '1');
  assert.equal(made.fragment?.visibility, FragmentVisibility.PRIVATE);
  // A public client sends a message, as it was read.
  await app.updateFragment({ id, name: 'base', config: { debug: true } });
  const read = await app.getFragment({ id });
  assert.deepEqual([read.fragment?.revision, read.fragment?.fragment], ['2', { debug: true }]);
  assert.deepEqual(
    read.revisions.map(({ revision, comment }) => `${revision} ${comment}`),
    ['2 ', '1 first'],
  );
  assert.equal((await app.getFragment({ id, version: '1' })).fragment?.fragmentJson, typed);
  assert.equal(await failure(app.getFragment({ id, version: '3' })), 'NotFound FRAGMENT_VERSION_NOT_FOUND');
  // The same content makes no revision; a new name alone neither.
  await app.updateFragment({ id, name: 'yard', config: { debug: true } });
  const { fragments } = await app.listFragments({ organizationId: on.orgId });
  assert.deepEqual(
    fragments.map(({ name, revision }) => `${name} ${revision}`),
    ['yard 2'],
  );
  await app.deleteFragment({ id });
  assert.equal(await failure(app.getFragment({ id })), 'NotFound FRAGMENT_NOT_FOUND');
});

test('what is not allowed in a fragment is refused with its reason', async () => {
  await using here = await world();
  const { app, on, fragment } = here;
  const create = (configJson: string, extra: object = {}) =>
    failure(app.createFragment({ organizationId: on.orgId, name: 'x', configJson, ...extra }));
  assert.equal(await create('{'), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create('[]'), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create('{"fragments": []}'), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create('{"debug": true, "debug": false}'), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create('{"components": [{"$variable": {"name": ""}}]}'), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create(JSON.stringify(settings({ debug: 'yes' }))), 'InvalidArgument INVALID_FRAGMENT');
  assert.equal(await create(JSON.stringify({ x: 'y'.repeat(256 * 1024) })), 'InvalidArgument FRAGMENT_TOO_LARGE');
  assert.equal(await create('{}', { visibility: FragmentVisibility.PUBLIC }), 'Unimplemented UNSUPPORTED');
  const secret = {
    agent: { additional_networks: [{ type: 'wifi', ssid: 'Yard', psk: { $variable: { name: 'key' } } }] },
  };
  assert.equal(await create(JSON.stringify(secret)), 'InvalidArgument INVALID_FRAGMENT');
  const id = await fragment('x', { debug: true });
  assert.equal(await create('{}'), 'AlreadyExists NAME_TAKEN');
  assert.equal(
    await failure(app.updateFragment({ id, config: {}, expectedRevision: '7' })),
    'FailedPrecondition FRAGMENT_CONFLICT',
  );
  assert.equal(await failure(app.updateFragment({ id, public: true })), 'Unimplemented UNSUPPORTED');
});

test('the organization has a limit of fragments, also for simultaneous calls', async () => {
  await using here = await world();
  const { on, app } = here;
  await on.db
    .insertInto('fragment')
    .values(
      Array.from({ length: 999 }, (_, n) => ({
        id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        orgId: on.orgId,
        name: `f${n}`,
        revision: 1,
      })),
    )
    .execute();
  const made = (name: string) => failure(app.createFragment({ organizationId: on.orgId, name, configJson: '{}' }));
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map(made));
  const refused = 'ResourceExhausted TOO_MANY_FRAGMENTS';
  assert.deepEqual(answers.toSorted(), [refused, refused, refused, fine]);
});

test('the machine gets its fragments merged in order, and its own values last', async () => {
  await using here = await world();
  const { on, partId, part, fragment, save, agent, fleet } = here;
  const one = await fragment('one', {
    ...settings({ debug: true, wait_for_update_check: true }),
    components: [{ name: 'cam', type: 'camera', model: 'folder', attributes: { path: '/one', fps: 5 } }],
  });
  const two = await fragment('two', {
    components: [
      { name: 'cam', type: 'camera', model: 'folder', attributes: { path: { $variable: { name: 'dir' } } } },
    ],
  });
  const own = {
    fragments: [one, { id: two, variables: { dir: '/two' } }],
    ...settings({ debug: false }),
    components: [{ name: 'own', type: 'sensor', model: 'fake' }],
  };
  await save(own);
  assert.deepEqual(await agent(), { advanced_settings: { debug: false, wait_for_update_check: true } });
  const { config } = await (await on.client(RobotService, part)).config({ id: partId });
  assert.deepEqual(
    config?.components.map(({ name, attributes }) => [name, attributes ?? {}]),
    [
      ['cam', { path: '/two', fps: 5 }],
      ['own', {}],
    ],
  );
  assert.deepEqual(config?.other ?? {}, {});
  const read = await fleet.getConfig({ partId });
  assert.equal(read.configJson, JSON.stringify(own));
  const { agent: merged, fragments: none } = JSON.parse(read.mergedJson) as Record<string, unknown>;
  assert.deepEqual([merged, none], [{ advanced_settings: { debug: false, wait_for_update_check: true } }, undefined]);
  assert.deepEqual(
    read.fragments.map(({ name, revision, pinned }) => [name, revision, pinned]),
    [
      ['one', 1n, false],
      ['two', 1n, false],
    ],
  );
});

test('a saved fragment is the next revision of each machine that follows it, and wakes it', async () => {
  await using here = await world();
  const { on, partId, part, fragment, change, save, agent, fleet } = here;
  const beside = await on.machine('beside');
  const id = await fragment('base', settings({ debug: true }));
  const pinned = { fragments: [{ id, version: '1' }] };
  await save({ fragments: [id] });
  await save(pinned, fleet, beside.partId);
  const robot = await on.client(RobotService, part);
  const device = await on.client(AgentDeviceService, part);
  const [before, known] = [
    (await robot.config({ id: partId })).config,
    (await device.deviceAgentConfig({ id: partId })).fingerprint,
  ];
  const wait = durationFromMs(20_000);
  const held = Promise.all([
    robot.config({ id: partId, knownRevision: before?.revision ?? '', wait }),
    device.deviceAgentConfig({ id: partId, knownFingerprint: known, wait }),
  ]);
  await change(id, settings({ debug: false }), { comment: 'quiet' });
  const [woken, checked] = await held;
  assert.equal(woken.config?.revisionNumber, 2n);
  assert.notDeepEqual(woken.config?.configSha256, before?.configSha256);
  assert.deepEqual(checked.agent, settings({ debug: false }).agent);
  assert.equal(checked.revision, 2n);
  assert.deepEqual(await agent(), settings({ debug: false }).agent);
  const { revisions } = await fleet.listConfigRevisions({ partId });
  assert.deepEqual(
    revisions.map(({ revision, comment, fragments }) => [revision, comment, fragments.map((one) => one.revision)]),
    [
      [2n, 'Fragment base, revision 2: quiet', [2n]],
      [1n, '', [1n]],
    ],
  );
  assert.notEqual(revisions[0]?.sha256, revisions[1]?.sha256);
  // The pinned machine stays as it is.
  const other = await on.client(AgentDeviceService, beside.part);
  assert.deepEqual((await other.deviceAgentConfig({ id: beside.partId })).agent, settings({ debug: true }).agent);
  assert.equal((await fleet.listConfigRevisions({ partId: beside.partId })).revisions.length, 1);
});

test('what a machine applied stays true: the status compares the content with its fragments', async () => {
  await using here = await world();
  const { on, partId, part, fragment, change, save } = here;
  const id = await fragment('base', settings({ debug: true }));
  await save({ fragments: [id] });
  const device = await on.client(AgentDeviceService, part);
  const first = (await device.deviceAgentConfig({ id: partId })).configSha256;
  await change(id, settings({ debug: false }));
  await change(id, settings({ debug: true }));
  const third = await device.deviceAgentConfig({ id: partId });
  // The same content again, though two revisions later.
  assert.deepEqual([third.revision, third.configSha256], [3n, first]);
});

test('a fragment that does not exist is refused, and one in use is not deleted', async () => {
  await using here = await world();
  const { app, fragment, save, fleet, partId } = here;
  const absent = '00000000-0000-4000-8000-000000000000';
  assert.equal(await failure(save({ fragments: [absent] })), 'InvalidArgument INVALID_CONFIG');
  const id = await fragment('base', settings({ debug: true }));
  assert.equal(await failure(save({ fragments: [{ id, version: '2' }] })), 'InvalidArgument INVALID_CONFIG');
  await save({ fragments: [id] });
  const refused = await app.deleteFragment({ id }).catch((error: unknown) => ConnectError.from(error).rawMessage);
  assert.match(String(refused), /base was not deleted, because 1 machine part\(s\) use it: barn/);
  await save({});
  await app.deleteFragment({ id });
  const { problems } = await fleet.checkConfig({ partId, configJson: JSON.stringify({ fragments: [id] }) });
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['fragments[0]'],
  );
});

test('a check covers the merged configuration, with the path into the fragment', async () => {
  await using here = await world();
  const { fragment, fleet, partId } = here;
  const id = await fragment('base', {
    agent: { advanced_settings: { debug: { $variable: { name: 'debug' } }, nonsense: 1 } },
  });
  const paths = async (config: object): Promise<string[]> =>
    (await fleet.checkConfig({ partId, configJson: JSON.stringify(config) })).problems.map(({ path }) => path);
  assert.deepEqual(await paths({ fragments: [{ id, variables: { debug: true } }] }), [
    'fragments[0].agent.advanced_settings.nonsense',
  ]);
  assert.deepEqual(await paths({ fragments: [{ id, variables: { debug: 'yes' } }] }), [
    'fragments[0].agent.advanced_settings.debug',
    'fragments[0].agent.advanced_settings.nonsense',
  ]);
  assert.ok((await paths({ fragments: [id] })).includes('fragments[0].variables.debug'));
  // The machine's own value replaces the wrong one.
  assert.deepEqual(await paths({ fragments: [{ id, variables: { debug: 'yes' } }], ...settings({ debug: true }) }), [
    'fragments[0].agent.advanced_settings.nonsense',
  ]);
});

test('before a fragment is saved, the preview says what changes where; new errors refuse it', async () => {
  await using here = await world();
  const { on, fragment, change, save, fleet, app } = here;
  const beside = await on.machine('beside');
  const id = await fragment('base', settings({ debug: true }));
  await save({ fragments: [id], components: [{ name: 'own', type: 'sensor', model: 'fake' }] });
  await save({ fragments: [id], ...settings({ debug: true }) }, fleet, beside.partId);
  const next = { ...settings({ debug: false, wait_for_update_check: true }), debug: true };
  const { machines, machineCount } = await fleet.previewFragment({ fragmentId: id, configJson: JSON.stringify(next) });
  const found = machines.map(({ machineName, changes, problems }) => ({
    machineName,
    changes: changes.map(({ path, kind }) => `${path} ${kind}`),
    problems: problems.length,
  }));
  const [added, changed] = [1, 3];
  assert.deepEqual(
    [machineCount, found],
    [
      2,
      [
        {
          machineName: 'barn',
          changes: [
            `agent.advanced_settings.debug ${changed}`,
            `agent.advanced_settings.wait_for_update_check ${added}`,
            `debug ${added}`,
          ],
          problems: 0,
        },
        {
          machineName: 'beside',
          changes: [`agent.advanced_settings.wait_for_update_check ${added}`, `debug ${added}`],
          problems: 0,
        },
      ],
    ],
  );
  const needing = settings({ debug: { $variable: { name: 'debug' } } });
  const broken = await fleet.previewFragment({ fragmentId: id, configJson: JSON.stringify(needing) });
  assert.deepEqual(
    broken.machines.map(({ machineName, problems }) => [machineName, problems.map(({ path }) => path)]),
    // The second one has a value of its own, but the variable needs one, too.
    [
      ['barn', ['fragments[0].variables.debug']],
      ['beside', ['fragments[0].variables.debug']],
    ],
  );
  assert.equal(await failure(change(id, needing)), 'FailedPrecondition FRAGMENT_BREAKS_MACHINES');
  assert.equal((await app.getFragment({ id })).fragment?.revision, '1');
  assert.equal(await failure(change(id, next)), fine);
});

test('fragments that make a configuration larger than machines read are refused', async () => {
  await using here = await world();
  const { fragment, save } = here;
  const text = 'x'.repeat(250_000);
  const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => fragment(`f${n}`, { [`key${n}`]: text })));
  const error = await save({ fragments: ids }).catch((thrown: unknown) => ConnectError.from(thrown));
  assert.ok(error instanceof ConnectError);
  assert.deepEqual(
    error.findDetails(ConfigProblemsSchema).flatMap(({ problems }) => problems.map(({ path }) => path)),
    ['fragments'],
  );
  assert.equal(await failure(save({ fragments: ids.slice(0, 3) })), fine);
});

test('one save changes at most 2,000 parts, and one transaction saves all of them', async () => {
  await using here = await world();
  const { on, fragment, change, save, partId } = here;
  const id = await fragment('base', settings({ debug: true }));
  await save({ fragments: [id] });
  const copies = (count: number) =>
    sql`with machines as (insert into machine (id, org_id, location_id, name)
          select gen_random_uuid(), org_id, location_id, 'copy ' || gen_random_uuid() from machine, generate_series(1, ${count})
           where name = 'barn' returning id, org_id),
        parts as (insert into part (id, org_id, machine_id, name, is_main, revision)
          select gen_random_uuid(), org_id, id, 'main', true, 1 from machines returning id, org_id),
        saved as (insert into config_revision (part_id, revision, org_id, text, config, sha256, saved_by, fragments)
          select parts.id, 1, parts.org_id, text, config, sha256, saved_by, fragments from parts, config_revision
           where part_id = ${partId} and config_revision.revision = 1)
        insert into fragment_use (part_id, place, fragment_id, org_id, pinned)
          select id, 0, ${id}, org_id, null from parts`.execute(on.db);
  await copies(149);
  assert.equal(await failure(change(id, settings({ debug: false }))), fine);
  const { rows } = await sql<{ revision: number; count: number }>`
    select part.revision, count(*) as count from part join config_revision saved on saved.part_id = part.id
       and saved.revision = part.revision and saved.config @> '{"agent": {"advanced_settings": {"debug": false}}}'
     group by part.revision`.execute(on.db);
  assert.deepEqual(rows, [{ revision: 2, count: 150 }]);
  await copies(1_851);
  assert.equal(await failure(change(id, {})), 'FailedPrecondition FRAGMENT_REACHES_TOO_MANY');
});

test('only its machines read the secrets of a fragment, and stay when the placeholder is saved', async () => {
  await using here = await world();
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
  await using here = await world();
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
  await using here = await world();
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
  await using here = await world();
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

test('fragments and configurations that are saved at the same time end as one', async () => {
  await using here = await world();
  const { on, app, fragment, save, fleet, partId } = here;
  const [one, two] = [await fragment('one', { a: 0 }), await fragment('two', { b: 0 })];
  await save({ fragments: [one, two] });
  const calls = [1, 2, 3, 4, 5].flatMap((n) => [
    failure(app.updateFragment({ id: one, config: { a: n } })),
    failure(app.updateFragment({ id: two, config: { b: n } })),
    failure(save({ fragments: [one, two], c: n })),
  ]);
  const answers = new Set(await Promise.all(calls));
  answers.delete(fine);
  answers.delete('Aborted FRAGMENT_MOVED');
  assert.deepEqual([...answers], []);
  const saved = await on.db
    .selectFrom('configRevision')
    .selectAll()
    .where('partId', '=', partId)
    .orderBy('revision', 'desc')
    .executeTakeFirstOrThrow();
  const contents = await Promise.all([one, two].map(async (id) => (await app.getFragment({ id })).fragment));
  assert.deepEqual(
    (saved.fragments ?? []).map(({ revision }) => String(revision)),
    contents.map((content) => content?.revision),
  );
  const [a, b] = contents.map((content) => content?.fragment);
  const { c } = JSON.parse((await fleet.getConfig({ partId })).configJson) as { c?: number };
  assert.deepEqual(saved.config, { ...a, ...b, ...(c === undefined ? {} : { c }) });
});

test('a fragment that gets a new name while its text is saved keeps the name', async () => {
  await using here = await world();
  const { on, app, fragment, save, fleet, partId } = here;
  const id = await fragment('old', { a: 0 });
  await save({ fragments: [id] });
  const { answer } = await on.db.transaction().execute(async (trx) => {
    await sql`select from fragment where id = ${id}::uuid for update`.execute(trx);
    const saving = app.updateFragment({ id, config: { a: 1 } });
    const waits = sql<{ n: number }>`select count(*)::int as n from pg_locks where not granted`;
    while ((await waits.execute(on.db)).rows[0]?.n === 0);
    await sql`update fragment set name = 'new', last_updated = clock_timestamp() where id = ${id}::uuid`.execute(trx);
    // In an object: the answer comes after the transaction.
    return { answer: saving };
  });
  const { fragment: saved } = await answer;
  assert.deepEqual([saved?.name, saved?.revision, saved?.fragment], ['new', '2', { a: 1 }]);
  const { fragments } = await fleet.getConfig({ partId });
  assert.deepEqual(
    fragments.map(({ name, revision }) => [name, revision]),
    [['new', 2n]],
  );
  await app.updateFragment({ id, name: 'newer', config: { a: 2 } });
  assert.deepEqual((await fleet.getConfig({ partId })).fragments[0]?.name, 'newer');
});
