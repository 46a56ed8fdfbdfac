import type { Log } from '@platform/kit';
import type { Network } from '../../os/network-port.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import { type NetworkHandOver, nothingHandedOver, type HandedOver } from './hand-over.ts';

/** What the configuration says of the system's own network settings: power save, and whether the agent gives all up. */
export class AppliedSettings {
  readonly #parts: { network: Network; handOver: NetworkHandOver; log: Log };
  #handedOver: HandedOver = nothingHandedOver;
  #isReleased = false;
  /** Undefined: it has to be applied. */
  #powerSave: boolean | null | undefined;

  constructor(parts: { network: Network; handOver: NetworkHandOver; log: Log }) {
    this.#parts = parts;
  }

  /** What became of the profiles and files of this agent when the configuration disabled network management. */
  get handedOver(): HandedOver {
    return this.#handedOver;
  }

  /** Takes up what an earlier start handed over. */
  async recover(): Promise<void> {
    this.#handedOver = await this.#parts.handOver.recorded();
  }

  /** @throws Error if NetworkManager refuses; the next call tries again */
  async apply(now: NetworkSettings): Promise<void> {
    const { network, handOver, log } = this.#parts;
    const { config: network_configuration, isDisabled } = now;
    if (network.state.get().manager !== 'ready') {
      this.#powerSave = undefined;
    } else if (isDisabled && !this.#isReleased && !now.isPreliminary) {
      this.#handedOver = await handOver.run();
      log.info('the network is left to the operating system', { ...this.#handedOver });
      this.#powerSave = null;
      this.#isReleased = true;
    } else if (!isDisabled && this.#powerSave !== network_configuration.wifi_power_save) {
      this.#powerSave = network_configuration.wifi_power_save;
      await network.setPowerSave(this.#powerSave);
    }
    if (isDisabled) return;
    this.#isReleased = false;
    if (now.revision === 0 || this.#handedOver === nothingHandedOver) return;
    await handOver.forget();
    this.#handedOver = nothingHandedOver;
  }
}
