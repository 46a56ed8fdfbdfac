// One simulated machine for the tests: it gets `due` whenever it asked for it.
import assert from 'node:assert/strict';
import type { JoinAnswer, KnownNetwork, Observation } from '../../src/state-machines/network-rules.ts';
import { deadline, initial, step } from '../../src/state-machines/provisioning-step.ts';
import { hotspotStates, moves } from '../../src/state-machines/provisioning-moves.ts';
import {
  standardLimits,
  type Credentials,
  type Effect,
  type Event,
  type Limits,
  type Settings,
  type State,
} from '../../src/state-machines/provisioning-state.ts';
import { noReboots, type RebootRecord } from '../../src/state-machines/reboot-spacing.ts';

export const sec = 1000;
export const min = 60 * sec;
export const limits: Limits = {
  ...standardLimits,
  offlineBeforeHotspot: 2 * min,
  retryConnection: 10 * min,
  userIdle: 5 * min,
  rebootAfterOffline: Infinity,
};
export const single: Settings = { isManaged: true, mode: 'single', limits, hotspot: 'a' };
export const roaming: Settings = { ...single, mode: 'roaming' };

export const home: KnownNetwork = { profile: 'home', ssid: 'Home', priority: 10, isHidden: false };
export const spare: KnownNetwork = { profile: 'spare', ssid: 'Spare', priority: 5, isHidden: false };

export const nothing: Observation = {
  hasRadio: true,
  wifi: null,
  hasOtherLink: false,
  connectivity: 'none',
  isCloudReached: false,
  known: [],
  visible: [],
};

/** Known, and seen at `at`. */
export const visible = (at: number, ...known: KnownNetwork[]): Partial<Observation> => ({
  known,
  visible: known.map(({ ssid }) => ({ ssid, seen: at })),
});
export const wired: Partial<Observation> = { hasOtherLink: true, connectivity: 'full' };
export const unplugged: Partial<Observation> = { hasOtherLink: false, connectivity: 'none' };
export const onWifi = (profile: string, connectivity: Observation['connectivity'] = 'full'): Partial<Observation> => ({
  wifi: { profile },
  connectivity,
});

const full: JoinAnswer = { ok: true, connectivity: 'full', isCloudReached: true };

export class Play {
  now = 0;
  state: State;
  effects: Effect[] = [];
  #isHotspotUp = false;
  readonly moves = new Set<string>();

  constructor(settings: Settings, credentials: Credentials, record: RebootRecord = noReboots) {
    this.state = initial(settings, credentials, record, 0);
  }

  /** Lets the time pass. */
  until(time: number): this {
    for (let turns = 0; deadline(this.state) <= time; turns++) {
      assert.ok(turns < 10_000, `${this.state.at} spins at ${this.now}`);
      this.now = Math.max(this.now, deadline(this.state));
      this.take({ is: 'due' });
    }
    this.now = Math.max(this.now, time);
    return this;
  }

  after(time: number): this {
    return this.until(this.now + time);
  }

  sees(more: Partial<Observation>): this {
    return this.gets({ is: 'observed', seen: { ...(this.state.memory.seen ?? nothing), ...more } });
  }

  submits(profile: string | null): this {
    return this.gets({ is: 'submitted', profile });
  }

  gets(event: Event): this {
    this.take(event);
    return this.until(this.now);
  }

  /** Answers the effect that the state waits for. */
  answers(ok: boolean, join: JoinAnswer = ok ? full : { ok: false, reason: 'wrong-password' }): this {
    const { state } = this;
    if (state.at === 'opening') return this.gets({ is: 'hotspot', id: state.id, ok, problem: ok ? '' : 'busy' });
    if (state.at === 'searching') return this.gets({ is: 'scanned', id: state.id, ok });
    assert.ok(state.at === 'joining', `${state.at} waits for no answer`);
    return this.gets({ is: 'joined', id: state.id, answer: join });
  }

  /** The hotspot has started, with these settings. */
  startedWith(settings: string): this {
    const { state } = this;
    assert.ok(state.at === 'opening', state.at);
    return this.gets({ is: 'hotspot', id: state.id, ok: true, problem: '', settings });
  }

  /** One step, with what must hold for each. */
  take(event: Event | { is: 'due' }): void {
    const before = this.state;
    const { state, effects } = step(before, event, this.now);
    if (state.at !== before.at || state.since !== before.since || state.by !== before.by)
      this.#checkMove(before, state);
    const isOver = before.at === 'opening' && event.is === 'hotspot' && !event.ok && event.id === before.id;
    if (isOver) this.#isHotspotUp = false;
    for (const effect of effects) this.#perform(effect);
    assert.equal(this.#isHotspotUp, hotspotStates.has(state.at), `hotspot in ${state.at} after ${before.at}`);
    this.state = state;
    this.effects.push(...effects);
  }

  #checkMove(before: State, state: State): void {
    assert.ok(state.by, 'a change without a move');
    const move: { from: readonly string[]; to: string } = moves[state.by];
    assert.ok(move.from.includes(before.at), `${state.by} from ${before.at}`);
    assert.equal(state.at, move.to, state.by);
    this.moves.add(`${before.at} ${state.by}`);
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'startHotspot':
        assert.equal(this.#isHotspotUp, false, 'the hotspot is started twice');
        this.#isHotspotUp = true;
        return;
      case 'stopHotspot':
        this.#isHotspotUp = false;
        return;
      case 'join':
      case 'scan':
      case 'reboot':
        assert.equal(this.#isHotspotUp, false, `${effect.do} while the hotspot runs`);
        return;
      case 'keepRecord':
    }
  }

  /** The state, and the effects since the last look. */
  toString(): string {
    const words = this.effects.map((effect) => (effect.do === 'join' ? `join ${effect.profile}` : effect.do));
    return [this.state.at, ...words].join(' ');
  }

  /** Forgets the effects so far, so that a row shows only what follows. */
  clear(): this {
    this.effects = [];
    return this;
  }
}

/** In the hotspot since `now`, after the offline limit. */
export const inHotspot = (settings: Settings, credentials: Credentials, seen: Partial<Observation> = {}): Play =>
  new Play(settings, credentials, { hasBeenOnline: true, reboots: 0 })
    .sees(seen)
    .until(limits.offlineBeforeHotspot)
    .answers(true)
    .clear();
/** Online by WiFi at 0, with credentials. */
export const atHome = (settings: Settings = single, record?: RebootRecord): Play =>
  new Play(settings, 'given', record).sees({ known: [home, spare], ...onWifi('home') }).clear();
