import { OrderKind, OrderState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PartOrder } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Tone } from '../../../ui/status-label.ts';
import { msOf, span } from '../../../ui/times.ts';

export type OrderName = 'restart server' | 'restart agent' | 'reboot';

export const orderKinds: Readonly<Record<OrderName, OrderKind>> = {
  'restart server': OrderKind.RESTART_SERVER,
  'restart agent': OrderKind.RESTART_AGENT,
  reboot: OrderKind.REBOOT,
};

const texts: Readonly<Record<OrderName, { title: string; begun: string; done: string }>> = {
  'restart server': {
    title: 'Restart of the machine server',
    begun: 'the agent has taken it, and the server starts again',
    done: 'done, the server runs again',
  },
  'restart agent': {
    title: 'Restart of the agent',
    begun: 'the agent has begun',
    done: 'done, the agent runs again',
  },
  reboot: { title: 'Reboot of the device', begun: 'the device goes down', done: 'done, the device has booted' },
};

/** What became of an order, for the part status. Times in ms since 1970. */
export interface OrderView {
  name: OrderName;
  title: string;
  tone: Tone;
  text: string;
  requestedOn: number | undefined;
  isOpen: boolean;
}

/** The orders by their time, newest first. @param isOnline - of the machine, as this page knows. */
export function orderViews(
  orders: readonly PartOrder[],
  { isOnline, now }: { isOnline: boolean; now: number },
): OrderView[] {
  return orders.flatMap((order) => {
    const name = (Object.keys(orderKinds) as OrderName[]).find((one) => orderKinds[one] === order.kind);
    if (!name) return [];
    const { title, begun, done } = texts[name];
    const left = span(Math.max(0, (msOf(order.until) ?? now) - now));
    const of = { name, title, requestedOn: msOf(order.requestedOn) };
    switch (order.state) {
      case OrderState.WAITING:
        return {
          ...of,
          tone: 'busy',
          isOpen: true,
          text: isOnline
            ? 'the agent does it next'
            : `it waits: the machine is offline. It is void unless the machine comes online within ${left}`,
        };
      case OrderState.BEGUN:
        return { ...of, tone: 'busy', isOpen: true, text: `${begun}. It counts as failed after ${left} more` };
      case OrderState.DONE:
        return { ...of, tone: 'good', isOpen: false, text: done };
      case OrderState.FAILED:
        return { ...of, tone: 'bad', isOpen: false, text: `failed. ${order.reason}` };
      case OrderState.EXPIRED:
        return { ...of, tone: 'warn', isOpen: false, text: `void. ${order.reason}` };
      default:
        return { ...of, tone: 'quiet', isOpen: false, text: 'this page is older than the server, reload it' };
    }
  });
}

/** Why an order cannot be given; undefined: it can. @param machine - `agentVersion`: empty: not reported. */
export function orderProblem(
  name: OrderName,
  machine: { knownOrders: readonly OrderKind[]; hasReport: boolean; hasOtherAgent: boolean; agentVersion: string },
): string | undefined {
  if (name === 'restart server') return machine.hasReport ? undefined : 'No agent has reported yet.';
  if (machine.hasOtherAgent) return 'The agent of another product does not know this order.';
  if (!machine.hasReport) return 'No agent has reported yet.';
  if (machine.knownOrders.includes(orderKinds[name])) return undefined;
  if (machine.knownOrders.length === 0)
    return `${machine.agentVersion === '' ? 'This agent' : `Agent ${machine.agentVersion}`} does not know this order, or nothing starts it again. Update it, or use a terminal there.`;
  return name === 'reboot'
    ? 'This agent may not reboot its device: it runs in a container, or not as a service.'
    : 'Nothing starts this agent again when it ends.';
}
