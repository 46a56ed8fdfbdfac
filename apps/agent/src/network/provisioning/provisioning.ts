import { Cell, changedOr, errorText, Inbox, run, type Log, type StateMachine } from '@platform/kit';
import { deadline, initial, step } from '../../state-machines/provisioning-step.ts';
import type { Effect, Event, State } from '../../state-machines/provisioning-state.ts';
import { parseRecord, noReboots, type RebootRecord } from '../../state-machines/reboot-spacing.ts';
import { readChecked } from '../../storage/checked-file.ts';
import { AppliedSettings } from '../profiles/applied-settings.ts';
import { expiryOf, watchConnectivity } from '../checks/connectivity-watch.ts';
import { noProblem } from '../views/credentials-problem.ts';
import type { EndpointHandlers } from '../endpoints/provisioning-view.ts';
import { EnteredNetworks } from './entered-network.ts';
import { recoverEntered, submit } from './entering.ts';
import { watchForceFile } from './forced.ts';
import {
  endEarlierHotspot,
  type HotspotClientsParts,
  watchHotspotClients,
  HotspotWithEndpoints,
} from '../hotspot/hotspot.ts';
import { machineSettings } from '../settings/network-settings.ts';
import { observationOf } from '../checks/observation.ts';
import { untilPrepared } from './prepared.ts';
import { alignWithMode, ProvisioningEffects, rebootFile } from './provisioning-effects.ts';
import type { ProvisioningParts } from './provisioning-parts.ts';
import { ProvisioningStatus } from './provisioning-status.ts';
import { NetworkHandOver } from '../profiles/hand-over.ts';
import { keepScanning } from '../hotspot/scans.ts';

/** Runs the state machine of network provisioning on this machine's network. */
export class Provisioning {
  readonly #parts: ProvisioningParts;
  readonly #inbox = new Inbox<Event>();
  readonly #status: ProvisioningStatus;
  readonly #effects: ProvisioningEffects;
  readonly #entering: Parameters<typeof recoverEntered>[0];
  readonly #hotspot: HotspotWithEndpoints;
  readonly #handlers: EndpointHandlers;
  /** The machine is online, and no user is setting it up: a change of its networks may be tried. */
  readonly mayChange = new Cell(false);
  readonly #applied: AppliedSettings;
  /** The running hotspot has earlier settings. */
  readonly #isHotspotStale = new Cell(false);
  readonly #clientsParts: HotspotClientsParts;
  /** The last observation that the machine got, as JSON; empty: it needs one. */
  #observed = '';
  /** Number of joins that have ended. */
  readonly #joins = new Cell(0);

  constructor(parts: ProvisioningParts) {
    this.#parts = parts;
    const entered = new EnteredNetworks(parts);
    this.#applied = new AppliedSettings({ ...parts, handOver: new NetworkHandOver(parts) });
    this.#status = new ProvisioningStatus(parts, this.#initial(noReboots), () => this.#applied.handedOver);
    this.#entering = { parts, entered, status: this.#status, push: (event) => this.#inbox.push(event) };
    this.#handlers = {
      active: () => this.#inbox.push({ is: 'active' }),
      exit: () => this.#inbox.push({ is: 'exited' }),
      submit: (submission) => submit(this.#entering, submission),
    };
    const seen = (hasClient: boolean): void => this.#inbox.push({ is: 'clients', hasClient });
    this.#clientsParts = { ...parts, isStale: this.#isHotspotStale, seen };
    const ended = (problem: string): void => this.#inbox.push({ is: 'hotspotEnded', problem });
    this.#hotspot = new HotspotWithEndpoints({ ...parts, view: this.#status.view, handlers: this.#handlers, ended });
    this.#effects = new ProvisioningEffects(parts, { status: this.#status, entered, hotspot: this.#hotspot });
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
    const first = this.#initial(record ?? noReboots);
    this.#status.state = first;
    await this.#applied.recover();
    this.#publish(first);
    const entering = recoverEntered(this.#entering, signal);
    const machine: StateMachine<State, Event, Effect> = {
      initial: first,
      deadline,
      step,
      perform: (effect: Effect, over: AbortSignal) => this.#effects.perform(effect, over),
    };
    // The machine's own line names the observation, with the neighbourhood in it; the line of #publish has the reason.
    const quiet: Log = { ...log, info: log.debug };
    // It outlives the others: the hotspot is closed over it.
    const end = new AbortController();
    const running = network.run(end.signal);
    try {
      await Promise.all([
        Promise.race([running, new Cell(false).changed(signal)]),
        this.#parts.bluetooth.run({ view: this.#status.view, handlers: this.#handlers }, signal),
        run(machine, this.#inbox, (state) => this.#publish(state), { clock, log: quiet }, signal),
        this.#observe(signal),
        keepScanning({ ...this.#parts, machine: () => this.#status.state, radio: () => this.#status.radio() }, signal),
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
      const seen = observationOf(network.state.get(), this.#status.radio(), isReached.get(), clock.now());
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
      this.#status.refresh();
      const inputs = [network.state, isReached, isChanging, pendingCode, credentials, credentialsProblem, this.#joins];
      await changedOr(inputs, expiryOf(network.state.get(), clock.now()) - clock.now(), clock, signal);
    }
  }

  async #followSettings(signal: AbortSignal): Promise<void> {
    const { settings, hostname, network, log } = this.#parts;
    while (!signal.aborted) {
      const now = settings.get();
      this.#inbox.push({ is: 'settings', settings: machineSettings(now, hostname()) });
      try {
        await this.#applied.apply(now);
        if (!now.isDisabled) await alignWithMode(this.#parts, this.#status);
      } catch (error) {
        log.warn('settings of the network are not applied', { error: errorText(error) });
      }
      this.#status.refresh();
      await changedOr([settings, network.state], 60_000, this.#parts.clock, signal);
    }
  }

  #publish(state: State): void {
    const { isOfflineByHotspot } = this.#parts;
    const before = this.#status.state;
    if (before.at === 'joining' && state !== before && !(state.at === 'joining' && state.id === before.id)) {
      // A join changes what the machine takes for observed; a link that has dropped since has to be reported again.
      this.#observed = '';
      this.#joins.update((count) => count + 1);
    }
    this.#status.moveTo(state);
    this.mayChange.set(state.at === 'online');
    this.#isHotspotStale.set(state.at === 'hotspot' && state.settings !== state.memory.settings.hotspot);
    const isOpen = state.at === 'opening' || state.at === 'hotspot' || state.at === 'closing';
    isOfflineByHotspot.set(isOpen && this.#status.hotspotSsid() !== '' && state.memory.onlineSince === null);
    this.#status.refresh();
  }
}
