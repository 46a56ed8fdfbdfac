// A phone that provisions a device over Bluetooth. Its radio is in the same virtual machine as the device's, and one
// bluetoothd has both, so it uses the format as any other client does.
import assert from 'node:assert/strict';
import {
  type BluetoothEntry,
  type BluetoothReadable,
  bluetoothUuids,
  bluetoothWrites,
  encryptBluetoothValue,
  readBluetoothErrors,
  readBluetoothKey,
  readBluetoothNetworks,
  readBluetoothStatus,
} from '@platform/contract/provisioning/bluetooth';
import { eventually, type VirtualMachine } from './machine.ts';

export interface BluetoothPhone {
  /** Waits until the device of this name is seen. */
  find(name: string, seconds: number): Promise<void>;
  text(name: BluetoothReadable): Promise<string>;
  status(): Promise<{ hasCredentials: boolean; isOnline: boolean }>;
  networks(): Promise<readonly string[]>;
  errors(): Promise<readonly string[]>;
  enter(entry: BluetoothEntry, hotspotPassword: string): Promise<void>;
  read(uuid: string): Promise<Uint8Array>;
  write(uuid: string, value: Uint8Array): Promise<void>;
}

export function bluetoothPhone(machine: VirtualMachine): BluetoothPhone {
  let address = '';
  const read = async (uuid: string): Promise<Uint8Array> =>
    Buffer.from((await machine.must(`ble get ${address} ${uuid}`, 180)).trim(), 'hex');
  const write = async (uuid: string, value: Uint8Array): Promise<void> =>
    void (await machine.must(`ble put ${address} ${uuid} ${Buffer.from(value).toString('hex')}`, 180));
  const of = (name: BluetoothReadable): Promise<Uint8Array> => read(bluetoothUuids.readable[name]);
  return {
    read,
    write,
    async find(name, seconds) {
      address = await eventually(`${name} is on the air`, seconds, async () => {
        const lines = (await machine.must('ble scan 8', 120)).split('\n');
        return lines.find((line) => line.includes(` ${name} `) && line.includes(bluetoothUuids.service))?.split(' ')[0];
      });
    },
    text: async (name) => new TextDecoder().decode(await of(name)),
    status: async () => readBluetoothStatus(await of('status')),
    networks: async () => readBluetoothNetworks(await of('networks')).map(({ ssid }) => ssid),
    errors: async () => readBluetoothErrors(await of('errors')),
    async enter(entry, hotspotPassword) {
      const key = await readBluetoothKey(await of('pub_key'));
      for (const [name, value] of bluetoothWrites(entry)) {
        const bytes = await encryptBluetoothValue(key, { hotspotPassword, value });
        assert.equal(bytes.length, 256);
        await write(bluetoothUuids.writable[name], bytes);
      }
    },
  };
}
