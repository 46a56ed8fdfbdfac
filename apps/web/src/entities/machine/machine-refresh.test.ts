import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ConfigState,
  MachineSchema,
  OrderKind,
  OrderState,
  ServerState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineRefreshMs } from './machine-refresh.ts';

test('the page reads a machine each second only while something has been under way for less than a minute', () => {
  const report = { serverState: ServerState.RUNNING };
  const configStatus = { state: ConfigState.IN_EFFECT };
  const applying = { state: ConfigState.APPLYING };
  const waiting = { kind: OrderKind.REBOOT, state: OrderState.WAITING };
  const order = (state: OrderState) => [{ kind: OrderKind.REBOOT, state }];
  const table: [what: string, machine: MessageInitShape<typeof MachineSchema> | undefined, ms: number][] = [
    ['it is not loaded', undefined, 1_000],
    ['it has never reported', {}, 2_000],
    ['nothing', { report, configStatus }, 2_000],
    ['its server starts', { report: { serverState: ServerState.STARTING }, configStatus }, 1_000],
    ['a configuration is applied', { report, configStatus: applying }, 1_000],
    ['a restart is requested', { report, configStatus, restartRequestedOn: timestampFromMs(99_000) }, 1_000],
    ['an order waits', { report, configStatus, orders: order(OrderState.WAITING) }, 1_000],
    [
      'a configuration has been applied for long',
      { report, configStatus: { ...applying, savedOn: timestampFromMs(1) } },
      2_000,
    ],
    ['a configuration is new', { report, configStatus: { ...applying, savedOn: timestampFromMs(90_000) } }, 1_000],
    [
      'a machine that is away has had an order for long',
      { orders: [{ ...waiting, since: timestampFromMs(1) }] },
      2_000,
    ],
    ['an order has ended', { report, configStatus, orders: order(OrderState.DONE) }, 2_000],
  ];
  for (const [what, machine, ms] of table)
    assert.equal(machineRefreshMs(machine && create(MachineSchema, machine), 100_000), ms, what);
});
