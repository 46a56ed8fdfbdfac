import { Cell, errorText, within, type Clock, type Log, changedOr } from '@platform/kit';
import type { Hotspot, Network } from '../../os/network-port.ts';
import type { EndpointHandlers, ProvisioningEndpoints, ProvisioningView } from '../endpoints/provisioning-view.ts';

/** A second on a usual board. A slow one that still boots needs half a minute, and then the hotspot is worth the wait. */
const openMs = 60_000;
const closeMs = 5_000;

export interface HotspotParts {
  network: Network;
  endpoints: ProvisioningEndpoints;
  view: Cell<ProvisioningView>;
  handlers: EndpointHandlers;
  /** The hotspot or its endpoints ended without being stopped. */
  ended: (problem: string) => void;
  clock: Clock;
  log: Log;
}

/** Hotspot and endpoints as one: without endpoints, a hotspot only takes the radio away. */
export class HotspotWithEndpoints {
  readonly #parts: HotspotParts;
  #serving: AbortController | undefined;
  #served: Promise<void> = Promise.resolve();

  constructor(parts: HotspotParts) {
    this.#parts = parts;
  }

  /** @returns the problem; empty: both run */
  async start(hotspot: Hotspot, signal: AbortSignal): Promise<string> {
    const { network, log } = this.#parts;
    await this.stop();
    const result = await network.startHotspot(hotspot, signal);
    if (!result.ok) return result.detail;
    const problem = await this.#open(result.address, signal);
    if (problem === '') {
      log.info('the hotspot runs', { ssid: hotspot.ssid, address: result.address });
      if (!hotspot.isSharing) void this.#keep(signal);
    } else await this.stop();
    return problem;
  }

  async stop(): Promise<void> {
    this.#serving?.abort();
    this.#serving = undefined;
    await Promise.race([this.#served, this.#parts.clock.sleep(closeMs)]);
    await this.#parts.network.stopHotspot();
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { network, ended } = this.#parts;
    const over = AbortSignal.any([this.#serving?.signal ?? signal, signal]);
    const problem = await network.keepHotspot(over).catch(errorText);
    if (problem !== '' && !over.aborted) ended(problem);
  }

  async #open(address: string, signal: AbortSignal): Promise<string> {
    const { endpoints, view, handlers, ended, clock } = this.#parts;
    const serving = new AbortController();
    this.#serving = serving;
    const over = AbortSignal.any([serving.signal, signal]);
    let isOpen = false;
    try {
      await within(openMs, { what: 'opening the provisioning endpoints', clock, signal }, () => {
        return new Promise<void>((resolve, reject) => {
          const opened = (): void => {
            isOpen = true;
            resolve();
          };
          const failed = (error: Error): void => {
            reject(error);
            if (isOpen && !over.aborted) ended(errorText(error));
          };
          this.#served = endpoints
            .serve({ address, view, handlers, opened }, over)
            .then(() => failed(new Error('the provisioning endpoints ended')), failed);
        });
      });
      return '';
    } catch (error) {
      return errorText(error);
    }
  }
}

const lookEveryMs = 5_000;

export interface HotspotClientsParts {
  network: Network;
  /** The running hotspot has earlier settings: it starts again as soon as no phone is connected. */
  isStale: Cell<boolean>;
  /** Receives each look. Not known counts as connected. */
  seen: (hasClient: boolean) => void;
  clock: Clock;
}

/** Looks whether a phone is connected to the hotspot, while that matters. */
export async function watchHotspotClients(parts: HotspotClientsParts, signal: AbortSignal): Promise<void> {
  const { network, isStale, seen, clock } = parts;
  while (!signal.aborted) {
    if (!isStale.get()) {
      await isStale.changed(signal);
      continue;
    }
    // `hotspot_interface` may name another radio meanwhile.
    const radio = network.state.get().devices.find(({ isHotspot }) => isHotspot)?.interface ?? '';
    const clients = await network.hotspotClients(radio).catch(() => undefined);
    if (isStale.get()) seen(clients !== 0);
    if (isStale.get()) await changedOr(isStale, lookEveryMs, clock, signal);
  }
}

/** An agent that was killed has left its hotspot on the air: it ends before the next one may start. */
export async function endEarlierHotspot(
  { network, log }: { network: Network; log: Log },
  signal: AbortSignal,
): Promise<void> {
  while (network.state.get().manager === 'starting' && !signal.aborted) await network.state.changed(signal);
  if (!signal.aborted)
    await network.stopHotspot().catch((error: unknown) => log.warn('an earlier hotspot is not ended', { error }));
}
