// What needs attention: measured by the server itself, with its history, mutes and rights.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Client } from '@connectrpc/connect';
import { sql } from 'kysely';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  ConditionService,
  ConditionState,
  ConditionSubject,
  type ListConditionsResponse,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { FleetService, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { insertKey } from '../src/access/store/keys.ts';
import { readRunnersSince } from '../src/conditions/store/measured-training.ts';
import { sampleEveryMs, watchEveryMs } from '../src/conditions/watch.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';
import { watched } from './watched-server.ts';

const hour = 3_600_000;

type Conditions = Client<typeof ConditionService>;
const disk = {
  code: 'DISK_FULL',
  severity: Severity.ERROR,
  message: 'No space is free on /data.',
  remedy: 'Delete files.',
};
const camera = {
  code: 'CAMERA_FAILED',
  severity: Severity.WARNING,
  message: 'No such device.',
  remedy: 'Check it.',
  path: 'components[0]',
};

const isOfMachine = ({ subject }: { subject: ConditionSubject }): boolean => subject === ConditionSubject.MACHINE;
const lines = ({ conditions }: ListConditionsResponse): string[] =>
  conditions
    .filter(({ subject }) => subject !== ConditionSubject.SERVER)
    .map(({ subjectName, code }) => `${subjectName} ${code}`);
const list = async (conditions: Conditions, organizationId: string, of: object = {}) =>
  lines(await conditions.listConditions({ organizationId, ...of }));

test('what machines report is listed worst first, and ends with its cause; both times stay', async () => {
  await using of = await watched();
  const { on, conditions, organizationId, reports } = of;
  const barn = await on.machine('barn');
  await reports(barn, { conditions: [camera, disk] });
  assert.deepEqual(await list(conditions, organizationId), ['barn DISK_FULL', 'barn CAMERA_FAILED']);
  const ofMachines = { organizationId, subjects: [ConditionSubject.MACHINE] };
  const { conditions: found, counts, fingerprint } = await conditions.listConditions(ofMachines);
  assert.deepEqual([counts?.errors, counts?.warnings, counts?.notes], [1, 1, 0]);
  assert.deepEqual(found.map(({ message, remedy, path, partId }) => [message, remedy, path, partId])[1], [
    'No such device.',
    'Check it.',
    'components[0]',
    barn.partId,
  ]);
  const same = await conditions.listConditions({ ...ofMachines, knownFingerprint: fingerprint });
  assert.deepEqual([same.unchanged, same.conditions.length], [true, 0]);
  for (const [filter, expected] of [
    [{ severities: [3] }, ['barn DISK_FULL']],
    [{ subjects: [1], containing: 'NO SUCH' }, ['barn CAMERA_FAILED']],
    [{ code: 'DISK_FULL' }, ['barn DISK_FULL']],
    [{ machineId: barn.partId, severities: [2] }, ['barn CAMERA_FAILED']],
    [{ subjects: [2, 3] }, []],
    [{ state: ConditionState.ENDED }, []],
  ] as const)
    assert.deepEqual(await list(conditions, organizationId, filter), expected, JSON.stringify(filter));
  await reports(barn, { conditions: [camera] });
  assert.deepEqual(await list(conditions, organizationId), ['barn CAMERA_FAILED']);
  const ended = await conditions.listConditions({ organizationId, state: ConditionState.ENDED });
  assert.deepEqual(lines(ended), ['barn DISK_FULL']);
  const [one] = ended.conditions;
  assert.ok(one?.since && one.endedOn && timestampMs(one.endedOn) >= timestampMs(one.since));
});

test('a machine that reports nonsense keeps no other from being measured', async () => {
  await using of = await watched();
  const { on, conditions, organizationId, reports } = of;
  const [barn, shed] = [await on.machine('barn'), await on.machine('shed')];
  const long = `${'x'.repeat(499)}😀${on.orgId.repeat(400)}`;
  const since = { seconds: -(2n ** 62n), nanos: 0 };
  await reports(barn, { conditions: [{ ...camera, message: long, remedy: long, code: long, path: long, since }] });
  await reports(shed, { conditions: [disk] });
  assert.ok((await list(conditions, organizationId)).includes('shed DISK_FULL'));
  assert.equal((await conditions.listConditions({ organizationId, machineId: barn.machineId })).conditions.length, 1);
});

test('a machine is offline after five minutes; what it reported stays and is of the past; it ends when it is back', async () => {
  await using of = await watched();
  const { on, time, conditions, organizationId, next, reports } = of;
  const barn = await on.machine('barn');
  await reports(barn, { conditions: [camera] });
  assert.deepEqual(await list(conditions, organizationId), ['barn CAMERA_FAILED']);
  await reports(barn, undefined);
  time.advance(6 * 60_000);
  await next();
  assert.deepEqual(await list(conditions, organizationId), ['barn MACHINE_OFFLINE', 'barn CAMERA_FAILED']);
  const { conditions: found } = await conditions.listConditions({ organizationId, machineId: barn.machineId });
  const [away, past] = found;
  assert.ok(away?.measuredOn === undefined && past?.measuredOn !== undefined && away?.since !== undefined);
  assert.ok(time.clock.wall() - timestampMs(past.measuredOn) > 5 * 60_000);
  const { groups, numbers } = await conditions.getOverview({ organizationId });
  assert.deepEqual(
    groups.filter(isOfMachine).map(({ code, count }) => [code, count]),
    [
      ['MACHINE_OFFLINE', 1],
      ['CAMERA_FAILED', 1],
    ],
  );
  assert.deepEqual([numbers?.machines, numbers?.online, numbers?.offline], [1, 0, 1]);
  await reports(barn, { conditions: [] });
  assert.deepEqual(await list(conditions, organizationId), []);
});

test('while nothing can be measured no machine is missed, and no number is stored before machines had time to connect', async () => {
  await using of = await watched();
  const { on, time, conditions, organizationId, next, reports } = of;
  // All of the first half is in one period of samples.
  time.jump(sampleEveryMs - (time.clock.wall() % sampleEveryMs));
  const barn = await on.machine('barn');
  const samples = async () => (await conditions.getOverview({ organizationId })).numbers?.samples.length;
  await reports(barn, { conditions: [] });
  assert.equal(await samples(), 0);
  time.advance(3 * 60_000);
  await reports(barn, { conditions: [] });
  assert.equal(await samples(), 1);
  await sql`alter table runner rename to away`.execute(on.db);
  while (!(await conditions.listConditions({ organizationId })).measurementLate) time.advance(watchEveryMs);
  time.advance(6 * 60_000);
  await sql`alter table away rename to runner`.execute(on.db);
  await reports(barn, undefined);
  assert.deepEqual(await list(conditions, organizationId), []);
  time.advance(6 * 60_000);
  await next();
  assert.deepEqual(await list(conditions, organizationId), ['barn MACHINE_OFFLINE']);
});

test('a clock of the server that is set back hides no machine that is away', async () => {
  await using of = await watched();
  const { on, time, conditions, organizationId, reports } = of;
  const barn = await on.machine('barn');
  await reports(barn, { conditions: [] });
  await reports(barn, undefined);
  time.jump(-24 * hour);
  time.advance(12 * 60_000);
  const shown = async () => list(conditions, organizationId);
  for (let tries = 0; tries < 100 && (await shown()).length === 0; tries += 1) time.advance(watchEveryMs);
  assert.deepEqual(await shown(), ['barn MACHINE_OFFLINE']);
});

test('what another server on the same database stored ends, too', async () => {
  await using of = await watched();
  const { on, conditions, organizationId, reports } = of;
  const barn = await on.machine('barn');
  await reports(barn, { conditions: [] });
  await sql`insert into condition_record (id, org_id, subject, subject_id, subject_name, machine_id, code, place, severity,
      message, remedy, began_on)
    values (${randomUUID()}, ${on.orgId}, 'machine', ${barn.machineId}, 'barn', ${barn.machineId}, 'DISK_FULL', '', 3,
            '', '', now())`.execute(on.db);
  await reports(barn, { conditions: [disk] });
  const { conditions: found } = await conditions.listConditions({ organizationId, machineId: barn.machineId });
  assert.deepEqual(
    found.map(({ message }) => message),
    [disk.message],
  );
  await reports(barn, { conditions: [] });
  assert.deepEqual(await list(conditions, organizationId), []);
});

test('a muted condition is listed apart until its end, also when it ends and begins again; the audit names who', async () => {
  await using of = await watched();
  const { on, time, conditions, organizationId, reports } = of;
  const [barn, shed] = [await on.machine('barn'), await on.machine('shed')];
  for (const one of [barn, shed]) await reports(one, { conditions: [disk] });
  const { conditions: found } = await conditions.listConditions({ organizationId, machineId: barn.machineId });
  const id = found[0]?.id ?? '';
  const until = timestampFromMs(time.clock.wall() + hour);
  const wrong = [
    { id, reason: ' ', until },
    { id, reason: 'x'.repeat(301), until },
    { id, reason: 'x' },
    { id, reason: 'x', until: timestampFromMs(time.clock.wall() - 1) },
    { id, reason: 'x', until: timestampFromMs(time.clock.wall() + 91 * 24 * hour) },
  ];
  for (const one of wrong)
    assert.match(await failure(conditions.muteCondition(one)), /^InvalidArgument/, JSON.stringify(one.reason));
  assert.equal(
    await failure(conditions.muteCondition({ id: 'x', reason: 'x', until })),
    'NotFound CONDITION_NOT_FOUND',
  );
  await conditions.muteCondition({ id, reason: 'A new disk comes on Friday', until });
  const muted = { state: ConditionState.MUTED };
  assert.deepEqual(await list(conditions, organizationId), ['shed DISK_FULL']);
  assert.deepEqual(await list(conditions, organizationId, muted), ['barn DISK_FULL']);
  await reports(barn, { conditions: [] });
  assert.deepEqual(await list(conditions, organizationId, muted), []);
  await reports(barn, { conditions: [disk] });
  assert.deepEqual(await list(conditions, organizationId, muted), ['barn DISK_FULL']);
  const { groups, muted: number } = await conditions.getOverview({ organizationId });
  assert.deepEqual([groups.find(({ code }) => code === 'DISK_FULL')?.count, number], [1, 1]);
  time.advance(hour + 1_000);
  for (const one of [barn, shed]) await reports(one, { conditions: [disk] });
  assert.deepEqual((await list(conditions, organizationId)).toSorted(), ['barn DISK_FULL', 'shed DISK_FULL']);
  const again = (await conditions.listConditions({ organizationId, code: 'DISK_FULL' })).conditions[0];
  const later = timestampFromMs(time.clock.wall() + hour);
  const { mute } = await conditions.muteCondition({ id: again?.id ?? '', reason: 'All', until: later, ofAll: true });
  assert.deepEqual(await list(conditions, organizationId), []);
  assert.equal((await list(conditions, organizationId, muted)).length, 2);
  await conditions.unmuteCondition({ id: mute?.id ?? '' });
  assert.equal((await list(conditions, organizationId)).length, 2);
  assert.equal(await failure(conditions.unmuteCondition({ id: mute?.id ?? '' })), 'NotFound MUTE_NOT_FOUND');
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId });
  const audited = entries
    .filter(({ action }) => action.includes('mute'))
    .map(({ action, actor }) => [action, /first key/.test(actor)]);
  assert.deepEqual(audited, [
    ['unmute condition', true],
    ['mute condition', true],
    ['mute condition', true],
  ]);
});

test('a caller sees the conditions of what it may see: of one machine, of an organization, of the server', async () => {
  await using of = await watched();
  const { on, organizationId, next, reports, time } = of;
  const [barn, shed] = [await on.machine('barn'), await on.machine('shed')];
  for (const one of [barn, shed]) await reports(one, { conditions: [disk] });
  const as = async (resource: 'organization' | 'robot', resourceId: string) => {
    const grant = { role: 'operator' as const, resource, resourceId, orgId: on.orgId };
    const made = await insertKey(on.db, { orgId: on.orgId, name: resource, grants: [grant] });
    return on.client(ConditionService, { type: 'api-key', entity: made.id, payload: made.key });
  };
  const all = (await (await on.client(ConditionService)).listConditions({ organizationId })).conditions;
  const listed = all.filter(({ code }) => code !== 'SERVER_CHECK_FAILED');
  assert.deepEqual(listed.map(({ subjectName, code }) => `${subjectName} ${code}`).toSorted(), [
    ' BACKUP_NOT_SCHEDULED',
    'barn DISK_FULL',
    'shed DISK_FULL',
  ]);
  const ofBarn = await as('robot', barn.machineId);
  const member = await as('organization', on.orgId);
  assert.deepEqual(
    (await ofBarn.listConditions({ organizationId })).conditions.map(({ subjectName }) => subjectName),
    ['barn'],
  );
  assert.equal((await member.listConditions({ organizationId })).conditions.length, 2);
  assert.equal((await ofBarn.getOverview({ organizationId })).numbers, undefined);
  const { numbers } = await member.getOverview({ organizationId });
  assert.deepEqual([numbers?.machines, numbers?.disk], [2, undefined]);
  const idOf = (name: string): string => all.find(({ subjectName }) => subjectName === name)?.id ?? '';
  const until = timestampFromMs(time.clock.wall() + hour);
  const mute = (client: Conditions, name: string, ofAll = false) =>
    failure(client.muteCondition({ id: idOf(name), reason: 'x', until, ofAll }));
  assert.equal(await mute(ofBarn, 'shed'), 'PermissionDenied PERMISSION_DENIED');
  assert.equal(await mute(ofBarn, 'barn', true), 'PermissionDenied PERMISSION_DENIED');
  assert.equal(await mute(member, ''), 'PermissionDenied PERMISSION_DENIED');
  await ofBarn.muteCondition({ id: idOf('barn'), reason: 'x', until });
  await reports(shed, undefined);
  await (await on.client(FleetService)).deleteMachine({ id: shed.machineId });
  await next();
  assert.deepEqual((await member.listConditions({ organizationId })).conditions.length, 0);
});

test('an organization with very many runners does not hide those of another', async () => {
  await using on = await testServer();
  const { db, orgId } = on;
  const other = randomUUID();
  await sql`insert into organization (id, name, public_namespace) values (${other}, 'many', 'many')`.execute(db);
  const add = (of: string, count: number, ago: string) =>
    sql`insert into runner (org_id, id, host, version, executor, kinds, gpus, containers, no_scripts_because, last_seen)
      select ${of}::uuid, 'r' || n, 'h', '', '', '{}', 0, '[]', '', now() - ${ago}::interval
        from generate_series(1, ${count}::int) n`.execute(db);
  await add(other, 10_001, '1 minute');
  await add(orgId, 1, '1 day');
  const runners = await readRunnersSince(db, Date.now() - 48 * hour);
  assert.deepEqual(
    [other, orgId].map((id) => runners.filter((one) => one.orgId === id).length),
    [1_000, 1],
  );
});
