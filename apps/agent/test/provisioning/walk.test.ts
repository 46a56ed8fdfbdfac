// A seeded random walk over the machine, with the invariants that must hold in every state and a way home from each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { isOnline, type KnownNetwork, type Observation } from '../../src/state-machines/network-rules.ts';
import { home, limits, min, nothing, Play, sec, single, spare } from './play.ts';
import { moves } from '../../src/state-machines/provisioning-moves.ts';
import { deadline, step } from '../../src/state-machines/provisioning-step.ts';
import type { Event, Settings, State } from '../../src/state-machines/provisioning-state.ts';
import { noReboots, spacingMs } from '../../src/state-machines/reboot-spacing.ts';

const seed = Number(process.env['WALK_SEED'] ?? 20261123);
const steps = 1_000_000;
const third: KnownNetwork = { profile: 'third', ssid: 'Third', priority: 10, isHidden: true };
const networks = [home, spare, third];
const profiles = networks.map(({ profile }) => profile);

type Random = () => number;
const pick = <T>(random: Random, values: readonly T[]): T => {
  const value = values[Math.floor(random() * values.length)];
  assert.ok(value !== undefined);
  return value;
};
const subset = <T>(random: Random, values: readonly T[]): T[] => values.filter(() => random() < 0.5);

function observation(random: Random, now: number): Observation {
  return {
    hasRadio: random() < 0.9,
    wifi: random() < 0.3 ? { profile: pick(random, profiles) } : null,
    hasOtherLink: random() < 0.15,
    connectivity: pick(random, ['unknown', 'none', 'portal', 'limited', 'full', 'none']),
    isCloudReached: random() < 0.05,
    known: random() < 0.2 ? [] : subset(random, networks),
    visible: subset(random, networks).map(({ ssid }) => ({ ssid, seen: now - Math.floor(random() * 90 * sec) })),
  };
}

/** The reboots are on in every other stretch, so that "never" is walked as long as "sometimes". */
const settingsOf = (random: Random, canReboot: boolean): Settings => ({
  isManaged: random() < 0.95,
  mode: pick(random, ['single', 'roaming']),
  hotspot: pick(random, ['a', 'b']),
  limits: { ...limits, rebootAfterOffline: canReboot ? pick(random, [7 * min, 60 * min, Infinity]) : Infinity },
});

/** The answer that the state waits for; sometimes to another effect. */
function answer(random: Random, state: State): Event {
  const ok = random() < 0.5;
  const id = 'id' in state && random() < 0.9 ? state.id : Math.floor(random() * state.memory.nextId);
  if (state.at === 'opening') return { is: 'hotspot', id, ok, problem: ok ? '' : 'busy' };
  if (state.at === 'searching') return { is: 'scanned', id, ok };
  if (state.at === 'rebooting') return { is: 'notRebooted' };
  if (!ok) return { is: 'joined', id, answer: { ok, reason: 'wrong-password' } };
  const connectivity = pick(random, ['full', 'limited', 'portal'] as const);
  return { is: 'joined', id, answer: { ok, connectivity, isCloudReached: false } };
}

function eventOf(random: Random, play: Play, canReboot: boolean): Event {
  const draw = random();
  if (draw < 0.4) return answer(random, play.state);
  if (draw < 0.75) return { is: 'observed', seen: observation(random, play.now) };
  if (draw < 0.8) return { is: 'active' };
  if (draw < 0.85) return { is: 'submitted', profile: pick(random, [...profiles, null]) };
  if (draw < 0.9) return { is: 'credentials', credentials: pick(random, ['none', 'given', 'given', 'refused']) };
  if (draw < 0.92) return { is: 'forced' };
  if (draw < 0.93) return { is: 'exited' };
  if (draw < 0.96) return { is: 'settings', settings: settingsOf(random, canReboot) };
  if (draw < 0.97) return { is: 'codeRefused' };
  if (draw < 0.98) return { is: 'codeReplaced' };
  if (draw < 0.985) return { is: 'channelForbidden' };
  return { is: 'hotspotEnded', problem: 'x' };
}

/** Joins, hotspot and moves are checked by `Play`; this checks what needs the time and the events. */
class Watch {
  readonly #play: Play;
  #joinUntil = -Infinity;
  #joinId = 0;
  #userAt = -Infinity;

  constructor(play: Play) {
    this.#play = play;
  }

  take(event: Event | { is: 'due' }): void {
    const play = this.#play;
    const before = play.state;
    if (event.is === 'joined' && event.id === this.#joinId) this.#joinUntil = -Infinity;
    const isUserActive = play.now - this.#userAt < limits.userIdle;
    if (event.is === 'active' || event.is === 'submitted') this.#userAt = play.now;
    play.clear();
    play.take(event);
    const { state } = play;
    if (event.is === 'exited' && state !== before && state.by === 'exited') this.#userAt = -Infinity;
    const { memory } = state;
    for (const effect of play.effects) {
      if (effect.do === 'join') {
        assert.ok(play.now >= this.#joinUntil, 'two joins at once');
        this.#joinUntil = play.now + limits.joinAnswer;
        this.#joinId = effect.id;
      }
      if (effect.do === 'reboot') {
        assert.ok(!isUserActive, 'a reboot under the hands of a user');
        assert.ok(before.memory.record.hasBeenOnline, 'a reboot of a machine that never was online');
        assert.notEqual(memory.credentials, 'none', 'a reboot without credentials');
        const offline = play.now - (memory.offlineSince ?? Infinity);
        assert.ok(offline >= spacingMs(before.memory.record, memory.settings.limits.rebootAfterOffline), 'too early');
        assert.ok(offline < Infinity, 'a reboot with 0 minutes');
      }
    }
    const isInterrupted = before.at === 'hotspot' && state.at !== 'hotspot' && isUserActive;
    if (isInterrupted && state.at !== 'closing') {
      const isGone = event.is === 'hotspotEnded' || !memory.settings.isManaged || memory.seen?.hasRadio !== true;
      assert.ok(isGone || state.by === 'moved', `${String(state.by)} interrupts a user`);
    }
    assert.ok(deadline(state) >= play.now, 'a deadline in the past');
    assert.equal(memory.onlineSince === null, memory.offlineSince !== null);
    if (state.at === 'unmanaged') assert.equal(memory.settings.isManaged, false);
  }

  /** Lets the time pass; each deadline must lead somewhere. */
  until(time: number): void {
    let [turns, last] = [0, -Infinity];
    while (deadline(this.#play.state) <= time) {
      this.#play.now = Math.max(this.#play.now, deadline(this.#play.state));
      turns = this.#play.now > last ? 0 : turns + 1;
      last = this.#play.now;
      assert.ok(turns < 6, `${this.#play.state.at} spins`);
      this.take({ is: 'due' });
    }
    this.#play.now = Math.max(this.#play.now, time);
  }
}

/** A truthful world with one network that works: everything that the machine asks for is answered after a second. */
function leadHome(from: Play, mode: Settings['mode'], canScan: boolean): number {
  const play = Object.assign(new Play(single, 'given'), { now: from.now, state: from.state });
  const start = play.now;
  const world: Observation = { ...nothing, known: [spare, home] };
  const look = (more: Partial<Observation> = {}): void => {
    Object.assign(world, more);
    send({ is: 'observed', seen: { ...world, visible: canScan ? [{ ssid: home.ssid, seen: play.now }] : [] } });
  };
  const send = (event: Event | { is: 'due' }): void => {
    const next = step(play.state, event, play.now);
    play.state = next.state;
    for (const effect of next.effects) {
      if (effect.do === 'join' || effect.do === 'startHotspot')
        Object.assign(world, { wifi: null, connectivity: 'none' });
      if (effect.do === 'join' && effect.profile === 'home')
        Object.assign(world, { wifi: { profile: 'home' }, connectivity: 'full' });
    }
  };
  send({ is: 'settings', settings: { ...single, mode, limits } });
  send({ is: 'credentials', credentials: 'given' });
  let homeAfter = Infinity;
  while (play.now - start < 3 * 60 * min) {
    const { state } = play;
    const isHome =
      state.at === 'online' && state.memory.forcedUntil === null && isOnline(world, mode, state.memory.chosen);
    if (isHome && homeAfter === Infinity) homeAfter = play.now - start;
    if (homeAfter !== Infinity) assert.equal(state.at, 'online', `left home for ${state.at} by ${String(state.by)}`);
    if (isHome && play.now - start - homeAfter > 60 * min) break;
    const isWaiting = state.at === 'opening' || state.at === 'searching' || state.at === 'joining';
    play.now = Math.max(play.now, Math.min(isWaiting ? play.now + sec : deadline(state), play.now + 15 * sec));
    if (state.at === 'opening') send({ is: 'hotspot', id: state.id, ok: true, problem: '' });
    else if (state.at === 'searching') send({ is: 'scanned', id: state.id, ok: false });
    else if (state.at === 'joining') {
      const ok = state.profile === 'home';
      const join = ok
        ? { ok, connectivity: 'full' as const, isCloudReached: true }
        : { ok, reason: 'not-found' as const };
      send({ is: 'joined', id: state.id, answer: join as Extract<Event, { is: 'joined' }>['answer'] });
      look();
    } else if (play.now >= deadline(state)) send({ is: 'due' });
    else look();
  }
  return homeAfter;
}

test(`a random walk of ${steps} events keeps the invariants (WALK_SEED=${seed})`, (t) => {
  const random = seededRandom(seed);
  const seen = new Set<string>();
  let [play, watch, slowest] = [new Play(single, 'none'), null as Watch | null, 0];
  for (let count = 0; count < steps; count++) {
    if (count % 2000 === 0 || !watch) {
      for (const move of play.moves) seen.add(move);
      const record = random() < 0.5 ? noReboots : { hasBeenOnline: true, reboots: Math.floor(random() * 4) };
      play = new Play(
        { ...single, mode: pick(random, ['single', 'roaming']) },
        pick(random, ['none', 'given']),
        record,
      );
      watch = new Watch(play);
    }
    watch.take(eventOf(random, play, count % 4000 < 2000));
    const pause = pick(random, [0, sec, 3 * sec, 20 * sec, min, 3 * min, 11 * min]);
    watch.until(play.now + Math.floor(random() * pause));
    if (count % 500 === 499) {
      const homeAfter = leadHome(play, pick(random, ['single', 'roaming']), random() < 0.5);
      slowest = Math.max(slowest, homeAfter);
      assert.ok(homeAfter <= 60 * min, `from ${play.state.at} by ${String(play.state.by)}: not home (event ${count})`);
    }
  }
  for (const move of play.moves) seen.add(move);
  const missing = Object.entries(moves).flatMap(([id, { from }]) =>
    from.map((at) => `${at} ${id}`).filter((name) => !seen.has(name)),
  );
  assert.deepEqual(missing, [], 'transitions of the table that never happen');
  t.diagnostic(`the slowest way home took ${Math.ceil(slowest / min)} minutes`);
});
