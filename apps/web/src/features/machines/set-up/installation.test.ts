import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs as at } from '@bufbuild/protobuf/wkt';
import {
  ConfigState,
  GetInstallationResponseSchema,
  InstallStepKind,
  MachineSchema,
  OnlineState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { installationView } from './installation.ts';

const now = 1_000_000;
const { STARTED, DOWNLOADED, VERIFIED, INSTALLED, FAILED, REFUSED } = InstallStepKind;
type Reported = Parameters<typeof create<typeof GetInstallationResponseSchema>>[1];
const steps = (...kinds: InstallStepKind[]) =>
  kinds.map((kind, n) => ({
    kind,
    time: at(now - 10_000 + n * 1_000),
    detail: `detail ${kind}`,
    address: '203.0.113.7',
  }));
const view = (
  reported: Reported,
  machine: Parameters<typeof create<typeof MachineSchema>>[1] = { onlineState: OnlineState.AWAITING_SETUP },
) => installationView(create(GetInstallationResponseSchema, reported), create(MachineSchema, machine), now);
const online = {
  onlineState: OnlineState.ONLINE,
  reportedOn: at(now - 500),
  configStatus: { state: ConfigState.NONE_SAVED },
};
const savedState = (state: ConfigState) => ({
  configStatus: { state, savedRevision: 1n, savedOn: at(now), reason: 'why', measuredOn: at(now - 100) },
});

const rows: [what: string, states: string, ReturnType<typeof view>][] = [
  ['nothing yet', 'waiting waiting waiting waiting waiting', view({})],
  ['started', 'running waiting waiting waiting waiting', view({ steps: steps(STARTED) })],
  ['downloaded', 'done running waiting waiting waiting', view({ steps: steps(STARTED, DOWNLOADED) })],
  ['a wrong file', 'done failed waiting waiting waiting', view({ steps: steps(STARTED, DOWNLOADED, FAILED) })],
  ['a check before', 'failed waiting waiting waiting waiting', view({ steps: steps(STARTED, FAILED) })],
  [
    'the agent failed',
    'done done failed waiting waiting',
    view({ steps: steps(STARTED, DOWNLOADED, VERIFIED, FAILED) }),
  ],
  [
    'installed',
    'done done done running waiting',
    view({ steps: steps(STARTED, DOWNLOADED, VERIFIED, INSTALLED), usedOn: at(now) }),
  ],
  [
    'online',
    'done done done done waiting',
    view({ steps: steps(STARTED, DOWNLOADED, VERIFIED, INSTALLED), usedOn: at(now) }, online),
  ],
  [
    'online by an agent that reports no steps',
    'unreported unreported unreported done waiting',
    view({ usedOn: at(now) }, online),
  ],
  [
    'a configuration on its way',
    'unreported unreported unreported done running',
    view({}, { ...online, ...savedState(ConfigState.APPLYING) }),
  ],
  [
    'a configuration in effect',
    'unreported unreported unreported done done',
    view({}, { ...online, ...savedState(ConfigState.IN_EFFECT) }),
  ],
  [
    'a configuration that cannot act',
    'unreported unreported unreported done failed',
    view({}, { ...online, ...savedState(ConfigState.NOT_IN_EFFECT) }),
  ],
  [
    'offline again',
    'done done done running waiting',
    view(
      { steps: steps(STARTED, DOWNLOADED, VERIFIED, INSTALLED), usedOn: at(now) },
      { onlineState: OnlineState.OFFLINE, ...savedState(ConfigState.UNKNOWN) },
    ),
  ],
];

for (const [what, states, found] of rows)
  test(`steps of an installation: ${what}`, () => {
    assert.equal(found.steps.map(({ state }) => state).join(' '), states);
    for (const { state, time } of found.steps)
      if (['done', 'failed'].includes(state)) assert.ok(time, 'it was measured at a time');
  });

test('a failure shows the words of the installer, and the time that it reported', () => {
  const [, verified] = view({ steps: steps(STARTED, DOWNLOADED, FAILED) }).steps;
  assert.deepEqual([verified?.detail, verified?.time], ['Detail 5', now - 8_000]);
});

test('a silent agent, a machine that was there before and a refused computer differ', () => {
  const done = steps(STARTED, DOWNLOADED, VERIFIED, INSTALLED);
  assert.equal(view({ steps: done, usedOn: at(now - 60_001) }).isSilent, true);
  assert.equal(view({ steps: done, usedOn: at(now - 60_000) }).isSilent, false);
  assert.equal(view({ steps: done, usedOn: at(now - 60_001) }, online).isSilent, false);
  assert.equal(view({}, online).isOlder, true);
  assert.equal(view({ usedOn: at(now) }, online).isOlder, false);
  assert.deepEqual(view({ steps: steps(REFUSED) }).refused, { time: now - 10_000, address: '203.0.113.7' });
});
