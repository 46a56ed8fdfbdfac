// The published GATT service of provisioning, without Bluetooth: what its characteristics read, and what a write does.
// A client encrypts each value to the key of this start, together with the password of the hotspot (decision 0054).
import { constants, createHash, createPublicKey, type KeyObject, privateDecrypt, timingSafeEqual } from 'node:crypto';
import type { BluetoothReadable, BluetoothWritable } from '@platform/contract/provisioning/bluetooth';
import type { Clock } from '@platform/kit';
import type { WriteRefusal } from '../os/bluetooth-port.ts';
import type { ProvisioningView, Submission } from '../network/endpoints/provisioning-view.ts';
import { credentialsText } from './credentials-text.ts';

/** The bytes of a characteristic are limited by the Attribute Protocol. */
const longestValue = 512;
const maxErrors = 5;
/** Writes that cannot be decrypted: each costs a millisecond of CPU, and may be a guess of the password. */
const failures = { count: 10, perMs: 60_000 };
/** A start has few writes; a recorded one is refused as long as the key is in use. */
const mostWrites = 1_000;

/** Refused write; `code` as the last part of an error of BlueZ. */
export class GattRefusal extends Error {
  readonly code: WriteRefusal;
  constructor(code: WriteRefusal, text: string) {
    super(text);
    this.name = 'GattRefusal';
    this.code = code;
  }
}

interface Parts {
  view: () => ProvisioningView;
  /** A user did something. */
  active: () => void;
  /** @returns why it is refused, for users; empty: it was handed to the agent */
  handOver: (submission: Submission) => Promise<string>;
  /** `errors` reads differently now. */
  changed: () => void;
  /** RSA with 2048 bits, of this start. */
  privateKey: KeyObject;
  hotspotPassword: string;
  clock: Clock;
}

export class GattProvisioning {
  readonly #parts: Parts;
  readonly #publicKey: Uint8Array;
  readonly #prefix: Buffer;
  readonly #keyBytes: number;
  readonly #accepted = new Set<string>();
  #staged: Partial<Record<BluetoothWritable, string>> = {};
  #errors: readonly string[] = [];
  /** Wall time of an attempt before the last entry: its error is no longer news. */
  #attemptBefore = -Infinity;
  #failureTimes: readonly number[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#publicKey = createPublicKey(parts.privateKey).export({ type: 'spki', format: 'der' });
    this.#prefix = Buffer.from(`${parts.hotspotPassword}:`);
    this.#keyBytes = (parts.privateKey.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  }

  read(name: BluetoothReadable): Uint8Array {
    const view = this.#parts.view();
    switch (name) {
      case 'pub_key':
        return this.#publicKey;
      case 'status':
        return Uint8Array.of((view.hasCredentials ? 1 : 0) | (view.isOnline ? 2 : 0));
      case 'manufacturer':
        return Buffer.from(view.manufacturer).subarray(0, longestValue);
      case 'model':
        return Buffer.from(view.model).subarray(0, longestValue);
      case 'fragment_id':
        return Buffer.from(view.fragmentId).subarray(0, longestValue);
      case 'agent_version':
        return Buffer.from(view.agentVersion).subarray(0, longestValue);
      case 'networks':
        return joined(view.networks.map(networkBytes));
      case 'errors':
        return joined([...this.#errors, this.#attemptText(view)].filter(Boolean).map(textBytes));
    }
  }

  #attemptText({ lastAttempt }: ProvisioningView): string {
    // The agent derives the wall time from two clocks: it varies by a millisecond.
    return lastAttempt && Math.abs(lastAttempt.wall - this.#attemptBefore) >= 1_000 ? lastAttempt.text : '';
  }

  /**
   * Stages a value. `exit_provisioning` hands over what is staged; the answer to that goes to `errors`, since a write
   * has to be confirmed within 30 s.
   *
   * @throws GattRefusal; then nothing is staged
   */
  write(name: BluetoothWritable, encrypted: Uint8Array): void {
    const value = this.#decrypted(encrypted);
    this.#parts.active();
    if (name === 'exit_provisioning') return void this.#exit();
    if (name === 'api_key' && !apiKeyOf(value)) throw new GattRefusal('Failed', 'api_key is not JSON with id and key');
    this.#staged[name] = value;
  }

  #decrypted(encrypted: Uint8Array): string {
    if (encrypted.length !== this.#keyBytes)
      throw new GattRefusal('InvalidValueLength', `an encrypted value has ${this.#keyBytes} bytes`);
    const since = this.#parts.clock.now() - failures.perMs;
    this.#failureTimes = this.#failureTimes.filter((time) => time > since);
    if (this.#failureTimes.length >= failures.count) throw new GattRefusal('NotAuthorized', 'too many failed writes');
    const digest = createHash('sha256').update(encrypted).digest('base64');
    const bytes = this.#accepted.has(digest) ? undefined : this.#plain(encrypted);
    const text = bytes && utf8(bytes.subarray(this.#prefix.length));
    if (text === undefined || this.#accepted.size >= mostWrites) {
      this.#failureTimes = [...this.#failureTimes, this.#parts.clock.now()];
      throw new GattRefusal(
        'NotAuthorized',
        'the value is not encrypted with this key and the password of the hotspot',
      );
    }
    this.#accepted.add(digest);
    return text;
  }

  /** Undefined: it is encrypted to another key, or the password is another one. */
  #plain(encrypted: Uint8Array): Buffer | undefined {
    let bytes: Buffer;
    try {
      const { privateKey: key } = this.#parts;
      bytes = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, encrypted);
    } catch {
      return undefined;
    }
    const prefix = bytes.subarray(0, this.#prefix.length);
    return prefix.length === this.#prefix.length && timingSafeEqual(prefix, this.#prefix) ? bytes : undefined;
  }

  async #exit(): Promise<void> {
    const view = this.#parts.view();
    const submission = submissionOf(this.#staged, view);
    this.#staged = {};
    if (!submission) return;
    this.#errors = [];
    this.#attemptBefore = view.lastAttempt?.wall ?? -Infinity;
    this.#parts.changed();
    const problem = await this.#parts.handOver(submission).catch(() => 'The device could not store what was entered.');
    if (problem !== '') this.#errors = [...this.#errors, problem].slice(-maxErrors);
    this.#parts.changed();
  }
}

function submissionOf(
  staged: Partial<Record<BluetoothWritable, string>>,
  { networks }: ProvisioningView,
): Submission | undefined {
  const { ssid, psk = '' } = staged;
  const credentials = credentialsOf(staged);
  if (ssid === undefined && credentials === undefined) return undefined;
  const isHidden = !networks.some((network) => network.ssid === ssid);
  return {
    ...(ssid !== undefined && { wifi: { ssid, psk, isHidden } }),
    ...(credentials !== undefined && { credentials }),
  };
}

function credentialsOf(staged: Partial<Record<BluetoothWritable, string>>): string | undefined {
  const { id, secret = '', api_key: apiKey, app_address: appAddress = '', set_up_code: setUpCode } = staged;
  if (id === undefined) return setUpCode;
  return credentialsText({ id, secret, appAddress, apiKey: apiKeyOf(apiKey ?? '') });
}

function apiKeyOf(text: string): { id: string; key: string } | undefined {
  try {
    const { id, key } = JSON.parse(text) as { id?: unknown; key?: unknown };
    return typeof id === 'string' && typeof key === 'string' && id !== '' && key !== '' ? { id, key } : undefined;
  } catch {
    return undefined;
  }
}

function networkBytes({ ssid, signalPercent, security }: ProvisioningView['networks'][number]): Uint8Array {
  const isSecured = security !== 'open' && security !== 'owe';
  const signal = Math.max(1, Math.min(100, Math.round(signalPercent))); // a NUL would end the network before its SSID
  return Buffer.concat([Buffer.of(signal | (isSecured ? 0x80 : 0)), textBytes(ssid)]);
}

/** With a NUL as its end. */
const textBytes = (text: string): Uint8Array => Buffer.from(`${text.replaceAll('\0', ' ')}\0`);

/** As many whole items as fit. */
function joined(items: readonly Uint8Array[]): Uint8Array {
  const fitting: Uint8Array[] = [];
  let size = 0;
  for (const item of items) {
    if (size + item.length > longestValue) break;
    fitting.push(item);
    size += item.length;
  }
  return Buffer.concat(fitting);
}

/** Undefined: not in UTF-8. */
function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
