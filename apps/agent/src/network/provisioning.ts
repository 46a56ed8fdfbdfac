import { anyChanged, Cell, changedOr, errorText, Inbox, run, setIfDifferent, within } from '@platform/kit';
import type { Clock, Log, Machine } from '@platform/kit';
import type { JoinAnswer } from '../machines/network-rules.ts';
import { deadline, initial, step } from '../machines/provisioning.ts';
import { moves } from '../machines/provisioning-moves.ts';
import type { Credentials, Effect, Event, State } from '../machines/provisioning-state.ts';
import { parseRecord, noReboots, type RebootRecord } from '../machines/reboot-spacing.ts';
import type { Network, VisibleNetwork } from '../os/network-port.ts';
import type { Disk, FileSystem, FileWatch } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { attemptText } from './attempt-words.ts';
import { alignAutoconnect } from './autoconnect.ts';
import { openedBluetooth, type BluetoothEndpoint } from './bluetooth-endpoint.ts';
import { bluetoothWanted } from './bluetooth-wanted.ts';
import { noProblem, type CredentialsProblem } from './credentials-problem.ts';
import type { EndpointHandlers, ProvisioningEndpoints } from './endpoints-port.ts';
import { EnteredNetworks } from './entered-network.ts';
import { watchForceFile } from './forced.ts';
import { HotspotWithEndpoints } from './hotspot.ts';
import { LinkHistory } from './link-history.ts';
import { hotspotSsid, machineSettings, modeOf, type NetworkSettings } from './network-settings.ts';
import { isIpv6Only } from './network-notes.ts';
import type { NetworkAttempt, NetworkStatus } from './network-status.ts';
import { linksOf, observationOf, radioOf } from './observation.ts';
import type { ProvisioningView, Submission, SubmissionAnswer } from './provisioning-view.ts';
import { NetworkRelease, nothingReleased, type Released } from './release.ts';
import { statusOf } from './status-of.ts';
import { submissionProblem } from './submission.ts';
import { viewOf } from './view-of.ts';
import { withNearby } from './nearby.ts';

const rebootFile = 'state/reboots.json';
const scanEveryMs = 15_000;
/** In hotspot mode, a scan takes the radio away from the phones for a moment. */
const hotspotScanEveryMs = 30_000;
const cloudContactMs = 4_000;
const mostAttempts = 10;

export interface ProvisioningParts {
  network: Network;
  endpoints: ProvisioningEndpoints;
  bluetooth: BluetoothEndpoint;
  settings: Cell<NetworkSettings>;
  credentials: Cell<Credentials>;
  /** Why those that a user entered cannot be used. Absent: never reported. */
  credentialsProblem?: Cell<CredentialsProblem>;
  /** Takes the text of a credentials file that a user entered. */
  takeCredentials: (text: string) => Promise<SubmissionAnswer>;
  isReached: Cell<boolean>;
  /** Set while a change of the networks is tried under a checkpoint: what it cuts off is not lost. */
  isChanging: Cell<boolean>;
  isOfflineByHotspot: Cell<boolean>;
  status: Cell<NetworkStatus | undefined>;
  /** Reboots the machine. @throws Error if it cannot */
  reboot: () => Promise<void>;
  hostname: string;
  agentVersion: string;
  disk: Disk;
  files: FileSystem;
  /** Reports changes in the folder of the file that starts provisioning; see forced.ts. */
  forceWatch: FileWatch;
  clock: Clock;
  log: Log;
}

/** Runs the state machine of network provisioning on this machine's network. */
export class Provisioning {
  readonly #parts: ProvisioningParts;
  readonly #inbox = new Inbox<Event>();
  readonly #entered: EnteredNetworks;
  readonly #hotspot: HotspotWithEndpoints;
  readonly #view: Cell<ProvisioningView>;
  readonly #handlers: EndpointHandlers;
  /** The machine is online, and no user is setting it up: a change of its networks may be tried. */
  readonly mayChange = new Cell(false);
  #machine: State;
  #sinceWall: number;
  #nearby: readonly VisibleNetwork[] = [];
  #attempts: readonly NetworkAttempt[] = [];
  readonly #links = new LinkHistory();
  readonly #release: NetworkRelease;
  #released: Released = nothingReleased;
  #enteredSsid = '';
  #loggedSsid = '';
  /** The radio that was used last; empty: none yet. */
  #lastRadio = '';
  /** The last observation that the machine got, as JSON; empty: it needs one. */
  #observed = '';
  /** Number of joins that have ended. */
  readonly #joins = new Cell(0);

  constructor(parts: ProvisioningParts) {
    this.#parts = parts;
    this.#machine = this.#initial(noReboots);
    this.#sinceWall = parts.clock.wall();
    this.#entered = new EnteredNetworks(parts);
    this.#release = new NetworkRelease(parts);
    this.#view = new Cell(this.#viewNow());
    this.#handlers = {
      active: () => this.#inbox.push({ is: 'active' }),
      exit: () => this.#inbox.push({ is: 'exited' }),
      submit: (submission) => this.#submit(submission),
    };
    const ended = (problem: string): void => this.#inbox.push({ is: 'hotspotEnded', problem });
    this.#hotspot = new HotspotWithEndpoints({ ...parts, view: this.#view, handlers: this.#handlers, ended });
  }

  /** Starts provisioning, also while the machine is online. */
  force(): void {
    this.#inbox.push({ is: 'forced' });
  }

  /** The hotspot may not stay on its channel: it opens again on one that is allowed. */
  moveHotspot(): void {
    this.#inbox.push({ is: 'channelForbidden' });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { network, disk, files, forceWatch, clock, log, settings } = this.#parts;
    const { value: record } = await readChecked(disk, rebootFile, parseRecord);
    this.#machine = this.#initial(record ?? noReboots);
    this.#released = await this.#release.recorded();
    this.#publish(this.#machine);
    const entering = this.#recover(signal);
    const machine: Machine<State, Event, Effect> = {
      initial: this.#machine,
      deadline,
      step,
      perform: (effect: Effect, over: AbortSignal) => this.#perform(effect, over),
    };
    // The machine's own line names the observation, with the neighbourhood in it; the line of #publish has the reason.
    const quiet: Log = { ...log, info: log.debug };
    try {
      await Promise.all([
        network.run(signal),
        this.#parts.bluetooth.run({ view: this.#view, handlers: this.#handlers }, signal),
        run(machine, this.#inbox, (state) => this.#publish(state), { clock, log: quiet }, signal),
        this.#observe(signal),
        this.#scan(signal),
        this.#followSettings(signal),
        watchForceFile({ files, watch: forceWatch, forced: () => this.force(), log }, signal),
        entering,
      ]);
    } finally {
      if (!settings.get().isDisabled) await this.#hotspot.stop().catch(() => {});
      this.#parts.isOfflineByHotspot.set(false);
    }
  }

  #initial(record: RebootRecord): State {
    const { settings, credentials, hostname, clock } = this.#parts;
    return initial(machineSettings(settings.get(), hostname), credentials.get(), record, clock.now());
  }

  // What the machine learns

  async #observe(signal: AbortSignal): Promise<void> {
    const { network, isReached, isChanging, credentials, credentialsProblem = noProblem() } = this.#parts;
    let given = credentials.get();
    let refused: object | undefined;
    while (!signal.aborted) {
      const seen = observationOf(network.state.get(), this.#radio(), isReached.get());
      const text = JSON.stringify(seen);
      if (text !== this.#observed && !isChanging.get()) {
        this.#inbox.push({ is: 'observed', seen });
        this.#observed = text;
      }
      if (credentials.get() !== given) {
        given = credentials.get();
        this.#inbox.push({ is: 'credentials', credentials: given });
      }
      const refusal = credentialsProblem.get().about;
      if (refusal !== refused) this.#inbox.push({ is: refusal ? 'codeRefused' : 'codeReplaced' });
      refused = refusal;
      this.#refresh();
      await anyChanged([network.state, isReached, isChanging, credentials, credentialsProblem, this.#joins], signal);
    }
  }

  /** The machine asks for scans itself while it searches; this one notices that a network has returned. */
  async #scan(signal: AbortSignal): Promise<void> {
    const { network, clock, log } = this.#parts;
    while (!signal.aborted) {
      const { at } = this.#machine;
      const radio = this.#radio();
      if (radio !== '' && (at === 'offline' || at === 'hotspot'))
        await network.scan(radio, signal).catch((error: unknown) => log.debug('the scan failed', { error }));
      await clock.sleep(this.#machine.at === 'hotspot' ? hotspotScanEveryMs : scanEveryMs, signal);
    }
  }

  async #followSettings(signal: AbortSignal): Promise<void> {
    const { settings, hostname, network, log } = this.#parts;
    let isReleased = false;
    let powerSave: boolean | null | undefined;
    while (!signal.aborted) {
      const now = settings.get();
      const { config: network_configuration, isDisabled } = now;
      this.#inbox.push({ is: 'settings', settings: machineSettings(now, hostname) });
      try {
        if (network.state.get().manager !== 'ready') {
          powerSave = undefined;
        } else if (isDisabled && !isReleased && !now.isPreliminary) {
          this.#released = await this.#release.run();
          log.info('the network is left to the operating system', { ...this.#released });
          powerSave = null;
          isReleased = true;
        } else if (!isDisabled && powerSave !== network_configuration.wifi_power_save) {
          powerSave = network_configuration.wifi_power_save;
          await network.setPowerSave(powerSave);
        }
        if (!isDisabled) {
          isReleased = false;
          if (now.revision > 0 && this.#released !== nothingReleased) {
            await this.#release.forget();
            this.#released = nothingReleased;
          }
          await this.#align();
        }
      } catch (error) {
        log.warn('settings of the network are not applied', { error: errorText(error) });
      }
      this.#refresh();
      const turn = new AbortController();
      const over = AbortSignal.any([turn.signal, signal]);
      await Promise.race([settings.changed(over), changedOr(network.state, 60_000, this.#parts.clock, over)]);
      turn.abort();
    }
  }

  async #align(): Promise<void> {
    const { network, settings } = this.#parts;
    const { seen, chosen } = this.#machine.memory;
    if (network.state.get().manager === 'ready' && seen)
      await alignAutoconnect(
        network,
        observationOf(network.state.get(), this.#radio(), false).known,
        modeOf(settings.get()),
        chosen,
      );
  }

  async #recover(signal: AbortSignal): Promise<void> {
    const { network, settings, log } = this.#parts;
    while (network.state.get().manager !== 'ready') {
      if (signal.aborted) return;
      await network.state.changed(signal);
    }
    try {
      const profile = await this.#entered.recover(modeOf(settings.get()) === 'roaming');
      if (profile === undefined) return;
      this.#enteredSsid = this.#ssidOf(profile);
      this.#inbox.push({ is: 'submitted', profile });
    } catch (error) {
      log.warn('a network that a user entered before this start cannot be taken up', { error });
    }
  }

  async #submit(submission: Submission): Promise<SubmissionAnswer> {
    const { takeCredentials, settings, log } = this.#parts;
    this.#inbox.push({ is: 'active' });
    const problem = submissionProblem(submission, this.#radio() !== '');
    if (problem !== undefined) return { ok: false, code: 'INVALID_ARGUMENT', text: problem };
    try {
      if (submission.credentials !== undefined) {
        const taken = await takeCredentials(submission.credentials);
        if (!taken.ok) return taken;
      }
      let profile: string | null = null;
      if (submission.wifi) {
        profile = await this.#entered.accept(submission.wifi, modeOf(settings.get()) === 'roaming');
        this.#enteredSsid = submission.wifi.ssid;
      }
      log.info('a user entered what this device needs', {
        ssid: submission.wifi?.ssid,
        hasCredentials: submission.credentials !== undefined,
      });
      this.#inbox.push({ is: 'submitted', profile });
      return { ok: true };
    } catch (error) {
      log.warn('what a user entered cannot be stored', { error });
      return { ok: false, code: 'INTERNAL', text: 'The device could not store this. Try again.' };
    }
  }

  // What the machine does

  async #perform(effect: Effect, signal: AbortSignal): Promise<Event | undefined> {
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
        await within(this.#machine.memory.settings.limits.scanAnswer, { what: 'the scan', clock, signal }, (over) =>
          network.scan(this.#radio(), over),
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
    const { config: network_configuration } = now;
    if (network_configuration.disable_wifi_provisioning) {
      const problem = await openedBluetooth(this.#parts, signal);
      return { is: 'hotspot', id, ok: problem === '', problem };
    }
    const { ssid, wanted } = hotspotSsid(now, hostname);
    if (ssid !== wanted && wanted !== this.#loggedSsid) {
      this.#loggedSsid = wanted;
      log.warn('the name of the hotspot is cut to 32 bytes', { wanted, used: ssid });
    }
    // Its channel depends on it. What is wrong with a country is reported elsewhere.
    if (network_configuration.wifi_country !== '')
      await network.setCountry(network_configuration.wifi_country).catch(() => '');
    await this.#lookAround(signal);
    const problem = await this.#hotspot.start(
      {
        interface: this.#radio(),
        ssid,
        password: network_configuration.hotspot_password,
        isRedirecting: !network_configuration.disable_captive_portal_redirect,
        band: network_configuration.hotspot_band,
      },
      signal,
    );
    return { is: 'hotspot', id, ok: problem === '', problem };
  }

  /** Most radios see no other network while they are the hotspot: the page lists what was seen before. */
  async #lookAround(signal: AbortSignal): Promise<void> {
    const { network, clock, log } = this.#parts;
    const radio = this.#radio();
    if (radio === '' || this.#nearby.some((one) => one.interface === radio)) return;
    const limitMs = this.#machine.memory.settings.limits.scanAnswer;
    await within(limitMs, { what: 'the scan', clock, signal }, (over) => network.scan(radio, over)).catch(
      (error: unknown) => log.debug('the scan before the hotspot failed', { error }),
    );
  }

  async #join({ profile, by, timeoutMs }: Effect & { do: 'join' }, signal: AbortSignal): Promise<JoinAnswer> {
    const { network, clock, settings, log } = this.#parts;
    const ssid = this.#ssidOf(profile);
    const radio = this.#radio();
    await this.#align();
    log.info('joins a network', { ssid, by });
    const result = await within(timeoutMs, { what: 'joining the network', clock, signal }, (over) =>
      network.join(profile, radio, over),
    ).catch((error: unknown) => ({ ok: false, reason: 'timed-out', detail: errorText(error) }) as const);
    const answer = result.ok ? await this.#measured(signal) : ({ ok: false, reason: result.reason } as const);
    const isFull = answer.ok && (answer.connectivity === 'full' || answer.isCloudReached);
    const isEnough = answer.ok && (isFull || modeOf(settings.get()) === 'single');
    const found = answer.ok ? (answer.connectivity === 'portal' ? 'portal' : 'no-internet') : answer.reason;
    const outcome = isEnough ? 'ok' : found;
    log.info('the attempt to join a network ended', {
      ssid,
      result: outcome,
      ...(!result.ok && { detail: result.detail }),
    });
    const hasOnlyIpv6 = answer.ok && answer.isIpv6Only === true;
    const text = attemptText(outcome === 'no-internet' && hasOnlyIpv6 ? 'ipv6-only' : outcome, ssid);
    const attempt: NetworkAttempt = { network: ssid, interface: radio, wall: clock.wall(), result: outcome, text };
    this.#attempts = [attempt, ...this.#attempts].slice(0, mostAttempts);
    if (answer.ok && by === 'user') await this.#entered.confirm(profile);
    if (!answer.ok && answer.reason === 'wrong-password') await this.#entered.reject(profile);
    else if (by === 'user')
      void this.#entered.settle(signal).catch((error: unknown) => log.warn('not stored', { error }));
    return answer;
  }

  async #measured(signal: AbortSignal): Promise<JoinAnswer> {
    const { network, isReached, clock } = this.#parts;
    const connectivity = await network.checkConnectivity(signal).catch(() => 'unknown' as const);
    if (connectivity !== 'full' && !isReached.get()) await changedOr(isReached, cloudContactMs, clock, signal);
    const link = linksOf(network.state.get()).find((one) => one.interface === this.#radio());
    return {
      ok: true,
      connectivity,
      isCloudReached: isReached.get(),
      isIpv6Only: link !== undefined && isIpv6Only(link),
    };
  }

  // What others see

  #radio(): string {
    const { network, settings } = this.#parts;
    const { config: network_configuration } = settings.get();
    return radioOf(network.state.get(), network_configuration.hotspot_interface);
  }

  #ssidOf(uuid: string): string {
    const profile = this.#parts.network.state.get().profiles.find((one) => one.uuid === uuid);
    return profile?.ssid || profile?.name || 'a network that is gone';
  }

  #publish(state: State): void {
    const { clock, log, isOfflineByHotspot } = this.#parts;
    const before = this.#machine;
    if (before.at === 'joining' && state !== before && !(state.at === 'joining' && state.id === before.id)) {
      // A join changes what the machine takes for observed; a link that has dropped since has to be reported again.
      this.#observed = '';
      this.#joins.update((count) => count + 1);
    }
    this.#machine = state;
    if (state.at !== before.at) {
      this.#sinceWall = clock.wall();
      const because = state.by === null ? 'start' : moves[state.by].because;
      log.info('network state', { from: before.at, to: state.at, because });
    }
    this.mayChange.set(state.at === 'online');
    const isOpen = state.at === 'opening' || state.at === 'hotspot' || state.at === 'closing';
    isOfflineByHotspot.set(isOpen && this.#hotspotSsid() !== '' && state.memory.onlineSince === null);
    this.#refresh();
  }

  /** Empty: the hotspot is turned off. */
  #hotspotSsid(): string {
    const settings = this.#parts.settings.get();
    return settings.config.disable_wifi_provisioning ? '' : hotspotSsid(settings, this.#parts.hostname).ssid;
  }

  #refresh(): void {
    const { network, bluetooth, isReached, settings, hostname, status, clock } = this.#parts;
    setIfDifferent(bluetooth.wanted, bluetoothWanted(this.#machine, settings.get(), hostname));
    this.#lastRadio = this.#radio() || this.#lastRadio;
    const next = statusOf({
      machine: this.#machine,
      network: network.state.get(),
      links: this.#links.note(network.state.get(), this.#attempts, clock.wall()),
      isCloudReached: isReached.get(),
      hotspotSsid: this.#hotspotSsid(),
      radio: { used: this.#radio(), expected: settings.get().config.hotspot_interface || this.#lastRadio },
      attempts: this.#attempts,
      released: this.#released,
      sinceWall: this.#sinceWall,
      now: clock.now(),
      wall: clock.wall(),
    });
    setIfDifferent(status, next);
    setIfDifferent(this.#view, this.#viewNow());
  }

  #viewNow(): ProvisioningView {
    const { network, settings, credentials, credentialsProblem, hostname, agentVersion, clock } = this.#parts;
    this.#nearby = withNearby(this.#nearby, network.state.get().visible, clock.now());
    return viewOf({
      settings: settings.get(),
      hostname,
      agentVersion,
      hasCredentials: credentials.get() === 'given',
      credentialsProblem: credentialsProblem?.get().text ?? '',
      machine: this.#machine,
      network: network.state.get(),
      nearby: this.#nearby,
      enteredSsid: this.#enteredSsid,
      hotspotSsid: hotspotSsid(settings.get(), hostname).ssid,
      wallOf: (monotonic) => clock.wall() - (clock.now() - monotonic),
    });
  }
}
