// Fragments: configurations that machines share. Their calls, and what machines get of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FragmentVisibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { ConfigProblemsSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { fragmentWorld, settings } from './fragment-world.ts';

const fine = 'no failure';

test('a fragment is created, read, listed, changed with its revisions kept, and deleted', async () => {
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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

test('fragments and configurations that are saved at the same time end as one', async () => {
  await using here = await fragmentWorld();
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
  await using here = await fragmentWorld();
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
