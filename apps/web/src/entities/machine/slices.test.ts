// Progress of a configuration by slices: a failure is never shown as "in effect".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigSlice,
  ConfigState,
  MachineSchema,
  OnlineState,
  ProblemSchema,
  Severity,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { fromMachine, fromServer, isError } from '../../features/configure/config-problems.ts';
import { machineView } from './machine-status.ts';

const view = (fields: MessageInitShape<typeof MachineSchema>) =>
  machineView(create(MachineSchema, { onlineState: OnlineState.ONLINE, ...fields }));
const paths = ['agent.network_configuration.hotspot_password'];
const problem = {
  severity: Severity.WARNING,
  path: 'components[0]',
  message: 'The camera "yard" gives no image: the folder /nowhere does not exist on the machine.',
};

const { NONE_SAVED, IN_EFFECT, PARTLY_IN_EFFECT, APPLYING, NOT_IN_EFFECT, UNKNOWN } = ConfigState;
const rows: [state: ConfigState, more: object, short: string, text: string, tone: string][] = [
  [NONE_SAVED, { savedRevision: 0n }, 'none', 'none saved yet, the defaults hold', 'quiet'],
  [IN_EFFECT, { actingRevision: 4n }, '4', 'revision 4 in effect', 'good'],
  [
    IN_EFFECT,
    { actingRevision: 4n, problem, problemCount: 3 },
    '4',
    'revision 4 in effect, but components[0]: The camera "yard" gives no image: the folder /nowhere does not exist on the machine (and 2 more)',
    'warn',
  ],
  [PARTLY_IN_EFFECT, { actingRevision: 4n }, '4', 'revision 4 partly in effect', 'warn'],
  [
    APPLYING,
    { actingRevision: 3n, reason: 'the agent is applying it' },
    '3 → 4',
    'revision 4 saved, not in effect yet: the agent is applying it; revision 3 is',
    'busy',
  ],
  [
    NOT_IN_EFFECT,
    { reason: 'an older agent runs' },
    '? → 4',
    'revision 4 saved, not in effect: an older agent runs',
    'bad',
  ],
  [
    UNKNOWN,
    { actingRevision: 4n, isCurrent: false, wasInEffect: true, reason: 'the machine is offline' },
    '? → 4',
    'revision 4 saved, not confirmed: the machine is offline; it was in effect at the last report',
    'quiet',
  ],
];
for (const [state, more, short, text, tone] of rows)
  test(`the configuration in the list and on the page: ${text.slice(0, 60)}`, () => {
    const { config } = view({ configStatus: { state, savedRevision: 4n, isCurrent: true, ...more } });
    assert.deepEqual([config.short, config.text, config.tone], [short, text, tone]);
  });

test('parts that lag, do not report or leave fields without effect say since when and why', () => {
  const since = timestampFromMs(5_000);
  const { slices } = view({
    configStatus: {
      slices: [
        { slice: ConfigSlice.SERVER, state: SliceState.LAGGING, since, code: 'RESOURCE_UNKNOWN', reason: 'why' },
        { slice: ConfigSlice.NETWORK, state: SliceState.NO_EFFECT, reason: 'no radio', ineffectivePaths: paths },
      ],
    },
  });
  assert.deepEqual(slices, [
    { name: 'Machine server', state: 'lagging', since: 5_000, code: 'RESOURCE_UNKNOWN', reason: 'why', paths: [] },
    { name: 'Network', state: 'no effect', since: undefined, code: '', reason: 'no radio', paths },
  ]);
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

test('each field that has no effect for the same reason is marked at its own place', () => {
  const fields = ['agent.network_configuration.wifi_country', 'agent.network_configuration.wifi_power_save'];
  const { conditions } = view({
    conditions: [
      {
        code: 'NO_EFFECT_HERE',
        severity: Severity.WARNING,
        message: `${fields.join(', ')}: no effect here, because this machine has no WiFi radio.`,
        path: fields[0]!,
      },
    ],
  });
  const saved = '{"agent": {"network_configuration": {"wifi_country": "DE", "wifi_power_save": true}}}';
  assert.deepEqual(
    fromMachine(conditions, { draft: saved, saved, known: [] }).map(({ where, message }) => [where, message]),
    fields.map((path) => [path, 'has no effect here: this machine has no WiFi radio.']),
  );
});
