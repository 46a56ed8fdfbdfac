import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ConfigSlice,
  ConfigState,
  MachineSchema,
  OnlineState,
  ServerState,
  Severity,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { resourceRows } from './resources.ts';

const config = JSON.stringify({
  components: [
    { name: 'rear', type: 'camera', model: 'folder' },
    { name: 'front', api: 'acme:component:camera', model: 'acme:cameras:usb' },
  ],
  services: [{ name: 'cows', type: 'vision' }],
  modules: [{ name: 'arm' }, 7],
  packages: [{ name: 'p' }],
});
const inEffect = { state: ConfigState.IN_EFFECT, savedRevision: 8n, isCurrent: true, isReceived: true };
const running = { serverState: ServerState.RUNNING };
const online: MessageInitShape<typeof MachineSchema> = {
  onlineState: OnlineState.ONLINE,
  configStatus: inEffect,
  report: running,
};
const failing = { path: 'components[1].attributes.path', severity: Severity.ERROR, message: 'No such device.' };
const withFailure = { ...running, conditions: [failing] };
const rowsOf = (machine: MessageInitShape<typeof MachineSchema>, isLost = false) =>
  resourceRows(config, create(MachineSchema, machine), isLost);
const statesOf = (machine: MessageInitShape<typeof MachineSchema>, isLost = false) =>
  rowsOf(machine, isLost).map(({ name, state, problem }) => [name, state.text, problem].join(' ').trim());

test('an entry that fails comes first, with the field that it names', () => {
  const rows = rowsOf({ ...online, report: withFailure });
  assert.deepEqual(
    rows.map(({ name, kind, path, state }) => [name, kind, path, `${state.tone} ${state.text}`]),
    [
      ['front', 'camera · usb', 'components[1].attributes.path', 'bad fails'],
      ['rear', 'camera · folder', 'components[0]', 'good no problem'],
      ['cows', 'vision', 'services[0]', 'good no problem'],
      ['arm', 'module', 'modules[0]', 'good no problem'],
      ['modules[1]', 'module', 'modules[1]', 'good no problem'],
    ],
  );
  assert.deepEqual(
    rows.map(({ isCamera }) => isCamera),
    [true, true, false, false, false],
  );
});

const past = ['rear not known now', 'front not known now At the last report: No such device.'];
const states: [about: string, machine: MessageInitShape<typeof MachineSchema>, isLost: boolean, texts: string[]][] = [
  ['offline', { ...online, report: withFailure, onlineState: OnlineState.OFFLINE }, false, past],
  ['the server does not answer', { ...online, report: withFailure }, true, past],
  [
    'the report is too old',
    { ...online, report: withFailure, configStatus: { ...inEffect, state: ConfigState.UNKNOWN } },
    false,
    past,
  ],
  [
    'no report',
    { onlineState: OnlineState.ONLINE, configStatus: inEffect },
    false,
    ['rear not reported', 'front not reported'],
  ],
  [
    'the report is about an earlier configuration',
    { ...online, report: withFailure, configStatus: { ...inEffect, isReceived: false } },
    false,
    ['rear not reported yet', 'front not reported yet'],
  ],
  [
    'a machine server that reports nothing of its entries',
    {
      ...online,
      configStatus: {
        ...inEffect,
        state: ConfigState.PARTLY_IN_EFFECT,
        slices: [{ slice: ConfigSlice.SERVER, state: SliceState.NOT_REPORTED, reason: 'it does not say' }],
      },
    },
    false,
    ['rear not reported it does not say', 'front not reported it does not say'],
  ],
  [
    'the machine server is down',
    { ...online, report: { serverState: ServerState.WAITING } },
    false,
    ['rear does not run', 'front does not run'],
  ],
  [
    'not in effect yet',
    { ...online, configStatus: { ...inEffect, state: ConfigState.APPLYING } },
    false,
    ['rear not in effect yet', 'front not in effect yet'],
  ],
];
for (const [about, machine, isLost, texts] of states)
  test(`entries of a configuration, ${about}: nothing is good`, () => {
    assert.deepEqual(statesOf(machine, isLost).slice(0, 2), texts);
    assert.ok(rowsOf(machine, isLost).every(({ state }) => state.tone === 'quiet'));
  });

test('a text without a configuration has no entries', () => {
  for (const text of ['', '[]', '{"components":{}}'])
    assert.deepEqual(resourceRows(text, create(MachineSchema, online), false), []);
});
