import {
  type BluetoothEntry,
  type BluetoothNetwork,
  type BluetoothReadable,
  bluetoothUuids,
  type BluetoothWritable,
  bluetoothWrites,
  encryptBluetoothValue,
  readBluetoothErrors,
  readBluetoothKey,
  readBluetoothNetworks,
  readBluetoothStatus,
} from '@platform/contract/provisioning/bluetooth';

/** The part of Web Bluetooth that this page uses; the types of browsers do not include it. */
export interface BluetoothRadio {
  requestDevice(options: { filters: { services: string[] }[] }): Promise<RadioDevice>;
}
interface RadioDevice {
  name?: string;
  gatt?: { connect(): Promise<RadioServer>; disconnect(): void };
}
interface RadioServer {
  getPrimaryService(uuid: string): Promise<{ getCharacteristic(uuid: string): Promise<Characteristic> }>;
}
interface Characteristic {
  readValue(): Promise<DataView>;
  writeValueWithResponse(value: Uint8Array): Promise<void>;
}

/** Undefined: this browser has none, or the page did not come over https. */
export const bluetoothRadio = (): BluetoothRadio | undefined => (navigator as { bluetooth?: BluetoothRadio }).bluetooth;

export interface DeviceState {
  name: string;
  model: string;
  /** The fragment that its machine starts with; empty: none. */
  fragmentId: string;
  hasCredentials: boolean;
  isOnline: boolean;
  networks: readonly BluetoothNetwork[];
  errors: readonly string[];
}

/** A device nearby that waits for its network. */
export interface NearbyDevice {
  read(): Promise<DeviceState>;
  /** @throws PasswordRefused; RangeError: a value is too long; Error: the connection is lost */
  enter(hotspotPassword: string, entry: BluetoothEntry): Promise<void>;
  disconnect(): void;
}

/** The device refused a write. */
export class PasswordRefused extends Error {}

/** Lets the user choose a device. @throws DOMException NotFoundError: none was chosen */
export async function findDevice(radio: BluetoothRadio): Promise<NearbyDevice> {
  const device = await radio.requestDevice({ filters: [{ services: [bluetoothUuids.service] }] });
  const server = await device.gatt?.connect();
  const service = await server?.getPrimaryService(bluetoothUuids.service);
  if (!service) throw new Error('it offers no connection');
  const read = async (name: BluetoothReadable): Promise<Uint8Array> => {
    const { buffer, byteOffset, byteLength } = await (
      await service.getCharacteristic(bluetoothUuids.readable[name])
    ).readValue();
    return new Uint8Array(buffer, byteOffset, byteLength);
  };
  const write = async (name: BluetoothWritable, bytes: Uint8Array): Promise<void> => {
    const characteristic = await service.getCharacteristic(bluetoothUuids.writable[name]);
    await characteristic.writeValueWithResponse(bytes).catch((error: unknown) => {
      // A lost connection is a NetworkError; every other error is an answer of the device.
      if (error instanceof DOMException && error.name === 'NetworkError') throw error;
      throw new PasswordRefused('the device refused it', { cause: error });
    });
  };
  const text = async (name: BluetoothReadable): Promise<string> => new TextDecoder().decode(await read(name));
  return {
    // One after the other: browsers refuse a second operation while one is in progress.
    async read() {
      const status = readBluetoothStatus(await read('status'));
      const networks = readBluetoothNetworks(await read('networks'));
      const errors = readBluetoothErrors(await read('errors'));
      const model = [await text('manufacturer'), await text('model')].filter(Boolean).join(' ');
      const fragmentId = await text('fragment_id');
      return { name: device.name ?? '', model, fragmentId, ...status, networks, errors };
    },
    async enter(hotspotPassword, entry) {
      const key = await readBluetoothKey(await read('pub_key'));
      for (const [name, value] of bluetoothWrites(entry))
        await write(name, await encryptBluetoothValue(key, { hotspotPassword, value }));
    },
    disconnect: () => device.gatt?.disconnect(),
  };
}
