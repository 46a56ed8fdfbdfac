import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allConditions, conditionChanges, type Measured, type OpenCondition } from './all-conditions.ts';
import { type FoundCondition, keyOf } from './condition.ts';
import { keptOf, type MeasuredMachine, type ReportedCondition } from './machine-conditions.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = Date.parse('2026-03-10T12:00:00Z');

const well: MeasuredMachine = {
  orgId: 'org',
  machineId: 'm1',
  name: 'barn-1',
  createdOn: now - 30 * day,
  state: 'online',
  lastSeen: now,
  diskFree: 50e9,
  diskSize: 100e9,
  reported: [],
};
const reported: ReportedCondition = {
  code: 'CAMERA_FAILED',
  severity: 2,
  message: 'Camera front: no such device.',
  remedy: 'Check it.',
  path: 'components[0]',
  since: now - hour,
};
const job = {
  orgId: 'org',
  id: 'j1',
  model: 'pallets',
  code: 'OUT_OF_MEMORY',
  problem: 'No memory.',
  endedOn: now - hour,
};
const stuck = { orgId: 'org', id: 'j2', model: 'cups', count: 2, oldest: now - hour, reason: 'No runner has 2 GPUs.' };
const runner = { orgId: 'org', id: 'r1', host: 'gpu-01', lastSeen: now - hour };
const server: Measured['server'] = {
  failed: [],
  disk: { size: 500e9, free: 400e9 },
  certificate: { ends: now + 80 * day, problems: [] },
  backup: { isScheduled: true, problem: undefined, last: now - hour },
};
const nothing: Measured = { machines: [], failedJobs: [], stuckJobs: [], runners: [], server };

type At = Partial<Parameters<typeof allConditions>[1]>;
const listed = (measured: Partial<Measured>, at: At = {}): string[] =>
  allConditions({ ...nothing, ...measured }, { now, watchedSince: now - day, away: new Set(), ...at }).map(
    ({ code, severity, message, since }) =>
      `${severity} ${code}${since === undefined ? '' : ` ${new Date(since).toISOString().slice(8, 16)}`}: ${message}`,
  );
const machine = (is: Partial<MeasuredMachine>) => ({ machines: [{ ...well, ...is }] });
const ofServer = (is: Partial<Measured['server']>) => ({ server: { ...server, ...is } });

const offline = { state: 'offline', lastSeen: now - hour } as const;
const silent = '3 MACHINE_OFFLINE 10T11:00: The machine has stopped checking in.';

const sources: readonly (readonly [what: string, Partial<Measured>, expected: readonly string[], at?: At])[] = [
  ['all is well', machine({}), []],
  ['a machine is away', machine(offline), [silent]],
  ['a machine restarts', machine({ ...offline, lastSeen: now - 4 * minute }), []],
  ['the server has just started: it could not see machines', machine(offline), [], { watchedSince: now - minute }],
  [
    'the server has just started, and the machine was away before',
    machine(offline),
    [silent],
    { watchedSince: now - minute, away: new Set(['m1']) },
  ],
  [
    'a machine is away whose last report named a problem: both stay',
    machine({ ...offline, reported: [reported] }),
    [
      `${silent} Its last report: Camera front: no such device.`,
      '2 CAMERA_FAILED 10T11:00: Camera front: no such device.',
    ],
  ],
  [
    'the clock of the server was set back: a machine that is away was seen in the future',
    machine({ ...offline, lastSeen: now + day }),
    ['3 MACHINE_OFFLINE 11T12:00: The machine has stopped checking in.'],
  ],
  ['a removed agent', machine({ state: 'uninstalled', reported: [reported] }), []],
  [
    'a machine that was never seen',
    machine({ state: 'awaiting setup', createdOn: now - hour, lastSeen: undefined }),
    [],
  ],
  [
    'a machine that was not seen for a day',
    machine({ state: 'awaiting setup', createdOn: now - 2 * day, lastSeen: undefined }),
    ['1 MACHINE_NEVER_SEEN 09T12:00: The machine was created more than a day ago and has never checked in.'],
  ],
  [
    'a dead disk, which the machine reports itself',
    machine({ diskFree: 0, reported: [{ ...reported, code: 'DISK_FULL', severity: 3, path: '' }] }),
    ['3 DISK_FULL 10T11:00: Camera front: no such device.'],
  ],
  [
    'a disk that fills up',
    machine({ diskFree: 1.4e9, diskSize: 30e9 }),
    ['2 MACHINE_DISK_LOW: 1.4 GB of 30 GB are free on the disk of the machine.'],
  ],
  ['a small disk with room', machine({ diskFree: 1.4e9, diskSize: 8e9 }), []],
  ['a large disk with room', machine({ diskFree: 20e9, diskSize: 1000e9 }), []],
  ['a disk that is not measured', machine({ diskFree: undefined }), []],
  [
    'the same problem twice at one place: the worse one counts',
    machine({ reported: [reported, { ...reported, severity: 3 }, { ...reported, path: 'components[1]' }] }),
    [
      '3 CAMERA_FAILED 10T11:00: Camera front: no such device.',
      '2 CAMERA_FAILED 10T11:00: Camera front: no such device.',
    ],
  ],
  ['a failed job', { failedJobs: [job] }, ['3 JOB_FAILED 10T11:00: Job pallets failed (OUT_OF_MEMORY). No memory.']],
  ['a job that failed long ago', { failedJobs: [{ ...job, endedOn: now - 8 * day }] }, []],
  [
    'jobs that no runner takes',
    { stuckJobs: [stuck] },
    ['2 JOB_WAITS 10T11:00: 2 jobs are waiting, and no runner can take them. No runner has 2 GPUs.'],
  ],
  ['a job that was just submitted', { stuckJobs: [{ ...stuck, oldest: now - minute }] }, []],
  ['a runner is away', { runners: [runner] }, ['2 RUNNER_AWAY 10T11:00: Runner gpu-01 has stopped requesting work.']],
  ['a runner restarts', { runners: [{ ...runner, lastSeen: now - 10 * minute }] }, []],
  ['a runner that is not missed any more', { runners: [{ ...runner, lastSeen: now - 8 * day }] }, []],
  ['a runner, seen from a server that has just started', { runners: [runner] }, [], { watchedSince: now - minute }],
  [
    'the server has just started, and the runner was away before',
    { runners: [runner] },
    ['2 RUNNER_AWAY 10T11:00: Runner gpu-01 has stopped requesting work.'],
    { watchedSince: now - minute, away: new Set(['r1']) },
  ],
  [
    'the server has just started, and the runner that was away is back',
    { runners: [{ ...runner, lastSeen: now - minute }] },
    [],
    { watchedSince: now - minute, away: new Set(['r1']) },
  ],
  [
    'a server whose files cannot be written',
    ofServer({ failed: [{ name: 'blobs', problem: 'cannot be written: EROFS', since: now - hour }] }),
    ['3 SERVER_CHECK_FAILED 10T11:00: The server is not ready: blobs cannot be written: EROFS.'],
  ],
  [
    'the clock of the server was set back while a check fails',
    ofServer({ failed: [{ name: 'blobs', problem: 'is away', since: now + hour }] }),
    ['3 SERVER_CHECK_FAILED 10T13:00: The server is not ready: blobs is away.'],
  ],
  ['a check that was late once', ofServer({ failed: [{ name: 'blobs', problem: 'late', since: now - 5_000 }] }), []],
  [
    'the disk of the server fills up',
    ofServer({ disk: { size: 500e9, free: 12e9 } }),
    ['2 SERVER_DISK_LOW: 12 GB of 500 GB are free on the disk of the server.'],
  ],
  [
    'less is free than the operator wants',
    ofServer({ disk: { size: 4000e9, free: 100e9, leastFree: 101e9 } }),
    ['2 SERVER_DISK_LOW: 100 GB of 4000 GB are free on the disk of the server.'],
  ],
  ['as much is free as the operator wants', ofServer({ disk: { size: 500e9, free: 12e9, leastFree: 12e9 } }), []],
  ['the operator wants no room', ofServer({ disk: { size: 500e9, free: 0, leastFree: 0 } }), []],
  ['the disk of the server has room', ofServer({ disk: { size: 4000e9, free: 100e9 } }), []],
  [
    'a certificate ends soon',
    ofServer({ certificate: { ends: now + 9 * day, problems: [] } }),
    ['2 CERTIFICATE_ENDS 05T12:00: The certificate of the server ends on 2026-03-19.'],
  ],
  [
    'a certificate ends very soon',
    ofServer({ certificate: { ends: now + 2 * day, problems: [] } }),
    ['3 CERTIFICATE_ENDS 26T12:00: The certificate of the server ends on 2026-03-12.'],
  ],
  [
    'a certificate has ended',
    ofServer({ certificate: { ends: now - day, problems: [{ text: 'The certificate expired.', isFatal: true }] } }),
    ['3 CERTIFICATE_PROBLEM: The certificate expired.'],
  ],
  ['a server without a certificate', ofServer({ certificate: { ends: undefined, problems: [] } }), []],
  [
    'a backup failed',
    ofServer({ backup: { isScheduled: true, problem: 'The last attempt failed: ENOSPC', last: now - 3 * day } }),
    ['3 BACKUP_OVERDUE 07T12:00: The last attempt failed: ENOSPC.'],
  ],
  [
    'no backups',
    ofServer({ backup: { isScheduled: false, problem: undefined, last: undefined } }),
    ['1 BACKUP_NOT_SCHEDULED: The server makes no backups by itself.'],
  ],
];

for (const [what, measured, expected, at] of sources)
  test(`what needs attention: ${what}`, () => assert.deepEqual(listed(measured, at), expected));

test('a condition begins, changes and ends once; when it began stays, also when its source starts again', () => {
  const [found] = allConditions(
    { ...nothing, ...machine({ reported: [reported] }) },
    { now, watchedSince: 0, away: new Set() },
  );
  assert.ok(found);
  const first = conditionChanges(new Map(), [found], now);
  assert.deepEqual([first.begun.length, first.begun[0]?.began], [1, now - hour]);
  const open = (one: FoundCondition, began: number): Map<string, OpenCondition> =>
    new Map([[keyOf(one), { ...one, id: 'c1', began }]]);
  const before = open(found, now - hour);
  const same = { begun: [], changed: [], ended: [] };
  assert.deepEqual(conditionChanges(before, [found], now + minute), same);
  assert.deepEqual(conditionChanges(before, [{ ...found, since: now }], now + minute), same);
  assert.deepEqual(conditionChanges(before, [{ ...found, since: undefined }], now + minute), same);
  const worse = conditionChanges(before, [{ ...found, severity: 3 }], now + minute);
  assert.deepEqual(
    [worse.changed.map(({ severity, began }) => [severity, began]), worse.ended],
    [[[3, now - hour]], []],
  );
  assert.deepEqual(conditionChanges(before, [], now + minute), { ...same, ended: ['c1'] });
  const future = conditionChanges(new Map(), [{ ...found, since: now + day }], now);
  assert.equal(future.begun[0]?.began, now, 'a time of the future comes from a wrong clock');
  assert.deepEqual(conditionChanges(before, [found], now - day), same, 'the clock of the server was set back');
});

test('whatever a machine reports can be stored: cut, in whole characters, with a time that is possible', () => {
  const long = `${'x'.repeat(499)}😀${'y'.repeat(3_000)}`;
  const hostile = { ...reported, code: long, path: long, message: long, remedy: long, since: -8e18 };
  const measured = machine({ name: long, state: 'offline', lastSeen: now - hour, reported: [hostile] });
  const found = allConditions({ ...nothing, ...measured }, { now, watchedSince: now - day, away: new Set() });
  assert.deepEqual(
    found.map(({ since }) => since),
    [now - hour, undefined],
  );
  for (const { code, place, message, remedy, subjectName } of found) {
    for (const text of [code, place, message, remedy, subjectName]) assert.ok(text.isWellFormed(), text);
    // A row of an index has at most 2,704 bytes; a character has at most 3 for each unit of its length.
    assert.ok(3 * (code.length + place.length) < 2_500);
    assert.ok(Math.max(message.length, remedy.length, subjectName.length) <= 1_000);
  }
});

test('a machine cannot replace what the server found about it', () => {
  const hidden = { ...reported, code: 'MACHINE_OFFLINE', severity: 1 as const, message: 'All is well.', path: '' };
  const found = allConditions(
    { ...nothing, ...machine({ ...offline, reported: [hidden] }) },
    { now, watchedSince: 0, away: new Set() },
  );
  assert.deepEqual(
    conditionChanges(new Map(), found, now).begun.map(({ code, severity }) => [code, severity]),
    [['MACHINE_OFFLINE', 3]],
  );
});

test('of many reported conditions the worst are kept, and what the server notices itself', () => {
  const notes = Array.from({ length: 30 }, (_, n) => ({ ...reported, severity: 1 as const, path: `components[${n}]` }));
  const worst = { ...reported, code: 'DISK_FULL', severity: 3 as const };
  const kept = keptOf([...notes, worst]);
  assert.deepEqual([kept.length, kept[0]?.code], [20, 'DISK_FULL']);
  const errors = keptOf(notes.map((one) => ({ ...one, severity: 3 as const })));
  const noticed = { ...reported, code: 'SPOOL_REPEATED' };
  assert.ok(listed(machine({ reported: [noticed, ...errors] })).some((line) => line.includes('2 SPOOL_REPEATED')));
});
