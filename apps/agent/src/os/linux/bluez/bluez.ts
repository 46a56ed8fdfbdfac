import { Cell, changedOr, type Clock, errorText, type Log } from '@platform/kit';
import type { Bluetooth, BluetoothOffer, BluetoothState } from '../../bluetooth-port.ts';
import { type Bus, createBus, type Peer, systemBusAddress } from '../dbus/bus.ts';
import { objectsHandler } from '../dbus/objects.ts';
import { applicationRoot, BluezObjects } from './objects.ts';
import { flagIn, propertiesOf } from '../dbus/read.ts';
import { type DBusValue, Variant } from '../dbus/values.ts';

const serviceName = 'org.bluez';
const managerInterface = 'org.freedesktop.DBus.ObjectManager';
const propertiesInterface = 'org.freedesktop.DBus.Properties';
const adapterInterface = 'org.bluez.Adapter1';
const gattInterface = 'org.bluez.GattManager1';
const advertisingInterface = 'org.bluez.LEAdvertisingManager1';
const firstRetryMs = 5_000;
const longestRetryMs = 60_000;
/** BlueZ reads all objects before it answers; a weak machine needs seconds. */
const registerMs = 30_000;
const endMs = 2_000;

interface BluezParts {
  /** Makes the connection for one offer. */
  bus: () => Bus;
  clock: Clock;
  log: Log;
}

/** The BlueZ of this machine. It has a connection to the bus only while something is offered. */
export const linuxBluetooth = (of: { clock: Clock; log: Log }): Bluetooth =>
  bluez({ ...of, bus: () => createBus({ address: systemBusAddress(process.env), ...of }) });

export function bluez(parts: BluezParts): Bluetooth {
  const state = new Cell<BluetoothState>({ is: 'idle' });
  return {
    state,
    async offer(offer, signal) {
      const bus = parts.bus();
      const stop = new AbortController(); // later than the signal: the end of the offer is sent on the bus
      const running = bus.run(stop.signal);
      await new BluezOffer({ ...parts, service: bus.peer(serviceName), state, offer }).run(signal);
      stop.abort();
      await running;
      state.set({ is: 'idle' });
    },
  };
}

/** What BlueZ has taken from this process. */
interface Registered {
  /** Unique name of the service that took it. */
  owner: string;
  adapter: string;
  /** Paths of the advertisements that it sends. */
  advertisements: readonly string[];
  wasPoweredHere: boolean;
}

interface OfferParts extends Omit<BluezParts, 'bus'> {
  service: Peer;
  state: Cell<BluetoothState>;
  offer: BluetoothOffer;
}

class BluezOffer {
  readonly #parts: OfferParts;
  readonly #objects: BluezObjects;
  /** Counts what BlueZ reported. */
  readonly #changes = new Cell(0);
  #registered: Registered | undefined;

  constructor(parts: OfferParts) {
    this.#parts = parts;
    this.#objects = new BluezObjects(parts.offer, parts.service);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { service, offer } = this.#parts;
    const changed = (): void => this.#changes.update((count) => count + 1);
    const ends = [
      service.watch({ path: '/', interface: managerInterface }, changed),
      service.watch({ interface: propertiesInterface, arg0: adapterInterface }, changed),
      service.answer(objectsHandler(applicationRoot, () => this.#objects.all())),
    ];
    const following = this.#follow(offer, signal);
    for (let retryMs = firstRetryMs; !signal.aborted;) {
      const [owner, changes] = [service.owner.get(), this.#changes.get()];
      const isSettled = await this.#reconcile(owner);
      if (owner !== service.owner.get() || changes !== this.#changes.get()) continue;
      await this.#next(isSettled ? Infinity : retryMs, signal);
      retryMs = isSettled ? firstRetryMs : Math.min(retryMs * 2, longestRetryMs);
    }
    await this.#withdraw();
    for (const end of ends) end();
    await following;
  }

  /** Until BlueZ comes, goes or reports something; a registration that failed is tried again after a while, too. */
  async #next(retryMs: number, signal: AbortSignal): Promise<void> {
    const { service, clock } = this.#parts;
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    const changed = retryMs === Infinity ? this.#changes.changed(over) : changedOr(this.#changes, retryMs, clock, over);
    await Promise.race([service.owner.changed(over), changed]);
    turn.abort();
  }

  /** @returns whether nothing is left to do until BlueZ changes */
  async #reconcile(owner: string | undefined): Promise<boolean> {
    if (owner === undefined) return true; // not known yet
    if (owner === '') return this.#impossible('bluetoothd is not installed or does not run', undefined);
    if (this.#registered && this.#registered.owner !== owner) this.#registered = undefined;
    try {
      const adapters = await this.#adapters();
      const still = adapters.find(({ path }) => path === this.#registered?.adapter);
      if (!still) this.#registered = undefined;
      if (still && !still.isPowered) return this.#impossible('the Bluetooth adapter is switched off', this.#registered);
      const [adapter] = adapters;
      if (!adapter) return this.#impossible('there is no Bluetooth adapter that can advertise', undefined);
      this.#registered ??= await this.#register(owner, adapter);
      this.#offered(this.#registered.adapter);
      return true;
    } catch (error) {
      this.#impossible(errorText(error), undefined);
      return false;
    }
  }

  #offered(path: string): void {
    const { state, log } = this.#parts;
    const adapter = path.slice(path.lastIndexOf('/') + 1);
    if (state.get().is === 'offered') return;
    state.set({ is: 'offered', adapter });
    log.info('provisioning over Bluetooth is offered', { adapter });
  }

  /** Logged once for each reason in a row. */
  #impossible(reason: string, registered: Registered | undefined): true {
    const { state, log } = this.#parts;
    this.#registered = registered;
    const before = state.get();
    if (before.is === 'impossible' && before.reason === reason) return true;
    state.set({ is: 'impossible', reason });
    log.info('provisioning over Bluetooth is not offered', { reason });
    return true;
  }

  async #adapters(): Promise<{ path: string; isPowered: boolean }[]> {
    const [objects] = await this.#parts.service.call({
      path: '/',
      interface: managerInterface,
      member: 'GetManagedObjects',
    });
    const found: { path: string; isPowered: boolean }[] = [];
    for (const [path, value] of objects instanceof Map ? (objects as ReadonlyMap<string, DBusValue>) : []) {
      const interfaces = propertiesOf(value);
      if (![adapterInterface, gattInterface, advertisingInterface].every((name) => interfaces.has(name))) continue;
      found.push({ path, isPowered: flagIn(propertiesOf(interfaces.get(adapterInterface)), 'Powered') });
    }
    return found.toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
  }

  async #register(owner: string, { path, isPowered }: { path: string; isPowered: boolean }): Promise<Registered> {
    const { service, log } = this.#parts;
    const register = (of: string, member: string, object: string) =>
      service.call({
        path,
        interface: of,
        member,
        signature: 'oa{sv}',
        args: [object, new Map()],
        limitMs: registerMs,
      });
    if (!isPowered) await this.#power(path, true);
    // What an attempt that failed halfway has left would be refused as a repetition.
    await this.#unregister(path, this.#objects.advertisements());
    await register(gattInterface, 'RegisterApplication', applicationRoot);
    const [first = '', ...more] = this.#objects.advertisements();
    await register(advertisingInterface, 'RegisterAdvertisement', first);
    const advertisements = [first];
    for (const object of more) {
      try {
        await register(advertisingInterface, 'RegisterAdvertisement', object);
        advertisements.push(object);
      } catch (error) {
        log.debug('the radio has no room for another advertisement', { reason: errorText(error) });
      }
    }
    return { owner, adapter: path, advertisements, wasPoweredHere: !isPowered };
  }

  #power(path: string, isOn: boolean): Promise<unknown> {
    const args = [adapterInterface, 'Powered', new Variant('b', isOn)];
    return this.#parts.service.call({ path, interface: propertiesInterface, member: 'Set', signature: 'ssv', args });
  }

  async #unregister(path: string, advertisements: readonly string[]): Promise<void> {
    const { service, log } = this.#parts;
    const calls = [
      ...advertisements.map((object) => [advertisingInterface, 'UnregisterAdvertisement', object] as const),
      [gattInterface, 'UnregisterApplication', applicationRoot] as const,
    ];
    for (const [of, member, object] of calls) {
      await service
        .call({ path, interface: of, member, signature: 'o', args: [object], limitMs: endMs })
        .catch((error: unknown) => log.debug('nothing to withdraw', { object, reason: errorText(error) }));
    }
  }

  async #withdraw(): Promise<void> {
    if (!this.#registered) return;
    const { adapter, advertisements, wasPoweredHere } = this.#registered;
    await this.#unregister(adapter, advertisements);
    if (wasPoweredHere) await this.#power(adapter, false).catch(() => {});
    this.#parts.log.info('provisioning over Bluetooth has ended');
  }

  async #follow({ values }: BluetoothOffer, signal: AbortSignal): Promise<void> {
    for (let before = values.get(); !signal.aborted;) {
      await values.changed(signal);
      const now = values.get();
      this.#objects.tellChanges(before, now);
      before = now;
    }
  }
}
