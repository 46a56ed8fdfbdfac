import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { JsonPath } from './schema/json-path.ts';
import { deviceDefaultAt, deviceDefaultsOf, fragmentNamedBy } from './device-defaults.ts';

const reportedOn = timestampFromMs(1_000);
const agent = {
  network_configuration: { user_idle_minutes: 7, fragment_id: '2A7D8F0E-1B4C-4F6A-9C3D-5E6F7A8B9C0D' },
  additional_networks: [{ ssid: 'Barn' }],
};
const of = (deviceDefaults: object | undefined): MessageInitShape<typeof MachineSchema> => ({
  reportedOn,
  report: deviceDefaults === undefined ? {} : { deviceDefaults },
});
const known = of({ agentJson: JSON.stringify(agent) });
const idle: JsonPath = ['agent', 'network_configuration', 'user_idle_minutes'];
const debug: JsonPath = ['agent', 'advanced_settings', 'debug'];

const rows: [what: string, machine: MessageInitShape<typeof MachineSchema>, path: JsonPath, is: string | undefined][] =
  [
    ['a value of the file', known, idle, 'device 7'],
    ['a list of networks', known, ['agent', 'additional_networks'], 'device [{"ssid":"Barn"}]'],
    ['a field of one network', known, ['agent', 'additional_networks', 0, 'ssid'], undefined],
    ['what the file does not set', known, debug, 'built-in'],
    ['a path that no file has', known, ['components', 0, 'name'], undefined],
    ['a machine that has not reported', {}, idle, 'unknown The machine has not reported yet'],
    ['an older agent', of(undefined), idle, 'unknown The agent of this machine does not report'],
    ['an agent of another product', { ...known, hasOtherAgent: true }, idle, 'unknown The agent of this machine'],
    ['a file that is longer than its report', of({ agentJson: '{}', isCut: true }), debug, 'unknown The defaults file'],
    ['a report that cannot be read', of({ agentJson: '[1' }), debug, 'built-in'],
  ];
for (const [what, machine, path, is] of rows)
  test(`default of a device: ${what}`, () => {
    const found = deviceDefaultAt(deviceDefaultsOf(create(MachineSchema, machine)), path);
    const words = found && [
      found.is,
      found.is === 'device' ? JSON.stringify(found.value) : found.is === 'unknown' ? found.why : undefined,
    ];
    const text = words?.filter(Boolean).join(' ');
    assert.equal(is === undefined ? text : text?.slice(0, is.length), is);
    if (found?.is === 'device') assert.equal(found.reportedOn, 1_000);
  });

test('the fragment that a device names is an ID, or none', () => {
  assert.equal(fragmentNamedBy(deviceDefaultsOf(create(MachineSchema, known))), '2a7d8f0e-1b4c-4f6a-9c3d-5e6f7a8b9c0d');
  const other = of({ agentJson: '{"network_configuration": {"fragment_id": "base"}}' });
  assert.equal(fragmentNamedBy(deviceDefaultsOf(create(MachineSchema, other))), undefined);
});
