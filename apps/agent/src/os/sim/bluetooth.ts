import { Cell } from '@platform/kit';
import type { Bluetooth, BluetoothOffer, BluetoothState, WriteRefusal } from '../bluetooth-port.ts';

/** Bluetooth in memory: one adapter, and one phone in its range. */
export class SimBluetooth implements Bluetooth {
  readonly state = new Cell<BluetoothState>({ is: 'idle' });
  readonly #adapter: Cell<boolean>;
  readonly #subscribed = new Set<string>();
  /** Values that the phone was notified of, oldest first. */
  readonly notified: { uuid: string; value: Uint8Array }[] = [];
  #offer: BluetoothOffer | undefined;

  constructor({ hasAdapter }: { hasAdapter: boolean }) {
    this.#adapter = new Cell(hasAdapter);
  }

  setAdapter(isThere: boolean): void {
    this.#adapter.set(isThere);
  }

  async offer(offer: BluetoothOffer, signal: AbortSignal): Promise<void> {
    const following = this.#follow(offer, signal);
    while (!signal.aborted) {
      const isThere = this.#adapter.get();
      this.#offer = isThere ? offer : undefined;
      if (!isThere) this.#subscribed.clear();
      this.state.set(isThere ? { is: 'offered', adapter: 'sim0' } : { is: 'impossible', reason: 'no adapter' });
      await this.#adapter.changed(signal);
    }
    this.#offer = undefined;
    this.state.set({ is: 'idle' });
    await following;
  }

  async #follow({ values }: BluetoothOffer, signal: AbortSignal): Promise<void> {
    for (let before = values.get(); !signal.aborted; before = values.get()) {
      await values.changed(signal);
      for (const [uuid, value] of values.get())
        if (this.#subscribed.has(uuid) && Buffer.compare(value, before.get(uuid) ?? Buffer.of()) !== 0)
          this.notified.push({ uuid, value });
    }
  }

  // The phone

  /** Services that are advertised; empty: nothing is. */
  seen(): string[] {
    return (this.#offer?.advertisements ?? []).map(({ service }) => service);
  }

  read(uuid: string): Uint8Array | 'NotPermitted' {
    if (!this.#can(uuid, 'read')) return 'NotPermitted';
    return this.#offer?.values.get().get(uuid) ?? new Uint8Array(0);
  }

  async write(uuid: string, value: Uint8Array): Promise<WriteRefusal | 'NotPermitted' | 'ok'> {
    if (!this.#offer || !this.#can(uuid, 'write')) return 'NotPermitted';
    return this.#offer.write({ uuid, value, client: 'phone' });
  }

  subscribe(uuid: string): void {
    if (this.#can(uuid, 'notify')) this.#subscribed.add(uuid);
  }

  #can(uuid: string, what: 'read' | 'write' | 'notify'): boolean {
    const all = this.#offer?.services.flatMap(({ characteristics }) => characteristics) ?? [];
    return all.find((one) => one.uuid === uuid)?.can.includes(what) === true;
  }
}
