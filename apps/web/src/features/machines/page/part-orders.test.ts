import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs as at } from '@bufbuild/protobuf/wkt';
import { OrderKind, OrderState, PartOrderSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { orderProblem, orderViews } from './part-orders.ts';

const now = 10_000_000;
const { WAITING, BEGUN, DONE, FAILED, EXPIRED } = OrderState;
const { REBOOT, RESTART_AGENT, RESTART_SERVER } = OrderKind;

const rows: [kind: OrderKind, state: OrderState, isOnline: boolean, tone: string, isOpen: boolean, text: RegExp][] = [
  [REBOOT, WAITING, true, 'busy', true, /the agent does it next/],
  [REBOOT, WAITING, false, 'busy', true, /the machine is offline.*within 5 min/],
  [RESTART_AGENT, BEGUN, true, 'busy', true, /has begun.*failed after 5 min/],
  [RESTART_SERVER, BEGUN, true, 'busy', true, /has taken it/],
  [RESTART_SERVER, DONE, true, 'good', false, /the server runs again/],
  [REBOOT, FAILED, true, 'bad', false, /^failed\. The reason\.$/],
  [REBOOT, EXPIRED, false, 'warn', false, /^void\. The reason\.$/],
  [REBOOT, 99 as OrderState, true, 'quiet', false, /older than the server/],
];
for (const [kind, state, isOnline, tone, isOpen, text] of rows)
  test(`an order in state ${state}, ${isOnline ? 'online' : 'offline'}: ${text.source}`, () => {
    const order = create(PartOrderSchema, { kind, state, reason: 'The reason.', until: at(now + 300_000) });
    const [view] = orderViews([order], { isOnline, now });
    assert.deepEqual([view?.tone, view?.isOpen], [tone, isOpen]);
    assert.match(view?.text ?? '', text);
  });

test('an order of a kind that this page does not know is left out', () => {
  assert.deepEqual(orderViews([create(PartOrderSchema, { kind: 99 as OrderKind })], { isOnline: true, now }), []);
});

test('an order that an agent cannot carry out has its reason, and what to do', () => {
  const machine = { knownOrders: [RESTART_AGENT], hasReport: true, hasOtherAgent: false, agentVersion: '1.4.2' };
  assert.equal(orderProblem('restart agent', machine), undefined);
  assert.match(orderProblem('reboot', machine) ?? '', /may not reboot/);
  assert.match(orderProblem('restart agent', { ...machine, knownOrders: [REBOOT] }) ?? '', /Nothing starts this agent/);
  assert.match(orderProblem('reboot', { ...machine, knownOrders: [] }) ?? '', /Agent 1\.4\.2 does not know.*Update it/);
  assert.match(
    orderProblem('reboot', { ...machine, knownOrders: [], agentVersion: '' }) ?? '',
    /^This agent does not know/,
  );
  assert.match(orderProblem('reboot', { ...machine, hasReport: false }) ?? '', /No agent has reported/);
  assert.match(orderProblem('reboot', { ...machine, hasOtherAgent: true }) ?? '', /another product/);
  assert.equal(orderProblem('restart server', { ...machine, hasOtherAgent: true }), undefined);
});
