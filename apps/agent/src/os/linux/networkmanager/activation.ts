import { Cell, changedOr, type Clock, errorText } from '@platform/kit';
import type { JoinResult } from '../../network-port.ts';
import type { Peer, Signal } from '../dbus/bus.ts';
import { BusError } from '../dbus/connection.ts';
import type { DBusValue } from '../dbus/values.ts';
import { numberIn, propertiesOf, textIn, textsIn } from '../dbus/read.ts';
import { type JoinContext, type JoinEvent, joinOutcome, outcomeAtLimit, refusedActivation } from './join-outcome.ts';
import { managerName, managerPath } from './objects.ts';

export const supplicantName = 'fi.w1.wpa_supplicant1';
const propertiesInterface = 'org.freedesktop.DBus.Properties';

/** The services that report on an activation. */
export interface ActivationParts {
  manager: Peer;
  supplicant: Peer;
  clock: Clock;
}

export interface Activation {
  /** Object path of the profile. */
  profile: string;
  /** Object path of the device; undefined: NetworkManager chooses. */
  device: string | undefined;
  security: JoinContext['security'];
  limitMs: number;
  /** After success, watches this long for a failure that follows at once. */
  settleMs: number;
}

/**
 * Activates a profile and waits for its outcome. What does not end in time, or is aborted, is deactivated again; the
 * outcome says how far it came.
 */
export async function activate(of: Activation, parts: ActivationParts, signal: AbortSignal): Promise<JoinResult> {
  const { manager, clock } = parts;
  const events = new Cell<readonly JoinEvent[]>([]);
  const ends = watchEvents(parts, (event) => events.update((all) => [...all, event]));
  const end = clock.now() + of.limitMs;
  try {
    const [active] = await manager.call({
      path: managerPath,
      interface: managerName,
      member: 'ActivateConnection',
      signature: 'ooo',
      args: [of.profile, of.device ?? '/', '/'],
      limitMs: 25e3,
    });
    if (typeof active !== 'string') throw new BusError('', 'NetworkManager returned no active connection');
    const context = await contextOf(active, of, manager, (event) => events.update((all) => [...all, event]));
    const result = await outcome(events, context, { ...parts, end }, signal);
    if (result && (!result.ok || of.settleMs === 0)) return result;
    if (result) return await settled(events, context, { ...parts, end: clock.now() + of.settleMs }, signal);
    const seen = events.get(); // what follows is the end that this call makes
    await deactivate(manager, active);
    return outcomeAtLimit(seen, context);
  } catch (error) {
    return refusedActivation(error instanceof BusError ? error.code : '', errorText(error));
  } finally {
    for (const stop of ends) stop();
  }
}

/** Undefined: it takes longer, or was aborted. */
async function outcome(
  events: Cell<readonly JoinEvent[]>,
  context: JoinContext,
  { manager, clock, end }: ActivationParts & { end: number },
  signal: AbortSignal,
): Promise<JoinResult | undefined> {
  while (!signal.aborted) {
    const seen = events.get();
    const result = joinOutcome(seen, context);
    if (result) return result;
    if (!manager.owner.get()) return { ok: false, reason: 'failed', detail: 'NetworkManager has stopped' };
    const left = end - clock.now();
    if (left <= 0) return undefined;
    if (events.get() === seen) await changedOr(events, left, clock, signal);
  }
  return undefined;
}

/** What is up can fail at once, for example when the DNS server of a hotspot finds its port taken. */
async function settled(
  events: Cell<readonly JoinEvent[]>,
  context: JoinContext,
  parts: ActivationParts & { end: number },
  signal: AbortSignal,
): Promise<JoinResult> {
  const known = events.get();
  const later = new Cell<readonly JoinEvent[]>([]);
  const copy = new AbortController();
  const follow = async (): Promise<void> => {
    while (!copy.signal.aborted) {
      later.set(events.get().slice(known.length));
      await events.changed(copy.signal);
    }
  };
  void follow();
  const result = await outcome(later, context, parts, signal);
  copy.abort();
  return result ?? { ok: true };
}

/** An activation may have ended before its path was known; a signal of that may have come before as well. */
async function contextOf(
  active: string,
  { device, security }: Activation,
  manager: Peer,
  add: (event: JoinEvent) => void,
): Promise<JoinContext> {
  const of = `${managerName}.Connection.Active`;
  try {
    const [all] = await manager.call({
      path: active,
      interface: propertiesInterface,
      member: 'GetAll',
      signature: 's',
      args: [of],
    });
    const properties = propertiesOf(all);
    add({ is: 'active', path: active, state: numberIn(properties, 'State'), reason: 0 });
    return { active, device: device ?? textsIn(properties, 'Devices')[0], security };
  } catch {
    return { active, device, security }; // it has ended: the signals say why
  }
}

const deactivate = (manager: Peer, active: string): Promise<unknown> =>
  manager
    .call({
      path: managerPath,
      interface: managerName,
      member: 'DeactivateConnection',
      signature: 'o',
      args: [active],
    })
    .catch(() => {}); // it has ended meanwhile

const numberAt = (body: readonly DBusValue[], n: number): number => (typeof body[n] === 'number' ? body[n] : 0);
const textAt = (body: readonly DBusValue[], n: number): string => (typeof body[n] === 'string' ? body[n] : '');

function watchEvents({ manager, supplicant }: ActivationParts, add: (event: JoinEvent) => void): (() => void)[] {
  const member = 'StateChanged';
  return [
    manager.watch({ interface: `${managerName}.Device`, member }, ({ path, body }) =>
      add({ is: 'device', path, state: numberAt(body, 0), reason: numberAt(body, 2) }),
    ),
    manager.watch({ interface: `${managerName}.Connection.Active`, member }, ({ path, body }) =>
      add({ is: 'active', path, state: numberAt(body, 0), reason: numberAt(body, 1) }),
    ),
    manager.watch({ interface: managerName, member: 'DeviceRemoved' }, ({ body }) =>
      add({ is: 'removed', path: textAt(body, 0) }),
    ),
    supplicant.watch({ interface: `${supplicantName}.Interface`, member: 'EAP' }, ({ body }) =>
      add({ is: 'eap', status: textAt(body, 0), parameter: textAt(body, 1) }),
    ),
    supplicant.watch(
      { interface: propertiesInterface, member: 'PropertiesChanged', arg0: `${supplicantName}.Interface` },
      (signal) => supplicantEvents(signal).forEach(add),
    ),
  ];
}

function supplicantEvents({ body }: Signal): JoinEvent[] {
  const changed = propertiesOf(body[1]);
  const state = textIn(changed, 'State');
  const event: JoinEvent = {
    is: 'supplicant',
    ...(state !== '' && { state }),
    ...(changed.has('DisconnectReason') && { disconnectReason: numberIn(changed, 'DisconnectReason') }),
    ...(changed.has('AuthStatusCode') && { authStatus: numberIn(changed, 'AuthStatusCode') }),
  };
  return Object.keys(event).length > 1 ? [event] : [];
}
