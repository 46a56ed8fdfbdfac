import { bluetoothUuids, improvUuids } from '@platform/contract/provisioning/bluetooth';
import { Cell, changedOr, errorText, type Clock } from '@platform/kit';
import type { Bluetooth, BluetoothState, GattService, GattWrite, WriteRefusal } from '../../os/bluetooth-port.ts';
import type { BluetoothWanted } from './bluetooth-wanted.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import { serveInChild, type ChildParts } from './endpoints-child.ts';
import type { EndpointHandlers, FromEndpoints, ProvisioningView, ToEndpoints } from './provisioning-view.ts';
import { startEndpointProcess } from './endpoints-process.ts';
import { rateLimit } from './rate-limit.ts';

/** Provisioning over Bluetooth. */
export interface BluetoothEndpoint {
  /** What it offers. */
  readonly wanted: Cell<BluetoothWanted>;
  readonly state: Cell<BluetoothState>;
  /** Never rejects: provisioning works without it. */
  run(of: { view: Cell<ProvisioningView>; handlers: EndpointHandlers }, signal: AbortSignal): Promise<void>;
}

/** Time to read the outcome of what was entered. */
const endingMs = 60_000;
const againMs = 5 * 60_000;
const answerMs = 10_000;
const mostWaiting = 8;
/** A client that writes more must not make the agent end the process. */
const writeRate = { burst: 30, perSecond: 5 };

const { readable, writable } = bluetoothUuids;
const services: readonly GattService[] = [
  {
    uuid: bluetoothUuids.service,
    characteristics: [
      ...Object.values(readable).map((uuid) => ({
        uuid,
        can: uuid === readable.pub_key ? (['read'] as const) : (['read', 'notify'] as const),
      })),
      ...Object.values(writable).map((uuid) => ({ uuid, can: ['write'] as const })),
    ],
  },
  {
    uuid: improvUuids.service,
    characteristics: [
      ...[improvUuids.state, improvUuids.error, improvUuids.result].map((uuid) => ({
        uuid,
        can: ['read', 'notify'] as const,
      })),
      { uuid: improvUuids.capabilities, can: ['read'] },
      { uuid: improvUuids.command, can: ['write', 'write-without-response'] },
    ],
  },
];

type Parts = ChildParts & { bluetooth: Bluetooth };

/**
 * Bluetooth as a child process without root, which reads what clients write. BlueZ is used by the agent: the process
 * has no connection to the system bus.
 */
export function childBluetooth(parts: Parts): BluetoothEndpoint {
  const wanted = new Cell<BluetoothWanted>({ is: 'off' });
  return {
    wanted,
    state: parts.bluetooth.state,
    async run(of, signal) {
      while (!signal.aborted) {
        const now = wanted.get();
        if (now.is === 'on') await serveWhile(now, wanted, (over) => serve(now, of, parts, over), parts.clock, signal);
        else await wanted.changed(signal);
      }
    },
  };
}

/** Serves until something else is wanted; an end comes a while later than it is wanted. */
async function serveWhile(
  now: BluetoothWanted,
  wanted: Cell<BluetoothWanted>,
  work: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const serving = work(AbortSignal.any([stop.signal, signal]));
  const isSame = (): boolean => JSON.stringify(wanted.get()) === JSON.stringify(now);
  while (!signal.aborted) {
    if (isSame()) await wanted.changed(signal);
    else if (wanted.get().is !== 'ending') break;
    else {
      await changedOr(wanted, endingMs, clock, signal);
      if (wanted.get().is === 'ending') break;
    }
  }
  stop.abort();
  await serving;
}

const openMs = 30_000;

/** Where the hotspot is turned off, Bluetooth alone is open for users. @returns the problem; empty: it is open */
export async function openedBluetooth(
  { bluetooth, settings, clock }: { bluetooth: BluetoothEndpoint; settings: Cell<NetworkSettings>; clock: Clock },
  signal: AbortSignal,
): Promise<string> {
  const none = 'disable_wifi_provisioning is true';
  if (settings.get().config.disable_bt_provisioning) return `${none}, as is disable_bt_provisioning`;
  const end = clock.now() + openMs;
  for (;;) {
    const state = bluetooth.state.get();
    const leftMs = end - clock.now();
    if (state.is === 'offered') return '';
    if (state.is === 'impossible') return `${none}, and Bluetooth is not available: ${state.reason}`;
    if (leftMs <= 0 || signal.aborted) return `${none}, and Bluetooth is not available: it does not start`;
    await changedOr(bluetooth.state, leftMs, clock, signal);
  }
}

type On = BluetoothWanted & { is: 'on' };

async function serve(
  { name, password }: On,
  of: { view: Cell<ProvisioningView>; handlers: EndpointHandlers },
  parts: Parts,
  signal: AbortSignal,
): Promise<void> {
  const { bluetooth, command, env, clock, log } = parts;
  const link = new BluetoothLink(clock);
  const offer = {
    services,
    advertisements: [
      { service: bluetoothUuids.service, name, data: '' },
      { service: improvUuids.service, name: '', data: improvUuids.data },
    ],
    values: link.values,
    write: (write: GattWrite) => link.write(write),
  };
  let offering: Promise<void> | undefined;
  const child = {
    ...of,
    name: 'Bluetooth' as const,
    opened: () => void (offering ??= bluetooth.offer(offer, signal)),
    start: (confinement: Parameters<typeof startEndpointProcess>[0]['confinement']) =>
      startEndpointProcess({ command: [...command, '--bluetooth'], env, sockets: undefined, confinement }),
    started: (send: (message: ToEndpoints) => void) => {
      send({ is: 'hotspotPassword', password });
      link.started(send);
    },
    received: (message: FromEndpoints) => link.received(message),
  };
  while (!signal.aborted) {
    try {
      await serveInChild(child, parts, signal);
    } catch (error) {
      log.warn('provisioning over Bluetooth does not work now', { reason: errorText(error) });
      await clock.sleep(againMs, signal);
    }
  }
  await offering;
}

/** Between BlueZ and the process that reads what clients write. */
class BluetoothLink {
  readonly values = new Cell<ReadonlyMap<string, Uint8Array>>(new Map());
  readonly #clock: Clock;
  readonly #allows: () => boolean;
  readonly #waiting = new Map<number, (answer: WriteRefusal | 'ok') => void>();
  #send: ((message: ToEndpoints) => void) | undefined;
  #nextId = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#allows = rateLimit(clock, writeRate);
  }

  /** Another process: the one before answers no more. */
  started(send: (message: ToEndpoints) => void): void {
    this.#send = send;
    for (const answer of this.#waiting.values()) answer('Failed');
    this.#waiting.clear();
  }

  received(message: FromEndpoints): boolean {
    if (message.is === 'values') {
      const more = Object.entries(message.values).map(([uuid, text]) => [uuid, Buffer.from(text, 'base64')] as const);
      this.values.update((before) => new Map([...before, ...more]));
      return true;
    }
    if (message.is !== 'written') return false;
    const answer = this.#waiting.get(message.id);
    answer?.(message.answer);
    return answer !== undefined;
  }

  async write({ uuid, value, client }: GattWrite): Promise<WriteRefusal | 'ok'> {
    if (!this.#send || this.#waiting.size >= mostWaiting || !this.#allows()) return 'Failed';
    const id = this.#nextId++;
    const late = new AbortController();
    const answered = new Promise<WriteRefusal | 'ok'>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ is: 'write', id, uuid, value: Buffer.from(value).toString('base64'), client });
    const timeout = this.#clock.sleep(answerMs, late.signal).then(() => 'Failed' as const);
    const answer = await Promise.race([answered, timeout]);
    late.abort();
    this.#waiting.delete(id);
    return answer;
  }
}
