import { OrderKind, OrderState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

export type StoredKind = 'restart agent' | 'reboot' | 'restart server';
export type StoredState = 'waiting' | 'begun' | 'done' | 'failed';

/** An order as it is stored. Times in ms since 1970. */
export type PartOrderRow = {
  id: string;
  kind: StoredKind;
  requestedBy: string;
  requestedOn: number;
  state: StoredState;
  since: number;
  reason: string;
};

export const orderKinds: Readonly<Record<StoredKind, OrderKind>> = {
  'restart agent': OrderKind.RESTART_AGENT,
  reboot: OrderKind.REBOOT,
  'restart server': OrderKind.RESTART_SERVER,
};

/** An order is for the machine as it is now: a machine that comes back later does not do it any more. */
export const orderLifeMs = 3_600_000;
/** An order is shown this long. */
const shownMs = 24 * 3_600_000;
/** How long a begun order may take: the stop of the machine server and a start; the boot of a slow device. */
const longestMs: Readonly<Record<StoredKind, number>> = {
  'restart agent': 5 * 60_000,
  reboot: 15 * 60_000,
  'restart server': 15 * 60_000,
};

const states: Readonly<Record<StoredState, OrderState>> = {
  waiting: OrderState.WAITING,
  begun: OrderState.BEGUN,
  done: OrderState.DONE,
  failed: OrderState.FAILED,
};

const overdue: Readonly<Record<StoredKind, string>> = {
  'restart agent': 'The agent began to restart, and has not come back within 5 minutes.',
  reboot: 'The device began to reboot, and has not come back within 15 minutes.',
  'restart server': 'The agent took the order, and the machine server has not started within 15 minutes.',
};

export type DerivedOrder = {
  state: OrderState;
  since: number;
  reason: string;
  /** When the state ends by itself; undefined: never. */
  until: number | undefined;
};

/** The state of an order at a time. Undefined: it is too old to be shown. @param now - ms since 1970 */
export function deriveOrder(order: PartOrderRow, now: number): DerivedOrder | undefined {
  const { kind, state, since, reason, requestedOn } = order;
  if (now - requestedOn > shownMs) return undefined;
  const expiresOn = requestedOn + orderLifeMs;
  if (state === 'waiting')
    return now < expiresOn
      ? { state: OrderState.WAITING, since, reason, until: expiresOn }
      : {
          state: OrderState.EXPIRED,
          since: expiresOn,
          reason: 'The machine did not take it within an hour, and does not do it any more.',
          until: undefined,
        };
  const endsOn = since + longestMs[kind];
  if (state === 'begun' && now >= endsOn)
    return { state: OrderState.FAILED, since: endsOn, reason: overdue[kind], until: undefined };
  return { state: states[state], since, reason, until: state === 'begun' ? endsOn : undefined };
}

/** The stored state of a reported one; undefined: not one that agents report. */
export function storedStateOf(state: OrderState): Exclude<StoredState, 'waiting'> | undefined {
  if (state === OrderState.BEGUN) return 'begun';
  if (state === OrderState.DONE) return 'done';
  return state === OrderState.FAILED ? 'failed' : undefined;
}
