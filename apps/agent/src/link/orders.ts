import { type Clock, changedOr } from '@platform/kit';
import { errorText } from '@platform/kit';
import { fileProblem } from '../os/file-problem.ts';
import type { OrderKind, OrderStatus } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import type { Context } from '../health/context.ts';

const stateFile = 'state/orders.json';
/** A device that has not gone down by then does not reboot. */
const rebootMs = 5 * 60_000;

/** What this agent can do when an operator orders it. Left out: it cannot. */
export interface OrderActions {
  /** Ends this agent and the machine server; what supervises the agent starts the installed version. */
  restartAgent?: (() => void) | undefined;
  /** Reboots the device. It resolves once the operating system has accepted it. */
  reboot?: (() => Promise<void>) | undefined;
}

export interface OrderParts extends Pick<Context, 'wanted' | 'actual' | 'disk' | 'clock' | 'log'> {
  actions: OrderActions;
  /** Names this run of the agent; another one after each start. */
  run: string;
  /** Names this run of the operating system; empty: unknown. */
  boot: string;
}

/** An order, and in which run it was begun. */
interface Kept extends OrderStatus {
  run: string;
  boot: string;
}
type Orders = Partial<Record<OrderKind, Kept>>;

export const knownOrders = ({ restartAgent, reboot }: OrderActions): OrderKind[] => [
  ...(restartAgent ? (['restart agent'] as const) : []),
  ...(reboot ? (['reboot'] as const) : []),
];

/**
 * Carries out each order of an operator once, by its ID, and reports how it ended. An order is stored before it begins:
 * a restart that is not remembered would be repeated for ever. Another run of the agent, or of the operating system,
 * proves that it is done.
 */
export async function carryOutOrders(parts: OrderParts, signal: AbortSignal): Promise<void> {
  const { wanted, disk, clock, log } = parts;
  const { value, problem } = await readChecked(disk, stateFile, ordersOf);
  if (problem !== undefined) log.warn('the record of orders cannot be read', { problem });
  let orders = await settled(value ?? {}, parts);
  show(orders, parts);
  while (!signal.aborted) {
    const now = wanted.get();
    for (const { id, kind } of now.isFresh ? now.orders : []) {
      if (orders[kind]?.id === id || signal.aborted) continue;
      orders = { ...orders, [kind]: await begun({ id, kind }, orders, parts) };
      show(orders, parts);
      if (orders[kind]?.at === 'begun') orders = { ...orders, [kind]: await act(kind, orders[kind], parts) };
      show(orders, parts);
    }
    if (wanted.get() !== now) continue;
    await changedOr(wanted, untilOverdue(orders, clock), clock, signal);
    orders = await overdue(orders, parts);
    show(orders, parts);
  }
}

const show = (orders: Orders, { actual }: OrderParts): void => {
  const shown = Object.values(orders).map(({ id, at, reason, sinceWall }) => ({ id, at, reason, sinceWall }));
  if (JSON.stringify(shown) !== JSON.stringify(actual.get().orders ?? []))
    actual.update((before) => ({ ...before, orders: shown }));
};

/** What a run before began is done in this one. */
async function settled(orders: Orders, parts: OrderParts): Promise<Orders> {
  const { run, boot, clock, log } = parts;
  const done = (kind: OrderKind): Orders => {
    const kept = orders[kind];
    const isOver = kind === 'reboot' ? kept?.boot !== boot : kept?.run !== run;
    if (kept?.at !== 'begun' || !isOver) return {};
    log.info('an order of an operator is done', { order: kind });
    return { [kind]: { ...kept, at: 'done', reason: '', sinceWall: clock.wall() } };
  };
  const found = { ...done('restart agent'), ...done('reboot') };
  if (Object.keys(found).length === 0) return orders;
  const next = { ...orders, ...found };
  await write(next, parts);
  return next;
}

async function begun({ id, kind }: { id: string; kind: OrderKind }, orders: Orders, parts: OrderParts): Promise<Kept> {
  const { run, boot, actions, clock, log } = parts;
  const order = { id, run, boot, sinceWall: clock.wall() };
  if (!knownOrders(actions).includes(kind))
    return {
      ...order,
      at: 'failed',
      reason: `This agent cannot ${kind === 'reboot' ? 'reboot the device' : 'restart'}.`,
    };
  log.info('an operator ordered this', { order: kind });
  const kept: Kept = { ...order, at: 'begun', reason: '' };
  const failure = await write({ ...orders, [kind]: kept }, parts);
  return failure === undefined
    ? kept
    : { ...kept, at: 'failed', reason: `It cannot be remembered, so it is not begun: ${stateFile}: ${failure}.` };
}

/** @returns why it is not stored; undefined: it is. */
async function write(orders: Orders, { disk, log }: OrderParts): Promise<string | undefined> {
  try {
    await writeChecked(disk, stateFile, orders);
    return undefined;
  } catch (error) {
    log.warn('an order is not stored', { error });
    return fileProblem(error).replace(/\.$/, '');
  }
}

async function act(kind: OrderKind, kept: Kept, { actions, clock, log }: OrderParts): Promise<Kept> {
  try {
    if (kind === 'reboot') await actions.reboot?.();
    else actions.restartAgent?.();
    return kept;
  } catch (error) {
    log.error('an order of an operator failed', { order: kind, error });
    return { ...kept, at: 'failed', reason: `${errorText(error).replace(/\.$/, '')}.`, sinceWall: clock.wall() };
  }
}

/** Ms until a begun reboot has failed; undefined: none is begun. */
function untilOverdue({ reboot }: Orders, clock: Clock): number {
  return reboot?.at === 'begun' ? Math.max(0, reboot.sinceWall + rebootMs - clock.wall()) : Infinity;
}

async function overdue(orders: Orders, parts: OrderParts): Promise<Orders> {
  const { reboot } = orders;
  if (reboot?.at !== 'begun' || untilOverdue(orders, parts.clock) > 0) return orders;
  const reason = 'The operating system accepted the reboot, and did not go down within 5 minutes.';
  const next: Orders = { ...orders, reboot: { ...reboot, at: 'failed', reason, sinceWall: parts.clock.wall() } };
  await write(next, parts);
  return next;
}

function ordersOf(value: unknown): Orders {
  const read = (kind: OrderKind): Orders => {
    const kept = (value as Record<string, Partial<Kept> | undefined>)[kind];
    if (kept === undefined) return {};
    const { id, at, reason, sinceWall, run, boot } = kept;
    if (typeof id !== 'string' || typeof at !== 'string' || typeof run !== 'string' || typeof boot !== 'string')
      throw new Error('it names no order');
    return { [kind]: { id, at, reason: reason ?? '', sinceWall: sinceWall ?? 0, run, boot } };
  };
  return { ...read('restart agent'), ...read('reboot') };
}
