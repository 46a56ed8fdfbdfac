// BlueZ as far as the agent uses it, over a scripted bus: the adapter hci1, and a phone nearby. Like BlueZ 5.66, it reads
// the objects of an application and of an advertisement before it answers.
import { type Message, messageType } from '../src/os/linux/dbus/message.ts';
import { bytesIn, propertiesOf, sectionIn, textIn, textsIn, type Properties } from '../src/os/linux/dbus/read.ts';
import { type DBusValue, Variant } from '../src/os/linux/dbus/values.ts';
import { type Answer, ScriptedBus } from './scripted-bus.ts';

const adapterPath = '/org/bluez/hci1';
const gattManager = 'org.bluez.GattManager1';
const advertisingManager = 'org.bluez.LEAdvertisingManager1';
const characteristic = 'org.bluez.GattCharacteristic1';
const properties = 'org.freedesktop.DBus.Properties';
const objectManager = 'org.freedesktop.DBus.ObjectManager';
const empty: Answer = { signature: '', body: [] };
const device = new Variant('o', `${adapterPath}/dev_00_AA_01_01_00_01`);

export class ScriptedBluez implements AsyncDisposable {
  readonly bus: ScriptedBus;
  readonly calls: string[] = [];
  isPowered = true;
  /** As many advertisements as the radio has room for. */
  room = 5;
  /** Errors that the next calls of these methods get. */
  readonly failures = new Map<string, string[]>();
  #hasAdapter = true;
  /** By path; undefined: no application is registered. */
  #application: ReadonlyMap<string, DBusValue> | undefined;
  readonly #advertisements = new Map<string, Properties>();

  constructor(folder: string) {
    this.bus = new ScriptedBus(folder, 'org.bluez', (call) => this.#answer(call));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.bus[Symbol.asyncDispose]();
  }

  setAdapter(isThere: boolean): void {
    this.#hasAdapter = isThere;
    this.#forget();
    const interfaces = ['org.bluez.Adapter1', gattManager, advertisingManager];
    if (isThere) {
      const added = new Map(interfaces.map((name) => [name, new Map<string, Variant>()]));
      this.bus.emit('/', objectManager, 'InterfacesAdded', 'oa{sa{sv}}', [adapterPath, added]);
    } else this.bus.emit('/', objectManager, 'InterfacesRemoved', 'oas', [adapterPath, interfaces]);
  }

  /** The service ends or starts. */
  setRunning(isRunning: boolean): void {
    this.#forget();
    this.bus.setOwned(isRunning);
  }

  switchOff(): void {
    this.isPowered = false;
    const changed = new Map([['Powered', new Variant('b', false)]]);
    const body = ['org.bluez.Adapter1', changed, []];
    this.bus.emit(adapterPath, properties, 'PropertiesChanged', 'sa{sv}as', body);
  }

  #forget(): void {
    this.#application = undefined;
    this.#advertisements.clear();
  }

  // The phone

  advertisements(): Properties[] {
    return this.isPowered ? [...this.#advertisements.values()] : [];
  }

  async read(uuid: string, offset = 0): Promise<Uint8Array | string> {
    const options = new Map([
      ['device', device],
      ['offset', new Variant('q', offset)],
    ]);
    const reply = await this.#call(uuid, 'ReadValue', 'a{sv}', [options]);
    return reply.type === messageType.error ? errorOf(reply) : (reply.body[0] as Uint8Array);
  }

  async write(uuid: string, value: Uint8Array, offset = 0): Promise<string> {
    const options = new Map([
      ['device', device],
      ['offset', new Variant('q', offset)],
      ['type', new Variant('s', 'request')],
    ]);
    const reply = await this.#call(uuid, 'WriteValue', 'aya{sv}', [value, options]);
    return reply.type === messageType.error ? errorOf(reply) : 'ok';
  }

  async subscribe(uuid: string): Promise<void> {
    await this.#call(uuid, 'StartNotify', '', []);
  }

  notified(): { uuid: string; value: Uint8Array }[] {
    return this.bus.received.flatMap(({ path = '', body: [of, changed] }) =>
      of === characteristic
        ? [{ uuid: textIn(this.#characteristic(path), 'UUID'), value: bytesIn(propertiesOf(changed), 'Value') }]
        : [],
    );
  }

  pathOf(uuid: string): string {
    const paths = [...(this.#application?.keys() ?? [])];
    return paths.find((path) => textIn(this.#characteristic(path), 'UUID') === uuid) ?? '/none';
  }

  #characteristic(path: string): Properties {
    return sectionIn(propertiesOf(this.#application?.get(path)), characteristic);
  }

  #call(uuid: string, member: string, signature: string, body: readonly DBusValue[]): Promise<Message> {
    return this.bus.call({ path: this.pathOf(uuid), interface: characteristic, member }, signature, body);
  }

  // The service

  #answer(call: Message): Promise<Answer> | Answer {
    const { path = '', interface: of = '', member = '', body } = call;
    this.calls.push(member);
    const failure = this.failures.get(member)?.shift();
    if (failure !== undefined) return { error: failure, text: failure };
    if (of === objectManager) return { signature: 'a{oa{sa{sv}}}', body: [this.#objects()] };
    if (path !== adapterPath || !this.#hasAdapter)
      return { error: 'org.freedesktop.DBus.Error.UnknownObject', text: path };
    const [object = ''] = body as string[];
    switch (member) {
      case 'Set':
        this.isPowered = (body[2] as Variant).value === true;
        return empty;
      case 'RegisterApplication':
        return this.#registerApplication(object);
      case 'RegisterAdvertisement':
        return this.#registerAdvertisement(object);
      case 'UnregisterApplication':
        return this.#removed(this.#application !== undefined, () => (this.#application = undefined));
      case 'UnregisterAdvertisement':
        return this.#removed(this.#advertisements.has(object), () => this.#advertisements.delete(object));
      default:
        return { error: 'org.freedesktop.DBus.Error.UnknownMethod', text: member };
    }
  }

  #removed(isThere: boolean, remove: () => unknown): Answer {
    if (!isThere) return { error: 'org.bluez.Error.DoesNotExist', text: 'Does Not Exist' };
    remove();
    return empty;
  }

  #objects(): Map<string, DBusValue> {
    const adapter = new Map<string, DBusValue>([
      ['org.bluez.Adapter1', new Map([['Powered', new Variant('b', this.isPowered)]])],
      [gattManager, new Map()],
      [advertisingManager, new Map()],
    ]);
    const old = new Map<string, DBusValue>([['org.bluez.Adapter1', new Map()]]);
    // hci0 has no Low Energy.
    return new Map([['/org/bluez/hci0', old], ...(this.#hasAdapter ? [[adapterPath, adapter] as const] : [])]);
  }

  async #registerApplication(root: string): Promise<Answer> {
    if (this.#application) return { error: 'org.bluez.Error.AlreadyExists', text: 'Already Exists' };
    const { body } = await this.bus.call({ path: root, interface: objectManager, member: 'GetManagedObjects' }, '', []);
    const [objects] = body as [ReadonlyMap<string, DBusValue>];
    if (objects.size === 0) return { error: 'org.bluez.Error.Failed', text: 'No object received' };
    this.#application = objects;
    return empty;
  }

  async #registerAdvertisement(path: string): Promise<Answer> {
    if (!this.isPowered || this.#advertisements.size >= this.room)
      return { error: 'org.bluez.Error.NotPermitted', text: 'Maximum advertisements reached' };
    const get = { path, interface: properties, member: 'GetAll' };
    const { body } = await this.bus.call(get, 's', ['org.bluez.LEAdvertisement1']);
    this.#advertisements.set(path, propertiesOf(body[0]));
    return empty;
  }
}

const errorOf = ({ errorName = '' }: Message): string => errorName.slice(errorName.lastIndexOf('.') + 1);

export const servicesOf = (advertisement: Properties): string[] => textsIn(advertisement, 'ServiceUUIDs');
