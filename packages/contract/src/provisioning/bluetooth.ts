// Provisioning over Bluetooth Low Energy: identifiers, encryption and framing, for the device and for browsers.
// docs/provisioning.md describes the order of use.

/** UUIDs of version 5 in the namespace of the published service, by the name of each characteristic. */
export const bluetoothUuids = {
  service: '51d984c2-43bd-5228-a3ac-a3eca992e8b3',
  /** A write is a write request with the answer of `encryptBluetoothValue`. */
  writable: {
    ssid: '37a720ee-86e5-55a8-b876-d200fb7e4f72',
    psk: 'cd5b8fb9-4006-56e5-a78b-044cf6ae48cb',
    id: 'c2be234e-1975-5e85-b97b-bb30c3bf43d2',
    secret: 'd0029d11-a8c2-5231-8fcc-83de66952f01',
    api_key: 'f30e26d6-155c-5a24-bd7f-6b1a40e463da',
    app_address: '444ee2b0-b3fa-5d74-bb35-f194642188b3',
    exit_provisioning: '10cd57f1-01bb-5937-89fb-64cc40be53d2',
    /** Not in the published service: the text of a set-up code, in place of id, secret, api_key and app_address. */
    set_up_code: '12f510f2-a463-5bf2-91d1-bae56001d8d5',
  },
  /** All notify but `pub_key`. */
  readable: {
    pub_key: '70bc8310-68ca-5011-9282-72f201293dfb',
    status: 'ea8a8689-548f-5941-829b-82aeff8095b7',
    manufacturer: '49d34f00-cf76-55fa-9f8d-23f6836136ab',
    model: 'e7e1ac15-fb59-54ab-8538-72008ad4ee43',
    fragment_id: 'd2eae9e8-30bc-5fdf-bd9f-bd4e8a4017d2',
    networks: '61eba4df-b901-502c-b278-fadf9d52802b',
    errors: '75f64044-b604-5547-a723-7f8618255ddc',
    agent_version: '6e164616-ee96-5835-b199-115ddbcd885f',
  },
} as const;
export type BluetoothWritable = keyof typeof bluetoothUuids.writable;
export type BluetoothReadable = keyof typeof bluetoothUuids.readable;

/** The service of Improv via BLE, version 2.2: https://www.improv-wifi.com/ble */
export const improvUuids = {
  service: '00467768-6228-2272-4663-277478268000',
  state: '00467768-6228-2272-4663-277478268001',
  error: '00467768-6228-2272-4663-277478268002',
  command: '00467768-6228-2272-4663-277478268003',
  result: '00467768-6228-2272-4663-277478268004',
  capabilities: '00467768-6228-2272-4663-277478268005',
  /** Key of the service data in the advertisement. */
  data: '00004677-0000-1000-8000-00805f9b34fb',
} as const;

/** RSA-2048 with OAEP and SHA-256: password, colon and value together. */
export const longestBluetoothText = 190;

/** What a user enters for a device. */
export interface BluetoothEntry {
  wifi?: { ssid: string; psk: string };
  credentials?:
    | { setUpCode: string }
    | { id: string; appAddress: string; secret?: string; apiKey?: { id: string; key: string } };
}

/** The writes that hand the entry over, in their order. The device takes it up with the last one. */
export function bluetoothWrites({ wifi, credentials }: BluetoothEntry): [name: BluetoothWritable, value: string][] {
  const writes: [BluetoothWritable, string][] = [];
  if (wifi) writes.push(['ssid', wifi.ssid], ['psk', wifi.psk]);
  if (credentials && 'setUpCode' in credentials) writes.push(['set_up_code', credentials.setUpCode]);
  else if (credentials) {
    const { id, appAddress, secret, apiKey } = credentials;
    writes.push(['id', id], ['app_address', appAddress]);
    if (secret !== undefined) writes.push(['secret', secret]);
    if (apiKey) writes.push(['api_key', JSON.stringify(apiKey)]);
  }
  return [...writes, ['exit_provisioning', '']];
}

/** `CryptoKey`, by the types of browsers or of Node. */
type PublicKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The key of a device, as `pub_key` reads. @throws DOMException if it is not an RSA key */
export function readBluetoothKey(publicKey: Uint8Array): Promise<PublicKey> {
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' };
  return crypto.subtle.importKey('spki', new Uint8Array(publicKey), algorithm, false, ['encrypt']);
}

/** The bytes of one write. @throws RangeError if password and value are longer than `longestBluetoothText` */
export async function encryptBluetoothValue(
  key: PublicKey,
  { hotspotPassword, value }: { hotspotPassword: string; value: string },
): Promise<Uint8Array> {
  const text = new TextEncoder().encode(`${hotspotPassword}:${value}`);
  if (text.length > longestBluetoothText)
    throw new RangeError(`the value has ${text.length} bytes with the password; ${longestBluetoothText} fit`);
  return new Uint8Array(await crypto.subtle.encrypt({ name: 'RSA-OAEP' }, key, text));
}

/** Reads `status`. `isOnline`: by the rule of the configured mode. */
export function readBluetoothStatus(bytes: Uint8Array): { hasCredentials: boolean; isOnline: boolean } {
  const [bits = 0] = bytes;
  return { hasCredentials: (bits & 1) !== 0, isOnline: (bits & 2) !== 0 };
}

export interface BluetoothNetwork {
  ssid: string;
  isSecured: boolean;
  signalPercent: number;
}

/** Reads `networks`, strongest first: each is one byte, the SSID, and NUL. */
export function readBluetoothNetworks(bytes: Uint8Array): BluetoothNetwork[] {
  return items(bytes).flatMap((item) => {
    const [head] = item;
    if (head === undefined || item.length < 2) return [];
    return [{ ssid: textOf(item.subarray(1)), isSecured: (head & 0x80) !== 0, signalPercent: head & 0x7f }];
  });
}

/**
 * Reads `errors`: why the last entry failed, for users. Empty after `exit_provisioning`, until the device knows what
 * came of it.
 */
export const readBluetoothErrors = (bytes: Uint8Array): string[] => items(bytes).map(textOf);

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** What NULs end. The first byte of a network is never NUL: a signal of 0 without a lock is written as 1. */
function items(bytes: Uint8Array): Uint8Array[] {
  const packets: Uint8Array[] = [];
  for (let from = 0, end = bytes.indexOf(0); end >= 0; from = end + 1, end = bytes.indexOf(0, from)) {
    packets.push(bytes.subarray(from, end));
  }
  return packets;
}
