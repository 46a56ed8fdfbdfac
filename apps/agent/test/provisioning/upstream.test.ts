// The internet behind a network dies, or is not measured: what is tried, what is left alone, and when.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atHome, home, inHotspot, limits, min, onWifi, Play, roaming, sec, single, spare, visible } from './play.ts';

type Row = [name: string, play: () => Play, expected: string];
const { doubt, unchecked, joinAnswer } = limits;
const noInternet = { ok: true, connectivity: 'limited', isCloudReached: false } as const;
const onSpare = (settings = roaming) =>
  new Play(settings, 'given').sees({ known: [home, spare], ...onWifi('spare') }).clear();

const rows: Row[] = [
  ['roaming: a second check before the link is left', () => dies(doubt - 1), 'offline'],
  ['roaming: the other network in reach', () => dies(doubt), 'joining join spare'],
  ['single: the link stays, and no hotspot comes', () => dies(60 * min, single), 'online'],
  [
    'roaming, no other network: the hotspot after the limit',
    () => atHome(roaming).sees(onWifi('home', 'limited')).after(limits.offlineBeforeHotspot),
    'opening startHotspot',
  ],
  [
    'roaming, the server alone is away: the link stays',
    () =>
      atHome(roaming)
        .sees({ ...visible(0, spare, home), isCloudReached: true })
        .sees({ isCloudReached: false })
        .after(60 * min),
    'online',
  ],
  ['roaming: a link that is not measured yet is not left', () => notMeasured(unchecked - 1), 'offline'],
  ['roaming: unknown is not good', () => notMeasured(unchecked), 'joining join spare'],
  [
    'roaming, without credentials: nothing speaks against a link that cannot be checked',
    () =>
      new Play(roaming, 'none')
        .sees({ ...visible(0, home, spare), ...onWifi('home', 'unknown') })
        .clear()
        .after(5 * min),
    'online',
  ],
  [
    'roaming: a link is not left while a set-up code waits for its server',
    () =>
      new Play(roaming, 'none')
        .gets({ is: 'codePending', isPending: true })
        .sees({})
        .answers(true)
        .sees({ known: [home] })
        .submits('home')
        .after(limits.replyGrace)
        .answers(true, noInternet)
        .sees({ ...visible(0, home, spare), ...onWifi('home', 'limited') })
        .clear()
        .after(5 * min),
    'online',
  ],
  ['a profile that the system connects by itself is left to it', () => connecting(joinAnswer - 1), 'offline'],
  ['for as long as an attempt of ours', () => connecting(joinAnswer), 'joining join home'],
  [
    'that attempt failed: ours follows at once',
    () => connecting(5 * sec).gets({ is: 'observed', seen: { ...lost, ...visible(5 * sec, home) } }),
    'joining join home',
  ],
  [
    'on a fallback: the higher one, as soon as it is in reach',
    () =>
      onSpare()
        .after(min)
        .sees(visible(min, home, spare)),
    'joining join home',
  ],
  ['single, on a fallback: the same', () => onSpare(single).sees(visible(0, home, spare)), 'joining join home'],
  [
    'it does not work: back',
    () =>
      onSpare()
        .sees(visible(0, home, spare))
        .sees(onWifi('home', 'limited'))
        .answers(true, noInternet),
    'joining join home join spare',
  ],
  ['once more after the retry time, not before', () => failedClimb(limits.retryConnection - sec), 'online'],
  ['once more after the retry time', () => failedClimb(limits.retryConnection), 'joining join home'],
  [
    'the second failure: twice the time',
    () => again(failedClimb(limits.retryConnection).clear()).after(2 * limits.retryConnection - sec),
    'online',
  ],
  [
    'on a fallback, a user is active: not now',
    () =>
      onSpare()
        .gets({ is: 'active' })
        .sees(visible(0, home, spare)),
    'online',
  ],
  [
    'on a fallback, a change of the networks is being tried: not now',
    () =>
      onSpare()
        .gets({ is: 'changing', isChanging: true })
        .sees(visible(0, home, spare)),
    'online',
  ],
  [
    'the hotspot answers late: it runs',
    () =>
      new Play(single, 'none')
        .sees({})
        .clear()
        .after(limits.hotspotAnswer - 1)
        .answers(true),
    'hotspot',
  ],
  [
    'forced: the time counts from when the hotspot is on the air',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .after(2 * min)
        .answers(true)
        .clear()
        .after(limits.retryConnection - 1),
    'hotspot',
  ],
  [
    'forced: the end of the time',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .after(2 * min)
        .answers(true)
        .clear()
        .after(limits.retryConnection),
    'online stopHotspot',
  ],
  [
    'in the hotspot, the upstream is well again: only a round shows it',
    () => inHotspot(roaming, 'given', { known: [home] }).after(limits.retryConnection),
    'searching stopHotspot scan',
  ],
];

const lost = { ...new Play(roaming, 'given').sees({}).state.memory.seen!, wifi: null, connectivity: 'none' as const };

/** Home is left by its internet; the other network is in reach. */
function dies(after: number, settings = roaming): Play {
  const play = atHome(settings).sees(onWifi('home', 'limited'));
  for (let at = 0; at < after; at += 30 * sec) {
    play.after(Math.min(30 * sec, after - at)).sees({ visible: [{ ssid: spare.ssid, seen: play.now }] });
    if (play.state.at === 'joining') break;
  }
  return play;
}

const notMeasured = (after: number): Play =>
  new Play(roaming, 'given')
    .sees({ ...visible(0, home, spare), ...onWifi('home', 'unknown') })
    .after(after - 1)
    .sees({ visible: [{ ssid: spare.ssid, seen: after - 1 }] })
    .after(1);

const connecting = (after: number): Play =>
  atHome()
    .gets({ is: 'observed', seen: { ...lost, ...visible(0, home), connecting: 'home' } })
    .after(after)
    .sees({});

/** Tries the higher network at 0, and is back at once. */
function failedClimb(after: number): Play {
  const play = again(onSpare().sees(visible(0, home, spare)));
  return play
    .clear()
    .after(after)
    .sees(visible(after, home, spare));
}

const again = (play: Play): Play =>
  play
    .sees({ ...onWifi('home', 'limited'), isCloudReached: false })
    .answers(true, noInternet)
    .sees(onWifi('spare'))
    .answers(true)
    .clear();

for (const [name, play, expected] of rows) test(name, () => assert.equal(String(play()), expected));
