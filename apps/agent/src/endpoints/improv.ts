// Improv via BLE, version 2.2 (https://www.improv-wifi.com/ble): state, device information and visible networks. Its
// command with the WiFi password is refused: clients send it as plain bytes (decision 0054).
import type { WifiSecurity } from '../os/network-port.ts';
import type { ProvisioningView } from '../network/endpoints/provisioning-view.ts';

const improvErrors = {
  none: 0,
  invalidPacket: 1,
  unknownCommand: 2,
  cannotConnect: 3,
  notAuthorized: 4,
} as const;
const commands = { sendWifi: 1, deviceInfo: 3, scan: 4 } as const;
/** Bit 1: device information, bit 2: scan. A machine has nothing to identify itself with, bit 0. */
export const improvCapabilities = 0b110;

/** 1: credentials need an authorization, 3: joining, 4: done. It never is 2, ready for credentials. */
export function improvState({ at }: ProvisioningView): number {
  return { waiting: 1, trying: 3, done: 4 }[at];
}

/** The error of the last attempt, until a command sets another one. */
export function improvError({ lastAttempt }: ProvisioningView): number {
  const hasFailed = lastAttempt && lastAttempt.result !== 'ok' && lastAttempt.result !== 'trying';
  return hasFailed ? improvErrors.cannotConnect : improvErrors.none;
}

export const improvServiceData = (view: ProvisioningView): Uint8Array =>
  Uint8Array.of(improvState(view), improvCapabilities, 0, 0, 0, 0);

/** Undefined: the command is not complete yet. `result`: what the result characteristic notifies. */
type Answer = { error: number; result?: Uint8Array } | undefined;

const headBytes = 2;
const checksumBytes = 1;

/** Commands of one client: they come in writes of any size. */
export class ImprovCommands {
  #bytes: Uint8Array = new Uint8Array(0);

  write(bytes: Uint8Array, view: ProvisioningView): Answer {
    const all = Buffer.concat([this.#bytes, bytes]);
    const size = headBytes + (all[1] ?? 0) + checksumBytes;
    if (all.length < headBytes || all.length < size) {
      this.#bytes = all; // at most 257 bytes
      return undefined;
    }
    this.#bytes = new Uint8Array(0);
    if (all.length > size || all[size - 1] !== checksum(all.subarray(0, size - 1)))
      return { error: improvErrors.invalidPacket };
    return answer(all[0] ?? 0, all.subarray(headBytes, size - 1), view);
  }

  /** The client has disconnected. */
  reset(): void {
    this.#bytes = new Uint8Array(0);
  }
}

function answer(command: number, data: Uint8Array, view: ProvisioningView): Answer {
  if (command === commands.sendWifi)
    return { error: isWifi(data) ? improvErrors.notAuthorized : improvErrors.invalidPacket };
  if (command !== commands.deviceInfo && command !== commands.scan) return { error: improvErrors.unknownCommand };
  if (data.length > 0) return { error: improvErrors.invalidPacket };
  const groups = command === commands.scan ? networkGroups(view) : [deviceInfo(view)];
  return { error: improvErrors.none, result: result(command, groups) };
}

const deviceInfo = ({ agentVersion, manufacturer, model, hostname }: ProvisioningView): string[] => [
  'platform-agent',
  agentVersion,
  `${manufacturer} ${model}`.trim(),
  hostname,
];

const networkGroups = ({ networks }: ProvisioningView): string[][] =>
  networks.map(({ ssid, signalPercent, security }) => [ssid, String(rssi(signalPercent)), authentication[security]]);

/** The inverse of what NetworkManager does for most drivers. */
const rssi = (signalPercent: number): number => Math.round(signalPercent / 2) - 100;

const authentication: Readonly<Record<WifiSecurity, string>> = {
  open: 'NO',
  owe: 'NO',
  'wpa-psk': 'WPA2',
  sae: 'WPA3',
  'wpa-eap': 'WPA2 EAP',
  wep: 'WEP',
  unknown: 'WPA2',
};

/** Two strings with their lengths. */
function isWifi(data: Uint8Array): boolean {
  const passwordAt = 1 + (data[0] ?? 0);
  return passwordAt < data.length && data.length === passwordAt + 1 + (data[passwordAt] ?? 0);
}

const mostData = 255;

/** One packet with all strings; groups that do not fit any more are left out, the strongest networks come first. */
function result(command: number, groups: readonly (readonly string[])[]): Uint8Array {
  const parts: Buffer[] = [];
  let size = 0;
  for (const group of groups) {
    const strings = group.map((text) => cut(Buffer.from(text), mostData / group.length - 1));
    const bytes = Buffer.concat(strings.flatMap((text) => [Buffer.of(text.length), text]));
    if (size + bytes.length > mostData) break;
    parts.push(bytes);
    size += bytes.length;
  }
  const packet = Buffer.concat([Buffer.of(command, size), ...parts]);
  return Buffer.concat([packet, Buffer.of(checksum(packet))]);
}

/** At most `limit` bytes; a character is never cut in two. */
function cut(text: Buffer, limit: number): Buffer {
  let end = Math.min(text.length, Math.floor(limit));
  while (end < text.length && end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
  return text.subarray(0, end);
}

const checksum = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0);
