import type { Cell } from '@platform/kit';

export interface Characteristic {
  uuid: string;
  can: readonly ('read' | 'write' | 'write-without-response' | 'notify')[];
}

export interface GattService {
  uuid: string;
  characteristics: readonly Characteristic[];
}

/** An advertisement has 31 bytes; the name is sent to those that ask for it. */
export interface Advertisement {
  service: string;
  /** At most 26 bytes; empty: none. */
  name: string;
  /** UUID whose value is sent as service data; empty: none. */
  data: string;
}

/** Why a write is refused, as the last part of an error of BlueZ. */
export type WriteRefusal = 'NotAuthorized' | 'InvalidValueLength' | 'Failed';

/** What a client that is connected wrote. */
export interface GattWrite {
  uuid: string;
  value: Uint8Array;
  /** Stays the same while the client is connected. */
  client: string;
}

export interface BluetoothOffer {
  services: readonly GattService[];
  /** The first is needed; the others are left out where the radio has no room for them. */
  advertisements: readonly Advertisement[];
  /** By UUID; absent: empty. Clients that subscribed get each change. */
  values: Cell<ReadonlyMap<string, Uint8Array>>;
  write(write: GattWrite): Promise<WriteRefusal | 'ok'>;
}

export type BluetoothState =
  /** Nothing is offered, or it is not known yet whether it can be. */
  | { is: 'idle' }
  | { is: 'offered'; adapter: string }
  /** For users. */
  | { is: 'impossible'; reason: string };

/** Bluetooth Low Energy of this machine: services for clients nearby. */
export interface Bluetooth {
  readonly state: Cell<BluetoothState>;
  /** Offers it until the signal, whenever there is an adapter. Never rejects; a call at a time. */
  offer(offer: BluetoothOffer, signal: AbortSignal): Promise<void>;
}
