// One change of many machines: who changes and who cannot, first a few, then the rest, stopped, found by a query.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { sql } from 'kysely';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import {
  type BulkChangeSchema,
  BulkMachineState,
  type BulkOperation,
  BulkService,
  type BulkTargetSchema,
} from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { insertKey } from '../src/access/store/keys.ts';
import { insertLocation } from '../src/access/store/organizations.ts';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';

type Bulk = Client<typeof BulkService>;
type Change = MessageInitShape<typeof BulkChangeSchema>;
const field = 'field00000';

async function fleetOf(on: TestServer, names: readonly string[]) {
  await insertLocation(on.db, { id: field, orgId: on.orgId, name: 'Field', parentLocationId: null });
  const made: Record<string, { machineId: string; partId: string }> = {};
  for (const name of names) made[name] = await on.machine(name);
  return { made, id: (name: string): string => made[name]?.machineId ?? assert.fail(name) };
}
const countsOf = ({ waiting, done, unchanged, refused, failed }: BulkOperation): readonly number[] => [
  waiting,
  done,
  unchanged,
  refused,
  failed,
];
async function start(bulk: Bulk, request: Parameters<Bulk['startBulkOperation']>[0]): Promise<BulkOperation> {
  return (await bulk.startBulkOperation(request)).operation ?? assert.fail();
}
const run = async (bulk: Bulk, id: string, most = 0): Promise<BulkOperation> =>
  (await bulk.runBulkOperation({ id, most })).operation ?? assert.fail();
const tagged = (add: string[]) => ({ change: { case: 'tags' as const, value: { add } } });

test('a preview accounts for each machine; an operation changes a few, then the rest, and is found by a query', async () => {
  await using on = await testServer();
  const { id } = await fleetOf(on, ['a1', 'a2', 'a3', 'b1']);
  const [bulk, fleet] = [await on.client(BulkService), await on.client(FleetService)];
  await fleet.tagMachine({ id: id('a1'), add: ['barn'] });
  await fleet.tagMachine({ id: id('a2'), add: Array.from({ length: 32 }, (_, n) => `t${n}`) });
  const target = { organizationId: on.orgId, query: 'name~a' };
  const preview = await bulk.previewBulkOperation({ target, change: tagged(['barn']) });
  assert.deepEqual([preview.targets, preview.changing, preview.unchanged, preview.refused], [3, 1, 1, 1]);
  const [refusal] = preview.refusals;
  assert.deepEqual([refusal?.code, refusal?.machines, refusal?.examples], ['BULK_MACHINE_REFUSED', 1, ['a2']]);
  assert.match(refusal?.text ?? '', /Machine a2 is left out: it would have 33 tags, and the limit is 32/);
  assert.deepEqual((await fleet.getMachine({ id: id('a3') })).machine?.tags, []);

  const all = { organizationId: on.orgId };
  const changed = { target: all, change: tagged(['north']), expectedChanging: 2 };
  assert.equal(await failure(bulk.startBulkOperation(changed)), 'Aborted BULK_TARGET_CHANGED');
  const begun = await start(bulk, { ...changed, expectedChanging: 3 });
  assert.deepEqual([begun.number, ...countsOf(begun)], [1, 3, 0, 0, 1, 0]);
  // A machine that comes later is not a target.
  await on.machine('a9');
  assert.deepEqual(countsOf(await run(bulk, begun.id, 1)), [2, 1, 0, 1, 0]);
  const found = async (query: string) =>
    (await fleet.listMachines({ organizationId: on.orgId, query })).machines.map(({ name }) => name);
  assert.deepEqual(await found('operation:1/done'), ['a1']);
  assert.deepEqual(await found('operation:1/waiting tag:barn'), []);
  await fleet.deleteMachine({ id: id('a3') });
  assert.deepEqual(countsOf(await run(bulk, begun.id)), [0, 2, 0, 1, 1]);
  assert.deepEqual(await found('operation:1'), ['a1', 'a2', 'b1']);
  assert.deepEqual(await found('-operation:1'), ['a9']);
  assert.deepEqual(await found('tag:north'), ['a1', 'b1']);
  const { machines } = await bulk.listBulkMachines({ id: begun.id, state: BulkMachineState.FAILED });
  assert.deepEqual(
    machines.map(({ name, code }) => [name, code]),
    [['a3', 'MACHINE_NOT_FOUND']],
  );
  const first = await bulk.listBulkMachines({ id: begun.id, pageSize: 3 });
  const second = await bulk.listBulkMachines({ id: begun.id, pageSize: 3, pageToken: first.nextPageToken });
  assert.deepEqual(
    [...first.machines, ...second.machines].map(({ name }) => name),
    ['a1', 'a2', 'a3', 'b1'],
  );
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const actions = entries.map(({ action }) => action);
  assert.equal(actions.filter((action) => action === 'start bulk operation').length, 1);
  assert.ok(entries.some(({ action, subject }) => action === 'tag machine' && subject === id('b1')));
});

test('a stopped operation leaves the machines that wait as they are', async () => {
  await using on = await testServer();
  await fleetOf(on, ['a', 'b', 'c']);
  const bulk = await on.client(BulkService);
  const { id } = await start(bulk, { target: { organizationId: on.orgId }, change: tagged(['x']) });
  await run(bulk, id, 1);
  const stopped = (await bulk.stopBulkOperation({ id })).operation ?? assert.fail();
  assert.ok(stopped.stoppedOn && stopped.stoppedBy.includes(on.owner.entity));
  assert.deepEqual(countsOf(await run(bulk, id)), [2, 1, 0, 0, 0]);
  const [listed] = (await bulk.listBulkOperations({ organizationId: on.orgId })).operations;
  assert.deepEqual([listed?.id, listed?.number, listed?.change?.change.case], [id, 1, 'tags']);
});

test('simultaneous calls change each machine once', async () => {
  await using on = await testServer();
  const { made } = await fleetOf(
    on,
    Array.from({ length: 12 }, (_, n) => `m${n}`),
  );
  const bulk = await on.client(BulkService);
  const { id } = await start(bulk, { target: { organizationId: on.orgId }, change: tagged(['x']) });
  const counts = async () => countsOf((await bulk.getBulkOperation({ id })).operation ?? assert.fail());
  // A call changes as many as it can within a second.
  while ((await counts())[0] !== 0) await Promise.all([1, 2, 3, 4].map(() => run(bulk, id)));
  assert.deepEqual(await counts(), [0, 12, 0, 0, 0]);
  const request = { organizationId: on.orgId, actions: ['tag machine'] };
  const { entries } = await (await on.client(AuditService)).listAuditEntries(request);
  assert.equal(entries.length, Object.keys(made).length);
});

test('machines that a call claimed and left are changed by a later one, also after the clock was set back', async () => {
  await using on = await testServer();
  await fleetOf(on, ['a', 'b', 'c']);
  const bulk = await on.client(BulkService);
  const { id } = await start(bulk, { target: { organizationId: on.orgId }, change: tagged(['x']) });
  for (const [place, ago] of [61, 30, -3_600].entries())
    await sql`update bulk_machine set claimed_on = now() - make_interval(secs => ${ago})
      where operation_id = ${id}::uuid and place = ${place + 1}`.execute(on.db);
  assert.deepEqual(countsOf(await run(bulk, id)), [1, 2, 0, 0, 0]);
});

test('a call waits a moment for machines that another call has, so that callers do not repeat it all the time', async () => {
  await using on = await testServer();
  await fleetOf(on, ['a']);
  const bulk = await on.client(BulkService);
  const { id } = await start(bulk, { target: { organizationId: on.orgId }, change: tagged(['x']) });
  await sql`update bulk_machine set claimed_on = now() - interval '59.3 s' where operation_id = ${id}::uuid`.execute(
    on.db,
  );
  // The claim ends while the call waits.
  assert.deepEqual(countsOf(await run(bulk, id)), [0, 1, 0, 0, 0]);
});

test('restart, pin, move and delete: what each does, and who is left out', async () => {
  await using on = await testServer();
  const { id, made } = await fleetOf(on, ['a', 'b', 'c']);
  const [bulk, fleet] = [await on.client(BulkService), await on.client(FleetService)];
  const organizationId = on.orgId;
  const machineIds = [id('a'), id('b')];
  await sql`update part set last_seen = now() - interval '1 h' where id = ${made['a']?.partId}::uuid`.execute(on.db);
  const restart = { change: { case: 'restart' as const, value: {} } };
  const preview = await bulk.previewBulkOperation({ target: { organizationId, machineIds }, change: restart });
  assert.deepEqual([preview.changing, preview.refused, preview.refusals[0]?.examples], [1, 1, ['b']]);
  assert.deepEqual(preview.notes[0]?.examples, ['a']);
  await run(bulk, (await start(bulk, { target: { organizationId, machineIds }, change: restart })).id);
  assert.ok((await fleet.getMachine({ id: id('a') })).machine?.restartRequestedOn);

  const partId = made['a']?.partId ?? '';
  await fleet.saveConfig({
    partId,
    configJson: '{"agent":{"version_control":{"platform-server":"dev"}},"components":[]}',
  });
  const pin = { change: { case: 'pin' as const, value: { program: 'server', version: 'dev' } } };
  const pinned = await start(bulk, { target: { organizationId, machineIds }, change: pin });
  assert.deepEqual(countsOf(await run(bulk, pinned.id)), [0, 1, 1, 0, 0]);
  const { configJson } = await fleet.getConfig({ partId: made['b']?.partId ?? '' });
  assert.equal(JSON.parse(configJson).agent.version_control['platform-server'], 'dev');

  const move = { change: { case: 'move' as const, value: { locationId: field } } };
  await sql`update machine set location_id = ${field}, name = 'b' where id = ${id('c')}::uuid`.execute(on.db);
  const moved = await start(bulk, { target: { organizationId }, change: move });
  assert.deepEqual(countsOf(moved), [1, 0, 1, 1, 0]);
  assert.deepEqual(countsOf(await run(bulk, moved.id)), [0, 1, 1, 1, 0]);
  assert.equal((await fleet.getMachine({ id: id('a') })).machine?.locationId, field);

  const remove = { change: { case: 'delete' as const, value: {} } };
  const removed = await start(bulk, { target: { organizationId, query: 'location:field' }, change: remove });
  assert.deepEqual(countsOf(await run(bulk, removed.id)), [0, 2, 0, 0, 0]);
  assert.deepEqual(
    (await fleet.listMachines({ organizationId })).machines.map((one) => one.id),
    [id('b')],
  );
});

test('callers change only what they may change one by one, also when their rights end meanwhile', async () => {
  await using on = await testServer();
  const { id } = await fleetOf(on, ['a', 'b']);
  const grants = [{ role: 'operator' as const, resource: 'robot' as const, resourceId: id('a'), orgId: on.orgId }];
  const key = await insertKey(on.db, { orgId: on.orgId, name: 'narrow', grants });
  const narrow = await on.client(BulkService, { type: 'api-key', entity: key.id, payload: key.key });
  const organizationId = on.orgId;
  const chosen = { organizationId, machineIds: [id('a'), id('b')] };
  const preview = await narrow.previewBulkOperation({ target: chosen, change: tagged(['x']) });
  assert.deepEqual([preview.targets, preview.changing, preview.refusals[0]?.code], [2, 1, 'MACHINE_NOT_FOUND']);
  assert.ok(!JSON.stringify(preview.refusals).includes('"b"'));
  const whole = await narrow.previewBulkOperation({ target: { organizationId }, change: tagged(['x']) });
  assert.deepEqual([whole.targets, whole.changing], [1, 1]);
  const remove = { change: { case: 'delete' as const, value: {} } };
  const refused = await narrow.previewBulkOperation({ target: { organizationId }, change: remove });
  assert.deepEqual([refused.changing, refused.refusals[0]?.code], [0, 'NOT_OWNER']);
  assert.equal(
    await failure(narrow.startBulkOperation({ target: { organizationId }, change: remove })),
    'InvalidArgument INVALID_ARGUMENT',
  );

  const bulk = await on.client(BulkService);
  const all = await start(bulk, { target: { organizationId }, change: remove });
  assert.equal(await failure(narrow.runBulkOperation({ id: all.id })), 'NotFound BULK_OPERATION_NOT_FOUND');
  const operators = [
    { role: 'operator' as const, resource: 'organization' as const, resourceId: on.orgId, orgId: on.orgId },
  ];
  const member = await insertKey(on.db, { orgId: on.orgId, name: 'member', grants: operators });
  const operator = await on.client(BulkService, { type: 'api-key', entity: member.id, payload: member.key });
  assert.deepEqual(countsOf(await run(operator, all.id)), [0, 0, 0, 0, 2]);
});

test('no machine is moved to a location of another organization', async () => {
  await using on = await testServer();
  await fleetOf(on, ['a']);
  const orgId = randomUUID();
  await on.db.insertInto('organization').values({ id: orgId, name: 'Others', publicNamespace: 'others' }).execute();
  await insertLocation(on.db, { id: 'others0000', orgId, name: 'Theirs', parentLocationId: null });
  const grants = [on.orgId, orgId].map((resourceId) => ({
    role: 'owner' as const,
    resource: 'organization' as const,
    resourceId,
    orgId: resourceId,
  }));
  const key = await insertKey(on.db, { orgId: on.orgId, name: 'both', grants });
  const both = await on.client(BulkService, { type: 'api-key', entity: key.id, payload: key.key });
  const move = { change: { case: 'move' as const, value: { locationId: 'others0000' } } };
  const target = { organizationId: on.orgId };
  assert.equal(await failure(both.startBulkOperation({ target, change: move })), 'NotFound LOCATION_NOT_FOUND');
});

test('without a pin, machines follow stable, also those whose fragment has another version', async () => {
  await using on = await testServer();
  const { made } = await fleetOf(on, ['a', 'b']);
  const [bulk, fleet, app] = [await on.client(BulkService), await on.client(FleetService), await on.client(AppService)];
  const organizationId = on.orgId;
  const config = { agent: { version_control: { 'viam-server': 'dev' } } };
  const created = await app.createFragment({ organizationId, name: 'base', configJson: JSON.stringify(config) });
  const fragments = [created.fragment?.id];
  for (const { partId } of Object.values(made))
    await fleet.saveConfig({ partId, configJson: JSON.stringify({ fragments }) });
  const unpin = { change: { case: 'pin' as const, value: { program: 'server', version: '' } } };
  const begun = await start(bulk, { target: { organizationId }, change: unpin });
  assert.deepEqual(countsOf(await run(bulk, begun.id)), [0, 2, 0, 0, 0]);
  const { mergedJson, fragments: used } = await fleet.getConfig({ partId: made['b']?.partId ?? '' });
  assert.deepEqual(Object.values(JSON.parse(mergedJson).agent.version_control), ['stable']);
  assert.equal(used.length, 1);
  const again = await bulk.previewBulkOperation({ target: { organizationId }, change: unpin });
  assert.deepEqual([again.changing, again.unchanged], [0, 2]);
});

test('wrong targets and changes are refused', async () => {
  await using on = await testServer();
  const bulk = await on.client(BulkService);
  const someId = '3f2a0000-0000-4000-8000-000000000000';
  const wrong: readonly (readonly [MessageInitShape<typeof BulkTargetSchema>, Change?])[] = [
    [{}],
    [{ query: 'stat:x' }, tagged(['x'])],
    [{ query: 'a', machineIds: [someId] }, tagged(['x'])],
    [{ machineIds: ['x'] }, tagged(['x'])],
    [{}, tagged(['a b'])],
    [{}, { change: { case: 'pin' as const, value: { program: 'kernel', version: 'dev' } } }],
    [{}, { change: { case: 'pin' as const, value: { program: 'server', version: 'no version' } } }],
  ];
  for (const [target, change] of wrong) {
    const request = { target: { organizationId: on.orgId, ...target }, ...(change && { change }) };
    assert.match(await failure(bulk.previewBulkOperation(request)), /^InvalidArgument/, JSON.stringify(target));
  }
});
