import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  AgentReportSchema,
  BootReason,
  Severity,
  UpdateState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { timelineEvents, timelinePage, type TimelineFacts, type TimelinePlace, type TimelineRows } from './timeline.ts';

const minute = 60_000;
const now = 1000 * minute;
const none: TimelineRows = { revisions: [], actions: [], runs: [], orders: [], sampled: [], absences: [], watched: [] };
const quiet: TimelineFacts = {
  report: undefined,
  reportedOn: undefined,
  createdOn: 0,
  lostSince: undefined,
  uninstalledOn: undefined,
  now,
};
const reported = (report: MessageInitShape<typeof AgentReportSchema>): TimelineFacts => ({
  ...quiet,
  report: create(AgentReportSchema, report),
  reportedOn: now,
});
const order = { id: 'o', kind: 'reboot', requestedBy: 'Mira', requestedOn: now - 30 * minute, reason: '' } as const;
const since = timestampFromMs(now - 5 * minute);

const rows: readonly (readonly [
  about: string,
  rows: Partial<TimelineRows>,
  facts: TimelineFacts,
  texts: readonly string[],
])[] = [
  ['nothing is known', {}, quiet, []],
  [
    'revisions and actions, the newest first',
    {
      revisions: [{ revision: 2, savedBy: 'Mira', savedOn: 20, comment: 'new hub' }],
      actions: [
        { at: 30, actor: 'Jonas', action: 'order reboot' },
        { at: 10, actor: 'Mira', action: 'create machine' },
        { at: 5, actor: 'Mira', action: 'a later action' },
      ],
    },
    quiet,
    ['A reboot of the device was ordered', 'Revision 2 was saved', 'The machine was created', 'Done: a later action'],
  ],
  ['a run of the agent', { runs: [{ firstSeen: 1, hostname: 'barn' }] }, quiet, ['The agent started on barn']],
  ['an order that waits has only its action', { orders: [{ ...order, state: 'waiting', since: now }] }, quiet, []],
  [
    'an order that is done',
    { orders: [{ ...order, state: 'done', since: now }] },
    quiet,
    ['The ordered reboot is done'],
  ],
  [
    'an order that is overdue',
    { orders: [{ ...order, state: 'begun', since: order.requestedOn }] },
    quiet,
    ['The ordered reboot failed'],
  ],
  ['a gap between samples', { sampled: [0, minute, 2 * minute, 9 * minute] }, quiet, ['Nothing was measured']],
  ['offline', {}, { ...quiet, lostSince: 7 }, ['Not heard since then: offline']],
  ['removed', {}, { ...quiet, lostSince: 7, uninstalledOn: 7 }, ['The agent reported its removal']],
  [
    'what the last report knows',
    {},
    reported({
      conditions: [{ message: 'The camera fails.', severity: Severity.ERROR, since }, { message: 'Without a time.' }],
      facts: { uptime: { seconds: 3600n }, bootReason: BootReason.WATCHDOG },
      agent: {
        lastUpdate: {
          version: '2',
          fromVersion: '1',
          state: UpdateState.HEALTHY,
          since: timestampFromMs(now - 4 * minute),
        },
      },
      server: {
        runningVersion: '1.4',
        uptime: { seconds: 120n },
        lastExit: { version: '1.4', reason: 'exit 3', since: timestampFromMs(now - 3 * minute) },
        quarantined: [{ version: '1.5', reason: 'it crashed', since: timestampFromMs(now - 6 * minute) }],
      },
    }),
    [
      'Machine server 1.4 started',
      'Machine server 1.4 ended: exit 3',
      'Agent 1 → 2: healthy',
      'The camera fails.',
      'Machine server 1.5 was put into quarantine',
      'The device started',
    ],
  ],
];
for (const [about, some, facts, texts] of rows)
  test(`events of a machine: ${about}`, () =>
    assert.deepEqual(
      timelineEvents({ ...none, ...some }, facts).map(({ text }) => text),
      texts,
    ));

test('a gap has both ends, and an event says who did it and about which revision', () => {
  const [gap] = timelineEvents({ ...none, sampled: [0, 9 * minute] }, quiet);
  assert.deepEqual([gap?.time, gap?.until, gap?.kind], [0, 9 * minute, EventKind.ABSENCE]);
  const revisions = [{ revision: 2, savedBy: 'Mira', savedOn: 20, comment: 'new hub' }];
  const [saved] = timelineEvents({ ...none, revisions }, quiet);
  assert.deepEqual([saved?.actor, saved?.revision, saved?.detail], ['Mira', 2, 'new hub']);
});

test('pages of any size have each event once, also those of one time', () => {
  const actions = [1, 2, 2, 2, 2, 3, 3].map((at, n) => ({ at, actor: '', action: `action ${n}` }));
  const all = timelineEvents({ ...none, actions }, quiet);
  for (const size of [1, 2, 3, 10]) {
    const seen: string[] = [];
    let after: TimelinePlace | undefined;
    do {
      const { events, next } = timelinePage(all, { after, size });
      seen.push(...events.map(({ text }) => text));
      after = next;
    } while (after);
    assert.deepEqual(
      seen,
      all.map(({ text }) => text),
      `pages of ${size}`,
    );
  }
});
