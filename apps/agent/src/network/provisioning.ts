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
import { AppliedSettings } from './applied-settings.ts';
import { alignAutoconnect } from './autoconnect.ts';
import { openedBluetooth, type BluetoothEndpoint } from './bluetooth-endpoint.ts';
import { bluetoothWanted } from './bluetooth-wanted.ts';
import { noProblem, type CredentialsProblem } from './credentials-problem.ts';
import type { EndpointHandlers, ProvisioningEndpoints } from './endpoints-port.ts';
import { EnteredNetworks } from './entered-network.ts';
import { expiryOf, watchConnectivity } from './connectivity-watch.ts';
import { watchForceFile } from './forced.ts';
import { endEarlierHotspot, type HotspotClientsParts, watchHotspotClients } from './hotspot-clients.ts';
import { HotspotWithEndpoints } from './hotspot.ts';
import { LinkHistory } from './link-history.ts';
import { hotspotOf, hotspotSsid, machineSettings, modeOf, type NetworkSettings } from './network-settings.ts';
import { joinNetwork, outcomeOf } from './network-join.ts';
import { joinOrRetry, type NetworkTrials } from './refused-change.ts';
import type { NetworkAttempt, NetworkStatus } from './network-status.ts';
import { observationOf, radioOf } from './observation.ts';
import { type Fresh, untilPrepared } from './prepared.ts';
import type { ProvisioningView, Submission, SubmissionAnswer } from './provisioning-view.ts';
import { NetworkRelease } from './release.ts';
import { keepScanning } from './scans.ts';
import { statusOf } from './status-of.ts';
import { submissionProblem } from './submission.ts';
import { viewOf } from './view-of.ts';
import { withNearby } from './nearby.ts';

const rebootFile = 'state/reboots.json';
const mostAttempts = 10;

export interface ProvisioningParts extends Fresh {
  network: Network;
  endpoints: ProvisioningEndpoints;
  bluetooth: BluetoothEndpoint;
  settings: Cell<NetworkSettings>;
  credentials: Cell<Credentials>;
  /** Why those that a user entered cannot be used. Absent: never reported. */
  credentialsProblem?: Cell<CredentialsProblem>;
  /** Takes the text of a credentials file that a user entered. */
  takeCredentials: (text: string) => Promise<SubmissionAnswer>;
  /** The set-up code that a user entered and that is not redeemed yet. Absent: never one. */
  pendingCode?: Cell<object | undefined>;
  isReached: Cell<boolean>;
  /** Set while a change of the networks is tried under a checkpoint: what it cuts off is not lost. */
  isChanging: Cell<boolean>;
  /** Absent: no change is ever tried. */
  trials?: NetworkTrials;
  isOfflineByHotspot: Cell<boolean>;
  status: Cell<NetworkStatus | undefined>;
  /** Reboots the machine. @throws Error if it cannot */
  reboot: () => Promise<void>;
  /** Read again for each use: the machine may be renamed. */
  hostname: () => string;
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
  readonly #applied: AppliedSettings;
  #enteredSsid = '';
  #loggedSsid = '';
  /** The name of the hotspot that was started last; empty: Bluetooth only. */
  #ssidOnAir = '';
  /** The running hotspot has earlier settings. */
  readonly #isHotspotStale = new Cell(false);
  readonly #clientsParts: HotspotClientsParts;
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
    this.#applied = new AppliedSettings({ ...parts, release: new NetworkRelease(parts) });
    this.#view = new Cell(this.#viewNow());
    this.#handlers = {
      active: () => this.#inbox.push({ is: 'active' }),
      exit: () => this.#inbox.push({ is: 'exited' }),
      submit: (submission) => this.#submit(submission),
    };
    const seen = (hasClient: boolean): void => this.#inbox.push({ is: 'clients', hasClient });
    this.#clientsParts = { ...parts, isStale: this.#isHotspotStale, seen };
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
    await this.#applied.recover();
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
    // It outlives the others: the hotspot is closed over it.
    const end = new AbortController();
    const running = network.run(end.signal);
    try {
      await Promise.all([
        Promise.race([running, new Cell(false).changed(signal)]),
        this.#parts.bluetooth.run({ view: this.#view, handlers: this.#handlers }, signal),
        run(machine, this.#inbox, (state) => this.#publish(state), { clock, log: quiet }, signal),
        this.#observe(signal),
        keepScanning({ ...this.#parts, machine: () => this.#machine, radio: () => this.#radio() }, signal),
        watchConnectivity(this.#parts, signal),
        this.#followSettings(signal),
        watchHotspotClients(this.#clientsParts, signal),
        watchForceFile({ files, watch: forceWatch, forced: () => this.force(), log }, signal),
        entering,
      ]);
    } finally {
      if (!settings.get().isDisabled) await this.#hotspot.stop().catch(() => {});
      end.abort();
      await running.catch(() => {});
      this.#parts.isOfflineByHotspot.set(false);
    }
  }

  #initial(record: RebootRecord): State {
    const { settings, credentials, hostname, clock } = this.#parts;
    return initial(machineSettings(settings.get(), hostname()), credentials.get(), record, clock.now());
  }

  // What the machine learns

  async #observe(signal: AbortSignal): Promise<void> {
    const { network, isReached, isChanging, credentials, clock, credentialsProblem = noProblem() } = this.#parts;
    const { pendingCode = new Cell<object | undefined>(undefined) } = this.#parts;
    let given = credentials.get();
    let refused: object | undefined;
    let [wasChanging, wasPending] = [false, false];
    await endEarlierHotspot(this.#parts, signal);
    await untilPrepared(this.#parts, signal);
    while (!signal.aborted) {
      const [isTried, isPending] = [isChanging.get(), pendingCode.get() !== undefined];
      if (isTried !== wasChanging) this.#inbox.push({ is: 'changing', isChanging: isTried });
      if (isPending !== wasPending) this.#inbox.push({ is: 'codePending', isPending });
      [wasChanging, wasPending] = [isTried, isPending];
      const seen = observationOf(network.state.get(), this.#radio(), isReached.get(), clock.now());
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
      const turn = new AbortController();
      const over = AbortSignal.any([turn.signal, signal]);
      const inputs = [network.state, isReached, isChanging, pendingCode, credentials, credentialsProblem, this.#joins];
      await Promise.race([
        anyChanged(inputs, over),
        clock.sleep(expiryOf(network.state.get(), clock.now()) - clock.now(), over),
      ]);
      turn.abort();
    }
  }

  async #followSettings(signal: AbortSignal): Promise<void> {
    const { settings, hostname, network, log } = this.#parts;
    while (!signal.aborted) {
      const now = settings.get();
      this.#inbox.push({ is: 'settings', settings: machineSettings(now, hostname()) });
      try {
        await this.#applied.apply(now);
        if (!now.isDisabled) await this.#align();
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
        observationOf(network.state.get(), this.#radio(), false, this.#parts.clock.now()).known,
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
    const [{ config: network_configuration }, { hotspot: started }] = [now, machineSettings(now, hostname())];
    this.#ssidOnAir = '';
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
    const problem = await this.#hotspot.start({ interface: this.#radio(), ...hotspotOf(now, hostname()) }, signal);
    if (problem === '') this.#ssidOnAir = ssid;
    return { is: 'hotspot', id, ok: problem === '', problem, settings: started };
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
    const { clock, settings, log } = this.#parts;
    const ssid = this.#ssidOf(profile);
    const radio = this.#radio();
    await this.#align();
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
    const attempt: NetworkAttempt = { network: ssid, interface: radio, wall: clock.wall(), result, text };
    this.#attempts = [attempt, ...this.#attempts].slice(0, mostAttempts);
    if (answer.ok && by === 'user') await this.#entered.confirm(profile);
    if (!answer.ok && answer.reason === 'wrong-password') await this.#entered.reject(profile);
    else if (by === 'user')
      void this.#entered.settle(signal).catch((error: unknown) => log.warn('not stored', { error }));
    return answer;
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
    this.#isHotspotStale.set(state.at === 'hotspot' && state.settings !== state.memory.settings.hotspot);
    const isOpen = state.at === 'opening' || state.at === 'hotspot' || state.at === 'closing';
    isOfflineByHotspot.set(isOpen && this.#hotspotSsid() !== '' && state.memory.onlineSince === null);
    this.#refresh();
  }

  /** Empty: the hotspot is turned off. */
  #hotspotSsid(): string {
    const settings = this.#parts.settings.get();
    return settings.config.disable_wifi_provisioning ? '' : hotspotSsid(settings, this.#parts.hostname()).ssid;
  }

  #refresh(): void {
    const { network, bluetooth, isReached, settings, hostname, status, clock } = this.#parts;
    setIfDifferent(bluetooth.wanted, bluetoothWanted(this.#machine, settings.get(), hostname()));
    this.#lastRadio = this.#radio() || this.#lastRadio;
    const next = statusOf({
      machine: this.#machine,
      network: network.state.get(),
      links: this.#links.note(network.state.get(), this.#attempts, clock.wall()),
      isCloudReached: isReached.get(),
      hotspotSsid: this.#ssidOnAir,
      radio: { used: this.#radio(), expected: settings.get().config.hotspot_interface || this.#lastRadio },
      attempts: this.#attempts,
      released: this.#applied.released,
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
      hostname: hostname(),
      agentVersion,
      hasCredentials: credentials.get() === 'given',
      credentialsProblem: (credentialsProblem ?? noProblem()).get(),
      machine: this.#machine,
      network: network.state.get(),
      nearby: this.#nearby,
      enteredSsid: this.#enteredSsid,
      attempts: this.#attempts,
      hotspotSsid: this.#ssidOnAir || hotspotSsid(settings.get(), hostname()).ssid,
      wallOf: (monotonic) => clock.wall() - (clock.now() - monotonic),
    });
  }
}
