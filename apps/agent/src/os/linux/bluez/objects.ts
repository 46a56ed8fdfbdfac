// What BlueZ calls in this process: services, characteristics and advertisements of an offer.
// https://github.com/bluez/bluez/blob/master/doc/org.bluez.GattCharacteristic.rst
import type { BluetoothOffer, Characteristic } from '../../bluetooth-port.ts';
import type { Peer, Reply } from '../dbus/bus.ts';
import { BusError } from '../dbus/connection.ts';
import { type BusObject, noReplyBody, propertiesName } from '../dbus/objects.ts';
import { numberIn, propertiesOf, textIn } from '../dbus/read.ts';
import { type DBusValue, Variant } from '../dbus/values.ts';

export const applicationRoot = '/platform/provisioning';
const advertisementRoot = '/platform/advertisement';
const characteristicInterface = 'org.bluez.GattCharacteristic1';
const advertisementInterface = 'org.bluez.LEAdvertisement1';
const empty = new Uint8Array(0);

const refused = (code: string): BusError => new BusError(`org.bluez.Error.${code}`, code);
const texts = (values: readonly string[]): Variant => new Variant('as', values);

export class BluezObjects {
  readonly #offer: BluetoothOffer;
  readonly #service: Peer;
  /** Paths of the characteristics that a client subscribed to. */
  readonly #notifying = new Set<string>();
  readonly #objects: readonly BusObject[];

  constructor(offer: BluetoothOffer, service: Peer) {
    this.#offer = offer;
    this.#service = service;
    this.#objects = offer.services.flatMap(({ uuid, characteristics }, n) => {
      const path = `${applicationRoot}/service${n}`;
      const properties = new Map([
        ['UUID', new Variant('s', uuid)],
        ['Primary', new Variant('b', true)],
      ]);
      const below = characteristics.map((one, at) => this.#characteristic(one, path, `${path}/char${at}`));
      return [{ path, interface: 'org.bluez.GattService1', properties }, ...below];
    });
  }

  all(): readonly BusObject[] {
    return [...this.#objects, ...this.#offer.advertisements.map((_, n) => this.#advertisement(n))];
  }

  /** Paths, in their order. */
  advertisements(): string[] {
    return this.#offer.advertisements.map((_, n) => `${advertisementRoot}${n}`);
  }

  /** Sends BlueZ the values that have changed. */
  tellChanges(before: ReadonlyMap<string, Uint8Array>, now: ReadonlyMap<string, Uint8Array>): void {
    const isNew = (uuid: string): boolean => Buffer.compare(before.get(uuid) ?? empty, now.get(uuid) ?? empty) !== 0;
    for (const { path, properties } of this.#objects) {
      const uuid = String(properties.get('UUID')?.value);
      if (this.#notifying.has(path) && isNew(uuid))
        this.#tell(path, characteristicInterface, ['Value', new Variant('ay', now.get(uuid) ?? empty)]);
    }
    for (const [n, { data }] of this.#offer.advertisements.entries()) {
      const value = this.#advertisement(n).properties.get('ServiceData');
      if (value && isNew(data)) this.#tell(`${advertisementRoot}${n}`, advertisementInterface, ['ServiceData', value]);
    }
  }

  #tell(path: string, of: string, [name, value]: [string, Variant]): void {
    const body = [of, new Map([[name, value]]), []];
    this.#service.tell({ path, interface: propertiesName, member: 'PropertiesChanged', signature: 'sa{sv}as', body });
  }

  #advertisement(n: number): BusObject {
    const { service, name, data } = this.#offer.advertisements[n] ?? { service: '', name: '', data: '' };
    const value = new Variant('ay', this.#offer.values.get().get(data) ?? empty);
    const properties = new Map([
      ['Type', new Variant('s', 'peripheral')],
      ['ServiceUUIDs', texts([service])],
      ['Discoverable', new Variant('b', true)],
    ]);
    if (name !== '') properties.set('LocalName', new Variant('s', name));
    if (data !== '') properties.set('ServiceData', new Variant('a{sv}', new Map([[data, value]])));
    // BlueZ calls Release when it drops the advertisement by itself.
    const methods = { Release: () => noReplyBody };
    return { path: `${advertisementRoot}${n}`, interface: advertisementInterface, properties, methods };
  }

  #characteristic({ uuid, can }: Characteristic, service: string, path: string): BusObject {
    const properties = new Map([
      ['UUID', new Variant('s', uuid)],
      ['Service', new Variant('o', service)],
      ['Flags', texts(can)],
    ]);
    const methods = {
      ReadValue: ([options]: readonly DBusValue[]) => this.#read(uuid, can, options),
      WriteValue: ([value, options]: readonly DBusValue[]) => this.#write(uuid, can, value, options),
      StartNotify: () => {
        this.#notifying.add(path);
        return noReplyBody;
      },
      StopNotify: () => {
        this.#notifying.delete(path);
        return noReplyBody;
      },
    };
    return { path, interface: characteristicInterface, properties, methods };
  }

  #read(uuid: string, can: Characteristic['can'], options: DBusValue | undefined): Reply {
    if (!can.includes('read')) throw refused('NotPermitted');
    const value = this.#offer.values.get().get(uuid) ?? empty;
    const offset = numberIn(propertiesOf(options), 'offset');
    if (offset > value.length) throw refused('InvalidOffset');
    return { signature: 'ay', body: [value.subarray(offset)] };
  }

  async #write(
    uuid: string,
    can: Characteristic['can'],
    value: DBusValue | undefined,
    options: DBusValue | undefined,
  ): Promise<Reply> {
    if (!can.includes('write')) throw refused('NotPermitted');
    const of = propertiesOf(options);
    // BlueZ puts long writes together; what has an offset is a part without its beginning.
    if (!(value instanceof Uint8Array) || numberIn(of, 'offset') !== 0) throw refused('InvalidOffset');
    const answer = await this.#offer.write({ uuid, value, client: textIn(of, 'device') });
    if (answer !== 'ok') throw refused(answer);
    return noReplyBody;
  }
}
