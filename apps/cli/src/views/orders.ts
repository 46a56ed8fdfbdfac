import {
  type Machine,
  OrderKindSchema,
  OrderState,
  OrderStateSchema,
  type PartOrder,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ago, enumWord, isoTime, printable } from '../output.ts';

/** "restart server" */
const kindOf = ({ kind }: PartOrder): string => enumWord(OrderKindSchema, kind);

export const ordersJson = ({ orders }: Machine) =>
  orders.map((order) => ({
    kind: kindOf(order),
    state: enumWord(OrderStateSchema, order.state),
    since: isoTime(order.since),
    reason: order.reason,
    requested_by: order.requestedBy,
    requested_on: isoTime(order.requestedOn),
    until: isoTime(order.until),
  }));

function stateText({ state, since, until, reason }: PartOrder, nowMs: number): string {
  const left = until ? ` until ${isoTime(until)}` : '';
  switch (state) {
    case OrderState.WAITING:
      return `waits for the machine${left}, then it is void`;
    case OrderState.BEGUN:
      return `begun ${ago(since, nowMs)}${until ? `, and failed if it is not done by ${isoTime(until)}` : ''}`;
    case OrderState.DONE:
      return `done ${ago(since, nowMs)}`;
    default:
      return `${enumWord(OrderStateSchema, state)}${reason === '' ? '' : `: ${printable(reason)}`}`;
  }
}

/** The newest order of each kind, of the last day: "reboot: done 2 min ago, asked for 3 min ago by …". */
export const ordersText = ({ orders }: Machine, nowMs: number): string =>
  orders
    .map(
      (order) =>
        `${kindOf(order)}: ${stateText(order, nowMs)}; asked for ${ago(order.requestedOn, nowMs)} by ${printable(order.requestedBy)}`,
    )
    .join('\n');
