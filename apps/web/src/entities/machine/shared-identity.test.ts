import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSchema, OnlineState, SharedIdentitySchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineBadge, machineView } from './machine-status.ts';
import { sharingView } from './shared-identity.ts';

const run = (hostname: string, address: string, ms: number) => ({
  hostname,
  address,
  linkAddresses: ['10.0.0.5/24', `${address}/24`],
  firstSeen: timestampFromMs(ms),
  lastSeen: timestampFromMs(ms + 1),
});
const shared = create(SharedIdentitySchema, {
  runs: [run('twin-a', '192.0.2.1', 1_000), run('', '192.0.2.2', 2_000), run('twin-c', '192.0.2.3', 3_000)],
});

test('the first computer stays, the last one is split off, and each address is named once', () => {
  const view = sharingView(shared);
  assert.deepEqual(
    [view?.kept.name, view?.last.name, view?.more, view?.last.addresses],
    ['twin-a', 'twin-c', 1, '192.0.2.3, 10.0.0.5'],
  );
  assert.equal(sharingView(create(SharedIdentitySchema, { runs: shared.runs.slice(0, 1) })), undefined);
  assert.equal(sharingView(undefined), undefined);
});

test('lists show it, whatever else there is to show', () => {
  const machine = create(MachineSchema, { onlineState: OnlineState.ONLINE, sharedIdentity: shared });
  assert.deepEqual(machineBadge(machineView(machine)), { tone: 'bad', text: 'shared identity' });
});
