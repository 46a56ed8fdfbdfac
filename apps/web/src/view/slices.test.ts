// Progress of a configuration by slices: a failure is never shown as "in effect".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type AgentReportSchema,
  ConfigSlice,
  MachineSchema,
  OnlineState,
  ProblemSchema,
  Severity,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { fromMachine, fromServer, isError } from './config-problems.ts';
import { appliedText, machineView, revisionText } from './machine-status.ts';

const view = (report: MessageInitShape<typeof AgentReportSchema>) =>
  machineView(create(MachineSchema, { onlineState: OnlineState.ONLINE, wantedRevision: 4n, report }));
const slice = (state: SliceState, more: object = {}) => ({ slice: ConfigSlice.SERVER, state, ...more });
const paths = ['agent.network_configuration.hotspot_password'];

const rows: [
  name: string,
  applied: bigint,
  slices: ReturnType<typeof slice>[],
  text: string,
  effect: string,
  states: string[],
][] = [
  ['an older agent, as before', 4n, [], '4', 'In effect', []],
  ['everything acts', 4n, [slice(SliceState.IN_EFFECT)], '4', 'In effect', []],
  ['nothing acts on it, and nothing was set', 4n, [slice(SliceState.NO_EFFECT)], '4', 'In effect', []],
  [
    'a field without effect',
    4n,
    [slice(SliceState.NO_EFFECT, { ineffectivePaths: paths })],
    '4',
    'Partly in effect',
    ['no effect'],
  ],
  ['a server that does not report', 4n, [slice(SliceState.NOT_REPORTED)], '4', 'Partly in effect', ['not reported']],
  ['one lags', 3n, [slice(SliceState.LAGGING)], '3 → 4', 'Saved, not in effect on the machine', ['lagging']],
  ['it was in effect', 4n, [slice(SliceState.LAGGING)], '4 lags', 'Not in effect any more', ['lagging']],
];
for (const [name, appliedRevision, slices, text, effect, states] of rows)
  test(`the configuration by its parts: ${name}`, () => {
    const machine = view({ appliedRevision, slices });
    assert.deepEqual([revisionText(machine.applied), appliedText(machine.applied)], [text, effect]);
    assert.deepEqual(
      machine.slices.map(({ state }) => state),
      states,
    );
  });

test('a part that lags says since when and why', () => {
  const since = timestampFromMs(5_000);
  const [lag] = view({
    slices: [slice(SliceState.LAGGING, { since, code: 'RESOURCE_UNKNOWN', reason: 'why' })],
  }).slices;
  assert.deepEqual(lag, {
    name: 'Machine server',
    state: 'lagging',
    since: 5_000,
    code: 'RESOURCE_UNKNOWN',
    reason: 'why',
    paths: [],
  });
});

test('the report is about the newest revision that any part has applied', () => {
  assert.equal(
    view({ appliedRevision: 2n, slices: [slice(SliceState.IN_EFFECT, { appliedRevision: 4n })] }).received,
    4n,
  );
  assert.equal(view({ appliedRevision: 2n }).received, 2n);
});

test('what the machine reports is marked in the editor until that place is changed, and does not prevent saving', () => {
  const path = 'components[0]';
  const { conditions } = view({
    conditions: [
      { code: 'RESOURCE_UNKNOWN', severity: Severity.ERROR, message: 'It runs no webcam.', path },
      { code: 'CLOCK_WRONG', severity: Severity.WARNING, message: 'No place.' },
    ],
  });
  const saved = '{"components": [{"name": "cam", "model": "webcam"}]}';
  const marks = (draft: string, known: Parameters<typeof fromMachine>[1]['known'] = []) =>
    fromMachine(conditions, { draft, saved, known });
  assert.deepEqual(
    marks(saved).map((one) => [one.path, one.tone, isError(one)]),
    [[['components', 0], 'bad', false]],
  );
  assert.equal(marks(`{"other": 1, ${saved.slice(1)}`).length, 1);
  assert.equal(marks(saved.replace('webcam', 'http')).length, 0);
  assert.equal(marks('{').length, 0);
  const known = fromServer([create(ProblemSchema, { path, severity: Severity.ERROR })]);
  assert.equal(marks(saved, known).length, 0, 'not twice');
});
