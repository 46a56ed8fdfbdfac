import { errorText, within } from '@platform/kit';
import type { JoinAnswer } from '../../state-machines/network-rules.ts';
import type { Effect, Event } from '../../state-machines/provisioning-state.ts';
import { writeChecked } from '../../storage/checked-file.ts';
import { alignAutoconnect } from '../profiles/autoconnect.ts';
import { openedBluetooth } from '../endpoints/bluetooth-endpoint.ts';
import type { EnteredNetworks } from './entered-network.ts';
import type { HotspotWithEndpoints } from '../hotspot/hotspot.ts';
import { joinNetwork, outcomeOf } from './network-join.ts';
import { hotspotOf, hotspotSsid, machineSettings, modeOf } from '../settings/network-settings.ts';
import { observationOf } from '../checks/observation.ts';
import type { ProvisioningParts } from './provisioning-parts.ts';
import type { ProvisioningStatus } from './provisioning-status.ts';
import { joinOrRetry } from '../profiles/refused-change.ts';

export const rebootFile = 'state/reboots.json';

/** Performs the effects of the state machine of network provisioning on this machine's network. */
export class ProvisioningEffects {
  readonly #parts: ProvisioningParts;
  readonly #status: ProvisioningStatus;
  readonly #entered: EnteredNetworks;
  readonly #hotspot: HotspotWithEndpoints;
  #loggedSsid = '';

  constructor(
    parts: ProvisioningParts,
    of: { status: ProvisioningStatus; entered: EnteredNetworks; hotspot: HotspotWithEndpoints },
  ) {
    this.#parts = parts;
    this.#status = of.status;
    this.#entered = of.entered;
    this.#hotspot = of.hotspot;
  }

  async perform(effect: Effect, signal: AbortSignal): Promise<Event | undefined> {
    try {
      return await this.#performed(effect, signal);
    } catch (error) {
      const problem = errorText(error);
      this.#parts.log.warn('a step of the network failed', { step: effect.do, problem });
      if (effect.do === 'startHotspot') return { is: 'hotspot', id: effect.id, ok: false, problem };
      if (effect.do === 'scan') return { is: 'scanned', id: effect.id, ok: false };
      if (effect.do === 'join') return { is: 'joined', id: effect.id, answer: { ok: false, reason: 'failed' } };
      if (effect.do === 'reboot') return { is: 'notRebooted' };
      return undefined;
    }
  }

  async #performed(effect: Effect, signal: AbortSignal): Promise<Event | undefined> {
    const { network, clock, disk, reboot, log } = this.#parts;
    switch (effect.do) {
      case 'startHotspot':
        return this.#startHotspot(effect.id, signal);
      case 'stopHotspot':
        await this.#hotspot.stop();
        return undefined;
      case 'scan':
        await within(
          this.#status.state.memory.settings.limits.scanAnswer,
          { what: 'the scan', clock, signal },
          (over) => network.scan(this.#status.radio(), over),
        );
        return { is: 'scanned', id: effect.id, ok: true };
      case 'join':
        return { is: 'joined', id: effect.id, answer: await this.#join(effect, signal) };
      case 'keepRecord':
        await writeChecked(disk, rebootFile, effect.record);
        return undefined;
      case 'reboot':
        await writeChecked(disk, rebootFile, effect.record);
        log.warn('the machine reboots, because it is offline', { reboots: effect.record.reboots });
        await reboot();
        return undefined;
      default:
        return effect satisfies never;
    }
  }

  async #startHotspot(id: number, signal: AbortSignal): Promise<Event> {
    const { network, settings, hostname, log } = this.#parts;
    const now = settings.get();
    const [{ config: network_configuration }, { hotspot: started }] = [now, machineSettings(now, hostname())];
    this.#status.ssidOnAir = '';
    if (network_configuration.disable_wifi_provisioning) {
      const problem = await openedBluetooth(this.#parts, signal);
      return { is: 'hotspot', id, ok: problem === '', problem, settings: started };
    }
    const { ssid, wanted } = hotspotSsid(now, hostname());
    if (ssid !== wanted && wanted !== this.#loggedSsid) {
      this.#loggedSsid = wanted;
      log.warn('the name of the hotspot is cut to 32 bytes', { wanted, used: ssid });
    }
    // Its channel depends on it. What is wrong with a country is reported elsewhere.
    if (network_configuration.wifi_country !== '')
      await network.setCountry(network_configuration.wifi_country).catch(() => '');
    await this.#lookAround(signal);
    const problem = await this.#hotspot.start(
      { interface: this.#status.radio(), ...hotspotOf(now, hostname()) },
      signal,
    );
    if (problem === '') this.#status.ssidOnAir = ssid;
    return { is: 'hotspot', id, ok: problem === '', problem, settings: started };
  }

  /** Most radios see no other network while they are the hotspot: the page lists what was seen before. */
  async #lookAround(signal: AbortSignal): Promise<void> {
    const { network, clock, log } = this.#parts;
    const radio = this.#status.radio();
    if (radio === '' || this.#status.hasSeenNearby(radio)) return;
    const limitMs = this.#status.state.memory.settings.limits.scanAnswer;
    await within(limitMs, { what: 'the scan', clock, signal }, (over) => network.scan(radio, over)).catch(
      (error: unknown) => log.debug('the scan before the hotspot failed', { error }),
    );
  }

  async #join({ profile, by, timeoutMs }: Effect & { do: 'join' }, signal: AbortSignal): Promise<JoinAnswer> {
    const { clock, settings, log } = this.#parts;
    const ssid = this.#status.ssidOf(profile);
    const radio = this.#status.radio();
    await alignWithMode(this.#parts, this.#status);
    log.info('joins a network', { ssid, by });
    const join = (leftMs: number) => joinNetwork({ profile, radio, timeoutMs: leftMs }, this.#parts, signal);
    const { trials } = this.#parts;
    const { answer, detail } = trials
      ? await joinOrRetry(profile, { ...this.#parts, trials }, join, { clock, timeoutMs })
      : await join(timeoutMs);
    const { result, text } = outcomeOf(answer, ssid, {
      isUnconfigured: this.#parts.credentials.get() === 'none',
      isSingle: modeOf(settings.get()) === 'single',
    });
    log.info('the attempt to join a network ended', { ssid, result, ...(detail !== '' && { detail }) });
    this.#status.note({ network: ssid, interface: radio, wall: clock.wall(), result, text });
    if (answer.ok && by === 'user') await this.#entered.confirm(profile);
    if (!answer.ok && answer.reason === 'wrong-password') await this.#entered.reject(profile);
    else if (by === 'user')
      void this.#entered.settle(signal).catch((error: unknown) => log.warn('not stored', { error }));
    return answer;
  }
}

/** Makes NetworkManager connect by itself to what the mode of the networks allows. */
export async function alignWithMode(parts: ProvisioningParts, status: ProvisioningStatus): Promise<void> {
  const { network, settings } = parts;
  const { seen, chosen } = status.state.memory;
  if (network.state.get().manager === 'ready' && seen)
    await alignAutoconnect(
      network,
      observationOf(network.state.get(), status.radio(), false, parts.clock.now()).known,
      modeOf(settings.get()),
      chosen,
    );
}
