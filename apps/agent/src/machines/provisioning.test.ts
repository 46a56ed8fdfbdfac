import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KnownNetwork, Observation } from './network-rules.ts';
import { deadline, initial, step } from './provisioning.ts';
import {
  standardLimits,
  type Credentials,
  type Effect,
  type Event,
  type Limits,
  type Settings,
  type State,
} from './provisioning-state.ts';
import { noReboots, type RebootRecord } from './reboot-spacing.ts';

const s = 1000;
const min = 60 * s;
const limits: Limits = {
  ...standardLimits,
  offlineBeforeHotspot: 2 * min,
  retryConnection: 10 * min,
  userIdle: 5 * min,
  rebootAfterOffline: Infinity,
};
const single: Settings = { isManaged: true, mode: 'single', limits, hotspot: 'a' };
const home: KnownNetwork = { profile: 'home', ssid: 'Home', priority: 10, isHidden: false };
const spare: KnownNetwork = { profile: 'spare', ssid: 'Spare', priority: 5, isHidden: false };

const nothing: Observation = {
  hasRadio: true,
  wifi: null,
  hasOtherLink: false,
  connectivity: 'none',
  isCloudReached: false,
  known: [],
  visible: [],
};

/** One machine: it gets `due` whenever it asked for it. */
class Play {
  now = 0;
  state: State;
  effects: Effect[] = [];

  constructor(settings: Settings, credentials: Credentials, record: RebootRecord = noReboots) {
    this.state = initial(settings, credentials, record, 0);
  }

  /** Lets the time pass. */
  until(time: number): this {
    for (let turns = 0; deadline(this.state) <= time; turns++) {
      assert.ok(turns < 100, `${this.state.at} spins`);
      this.now = Math.max(this.now, deadline(this.state));
      this.#take({ is: 'due' });
    }
    this.now = time;
    return this;
  }

  sees(more: Partial<Observation>): this {
    return this.gets({ is: 'observed', seen: { ...(this.state.memory.seen ?? nothing), ...more } });
  }

  gets(event: Event): this {
    this.#take(event);
    return this.until(this.now);
  }

  /** Answers the last effect that expects one. */
  answers(ok: boolean): this {
    const { state } = this;
    if (state.at === 'opening') return this.gets({ is: 'hotspot', id: state.id, ok, problem: ok ? '' : 'busy' });
    if (state.at === 'searching') return this.gets({ is: 'scanned', id: state.id, ok });
    assert.equal(state.at, 'joining');
    if (state.at !== 'joining') return this;
    const answer = ok
      ? ({ ok, connectivity: 'full', isCloudReached: true } as const)
      : ({ ok, reason: 'wrong-password' } as const);
    return this.gets({ is: 'joined', id: state.id, answer });
  }

  #take(event: Event | { is: 'due' }): void {
    const next = step(this.state, event, this.now);
    this.state = next.state;
    this.effects.push(...next.effects);
  }

  toString(): string {
    const words = this.effects.map((effect) => (effect.do === 'join' ? `join ${effect.profile}` : effect.do));
    return [this.state.at, ...words].join(' ');
  }
}

const visible = (at: number, ...known: KnownNetwork[]) => ({
  known,
  visible: known.map(({ ssid }) => ({ ssid, seen: at })),
});

const rows: [name: string, play: () => Play, expected: string][] = [
  ['fresh: the hotspot at once', () => new Play(single, 'none').sees({}), 'opening startHotspot'],
  [
    'credentials, no network: a moment before the limit',
    () => new Play(single, 'given').sees({}).until(2 * min - 1),
    'offline',
  ],
  [
    'credentials, no network: the limit',
    () => new Play(single, 'given').sees({}).until(2 * min),
    'opening startHotspot',
  ],
  [
    'a wrong password: back at the hotspot',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(true)
        .gets({ is: 'submitted', profile: 'home' })
        .until(3 * s)
        .answers(false),
    'opening startHotspot stopHotspot join home startHotspot',
  ],
  [
    'a known network is joined',
    () => new Play(single, 'given').sees(visible(0, home, spare)).answers(true),
    'online join home keepRecord',
  ],
];

for (const [name, play, expected] of rows) test(name, () => assert.equal(String(play()), expected));
