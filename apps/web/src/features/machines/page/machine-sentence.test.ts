import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigState,
  MachineSchema,
  OnlineState,
  OrderKind,
  OrderState,
  ServerState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Tone } from '../../../ui/status-label.ts';
import { machineSentence, sentenceText } from './machine-sentence.ts';

type Machine = MessageInitShape<typeof MachineSchema>;
const clock = (hours: number, minutes: number): number => new Date(2026, 10, 29, hours, minutes).getTime();
const now = clock(15, 0);
const at = (hours: number, minutes: number) => timestampFromMs(clock(hours, minutes));

const inEffect = { state: ConfigState.IN_EFFECT, savedRevision: 8n, isCurrent: true, since: at(14, 1) };
const running = { serverState: ServerState.RUNNING };
const online: Machine = {
  onlineState: OnlineState.ONLINE,
  lastSeen: at(15, 0),
  reportedOn: at(14, 59),
  configStatus: inEffect,
  report: running,
};
const offline: Machine = {
  ...online,
  onlineState: OnlineState.OFFLINE,
  lastSeen: at(9, 12),
  configStatus: { ...inEffect, state: ConfigState.UNKNOWN, isCurrent: false, wasInEffect: true },
};
const camera = {
  code: 'CAMERA_FAILED',
  severity: Severity.ERROR,
  message: 'The camera "front" gives no image: no such device.',
  remedy: 'Provide it on the machine.',
  since: at(14, 2),
  path: 'components[0].attributes.path',
};
const disk = { code: 'DISK_LOW', severity: Severity.WARNING, message: 'The disk has 1 GB left.', since: at(9, 5) };
const reporting = (report: NonNullable<Machine['report']>): Machine => ({
  ...online,
  report: { ...running, ...report },
});
const configured = (status: NonNullable<Machine['configStatus']>): Machine => ({
  ...online,
  configStatus: { ...inEffect, ...status },
});
const ordered = (kind: OrderKind) => [
  { kind, state: OrderState.BEGUN, requestedBy: 'api_key Mira (0f0f)', requestedOn: at(14, 50), since: at(14, 51) },
];

const rows: readonly (readonly [about: string, machine: Machine, tone: Tone, head: string, detail?: string])[] = [
  ['all is well', online, 'good', 'Runs revision 8 since 14:01. It reports no problem.'],
  [
    'a camera fails',
    reporting({ conditions: [disk, camera] }),
    'bad',
    'Runs revision 8 since 14:01. The camera "front" gives no image: no such device, since 14:02.',
    'Provide it on the machine.',
  ],
  [
    'two fail: the one that came first is named',
    reporting({ conditions: [{ ...camera, message: 'Later.', since: at(14, 30) }, camera] }),
    'bad',
    'Runs revision 8 since 14:01. The camera "front" gives no image: no such device, since 14:02; and 1 more.',
    'Provide it on the machine.',
  ],
  [
    'a warning',
    { ...online, conditions: [disk] },
    'warn',
    'Runs revision 8 since 14:01. The disk has 1 GB left, since 09:05.',
  ],
  [
    'nothing saved',
    configured({ state: ConfigState.NONE_SAVED, savedRevision: 0n }),
    'good',
    'Runs with its defaults: no configuration is saved. It reports no problem.',
  ],
  [
    'in part',
    configured({ state: ConfigState.PARTLY_IN_EFFECT }),
    'warn',
    'Runs revision 8 in part since 14:01. It reports no problem.',
  ],
  [
    'a newer revision is not applied yet',
    configured({
      state: ConfigState.APPLYING,
      savedRevision: 9n,
      actingRevision: 8n,
      savedOn: at(14, 58),
      reason: 'the machine has not reported since this was saved',
    }),
    'busy',
    'Runs revision 8. Revision 9, saved at 14:58, is not in effect yet: the machine has not reported since this was saved. It reports no problem.',
  ],
  [
    'a version is pinned on the machine',
    configured({ state: ConfigState.NOT_IN_EFFECT, reason: 'the agent is pinned to 1.4.0 on this machine' }),
    'bad',
    'Revision 8 is not in effect since 14:01: the agent is pinned to 1.4.0 on this machine. It reports no problem.',
  ],
  [
    'only a number is known',
    configured({ state: ConfigState.NUMBER_ONLY, reason: 'its agent is older' }),
    'quiet',
    'Whether revision 8 is in effect is not confirmed: its agent is older. It reports no problem.',
  ],
  [
    'an older server',
    { onlineState: OnlineState.ONLINE, reportedOn: at(14, 59), report: running },
    'quiet',
    'Which revision is in effect is not known. It reports no problem.',
  ],
  [
    'a reboot is carried out',
    { ...online, report: { ...running, conditions: [camera] }, orders: ordered(OrderKind.REBOOT) },
    'busy',
    'Runs revision 8 since 14:01. The device reboots since 14:51, ordered by Mira (key).',
  ],
  [
    'a restart is requested',
    { ...online, restartRequestedOn: at(14, 55) },
    'busy',
    'Runs revision 8 since 14:01. A restart of its machine server was requested at 14:55.',
  ],
  [
    'the machine server crashed',
    reporting({ serverState: ServerState.WAITING, server: { lastExit: { reason: 'exit 3', since: at(14, 57) } } }),
    'bad',
    'Runs revision 8 since 14:01. Its machine server does not run since 14:57: it ended with exit 3.',
  ],
  [
    'the machine server starts',
    reporting({ serverState: ServerState.STARTING }),
    'busy',
    'Runs revision 8 since 14:01. Its machine server starts.',
  ],
  [
    'the machine server is disabled',
    reporting({ serverState: ServerState.DISABLED }),
    'warn',
    'Runs revision 8 since 14:01. Its machine server is disabled by the configuration.',
  ],
  [
    'the agent is on trial',
    reporting({ agent: { trial: { version: '1.5.0', starts: 1, since: at(14, 40) } } }),
    'busy',
    'Runs revision 8 since 14:01. Its agent 1.5.0 is on trial since 14:40 (start 1 of 3).',
  ],
  [
    'a restart is needed',
    reporting({
      server: {
        runningVersion: '1',
        installedVersion: '2',
        wantedVersion: '2',
        restartNeeded: true,
        why: '2 waits for a restart.',
      },
    }),
    'warn',
    'Runs revision 8 since 14:01. Its machine server needs a restart to run 2.',
    '2 waits for a restart.',
  ],
  [
    'an update is on its way',
    reporting({ server: { runningVersion: '1', installedVersion: '1', wantedVersion: '2' } }),
    'busy',
    'Runs revision 8 since 14:01. Its machine server does not have version 2 yet.',
  ],
  [
    "another product's agent",
    { ...online, hasOtherAgent: true, report: {} },
    'quiet',
    'Runs revision 8 since 14:01. The agent of another product runs it, and reports only its versions.',
  ],
  ['offline', offline, 'off', 'Offline since 09:12.', 'It ran revision 8.'],
  [
    'offline while a camera failed',
    { ...offline, report: { conditions: [camera] } },
    'off',
    'Offline since 09:12.',
    'It ran revision 8, and reported: The camera "front" gives no image: no such device.',
  ],
  [
    'offline after a reboot that was ordered',
    { ...offline, orders: ordered(OrderKind.REBOOT) },
    'off',
    'Offline since 09:12. It has not come back from the reboot that was ordered at 14:50.',
    'It ran revision 8.',
  ],
  [
    'offline, and nothing of its revision is known',
    { ...offline, configStatus: { state: ConfigState.UNKNOWN, savedRevision: 9n } },
    'off',
    'Offline since 09:12.',
    'Which revision it ran is not known.',
  ],
  [
    'awaiting its set-up',
    { onlineState: OnlineState.AWAITING_SETUP, configStatus: { savedRevision: 3n } },
    'quiet',
    'Awaits its set-up: no agent has connected with its credentials yet.',
    'Revision 3 waits for it.',
  ],
  [
    'uninstalled',
    { ...offline, uninstalledOn: at(9, 12) },
    'quiet',
    'Uninstalled: its agent reported its removal at 09:12.',
    'It ran revision 8.',
  ],
  [
    'its identity is shared',
    { ...online, sharedIdentity: { runs: [{}, {}], since: at(13, 0) } },
    'bad',
    '2 computers use the credentials of this machine since 13:00.',
    'What is shown is of the one that came first.',
  ],
  ['it has not reported', { onlineState: OnlineState.ONLINE }, 'busy', 'Online, and has not reported yet.'],
  [
    'its reports do not arrive',
    { ...online, configStatus: { state: ConfigState.UNKNOWN, savedRevision: 8n, wasInEffect: true } },
    'warn',
    'Online, but no report has arrived since 14:59.',
    'It ran revision 8.',
  ],
];

for (const [about, machine, tone, head, detail = ''] of rows)
  test(`the sentence of a machine: ${about}`, () => {
    const sentence = machineSentence(create(MachineSchema, machine), undefined);
    assert.deepEqual(
      { tone: sentence.tone, head: sentenceText(sentence.head, now), detail: sentenceText(sentence.detail, now) },
      { tone, head, detail },
    );
  });

test('the condition that the sentence is about needs no note beside it', () => {
  const about = (machine: Machine, lostSince?: number) =>
    machineSentence(create(MachineSchema, machine), lostSince).about;
  const report = { ...running, conditions: [disk, camera] };
  const failing: Machine = { ...online, report };
  assert.equal(about(failing)?.code, 'CAMERA_FAILED');
  assert.equal(about({ ...online, report, orders: ordered(OrderKind.REBOOT) }), undefined);
  assert.equal(about({ ...offline, report }), undefined);
  assert.equal(about(failing, clock(14, 59)), undefined);
});

test('while the server does not answer, nothing is claimed of now', () => {
  const { tone, head, detail } = machineSentence(
    create(MachineSchema, reporting({ conditions: [camera] })),
    clock(14, 59),
  );
  assert.equal(tone, 'quiet');
  assert.equal(sentenceText(head, now), 'Not known now: the server has not answered since 14:59.');
  assert.equal(
    sentenceText(detail, now),
    'It ran revision 8, and reported: The camera "front" gives no image: no such device.',
  );
});

test('names in the sentence end their own direction', () => {
  const message = 'The camera "שלום\u202e" gives no image.';
  const { head } = machineSentence(
    create(MachineSchema, reporting({ conditions: [{ ...camera, message }] })),
    undefined,
  );
  const text = sentenceText(head, now);
  assert.ok(text.includes('\u2068The camera "שלום'), text);
  assert.ok(!text.includes('\u202e'), text);
});
