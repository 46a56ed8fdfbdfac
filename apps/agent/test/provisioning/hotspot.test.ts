import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { home, inHotspot, limits, min, onWifi, Play, roaming, sec, single, spare, visible, wired } from './play.ts';

type Row = [name: string, play: () => Play, expected: string];
const day = 24 * 60 * min;

/** In the hotspot after a round that took longer than `retry_connection_timeout_minutes`; both networks are visible. */
function afterShortRound(): Play {
  const settings = { ...roaming, limits: { ...limits, retryConnection: min } };
  const play = inHotspot(settings, 'given')
    .after(min)
    .sees(visible(3 * min, home, spare));
  play.answers(true);
  for (const _ of [home, spare])
    play
      .after(50 * sec)
      .sees(visible(play.now, home, spare))
      .answers(false);
  return play.answers(true).clear();
}

const leaving: Row[] = [
  ['a cable, idle: gone at once', () => inHotspot(single, 'given').sees(wired), 'online stopHotspot'],
  ['a cable, no credentials: it stays', () => inHotspot(single, 'none').sees(wired).after(day), 'hotspot'],
  [
    'a cable, then credentials',
    () => inHotspot(single, 'none').sees(wired).gets({ is: 'credentials', credentials: 'given' }),
    'online stopHotspot',
  ],
  [
    'a cable, the user is active: it stays',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .sees(wired)
        .after(5 * min - 1),
    'hotspot',
  ],
  [
    'a cable, the user becomes idle',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .sees(wired)
        .after(5 * min),
    'online stopHotspot',
  ],
  [
    'a user ends provisioning: a moment before the answer has reached the phone',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .gets({ is: 'exited' })
        .after(3 * sec - 1),
    'closing',
  ],
  [
    'a user ends provisioning: the known networks are tried',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .gets({ is: 'exited' })
        .after(3 * sec),
    'searching stopHotspot scan',
  ],
  [
    'a user ends provisioning, online by a cable',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .sees(wired)
        .gets({ is: 'exited' })
        .after(3 * sec),
    'online stopHotspot',
  ],
  [
    'a user ends forced provisioning',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'forced' })
        .sees(wired)
        .gets({ is: 'exited' })
        .after(3 * sec),
    'online stopHotspot',
  ],
  [
    'a user enters a network and ends provisioning: it is tried',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .gets({ is: 'exited' })
        .after(3 * sec),
    'joining stopHotspot join home',
  ],
  [
    'a known network returns, idle',
    () =>
      inHotspot(single, 'given')
        .after(min)
        .sees(visible(3 * min, home)),
    'joining stopHotspot join home',
  ],
  [
    'a known network returns, the user is active: a moment before idle',
    () =>
      inHotspot(single, 'given')
        .after(min)
        .gets({ is: 'active' })
        .sees({ known: [{ ...home, isHidden: true }] })
        .after(5 * min - 1),
    'hotspot',
  ],
  [
    'a known network returns, the user becomes idle',
    () =>
      inHotspot(single, 'given')
        .after(min)
        .gets({ is: 'active' })
        .sees({ known: [{ ...home, isHidden: true }] })
        .after(5 * min),
    'joining stopHotspot join home',
  ],
  [
    'a known network returns, no credentials: it stays',
    () =>
      inHotspot(single, 'none')
        .after(min)
        .sees(visible(3 * min, home)),
    'hotspot',
  ],
  [
    'single mode: in provisioning the fallback network is tried as well',
    () =>
      inHotspot(single, 'given', { known: [home, spare] }).sees({ ...visible(2 * min, spare), known: [home, spare] }),
    'joining stopHotspot join spare',
  ],
  ['retry timeout: a moment before', () => inHotspot(single, 'given').after(10 * min - 1), 'hotspot'],
  ['retry timeout', () => inHotspot(single, 'given').after(10 * min), 'searching stopHotspot scan'],
  [
    'retry timeout, nothing known: again',
    () =>
      inHotspot(single, 'given')
        .after(10 * min)
        .clear()
        .answers(true),
    'opening startHotspot',
  ],
  [
    'retry timeout, the user is active',
    () =>
      inHotspot(single, 'given')
        .after(6 * min)
        .gets({ is: 'active' })
        .after(5 * min - 1),
    'hotspot',
  ],
  [
    'retry timeout, the user becomes idle',
    () =>
      inHotspot(single, 'given')
        .after(6 * min)
        .gets({ is: 'active' })
        .after(5 * min),
    'searching stopHotspot scan',
  ],
  [
    'retry timeout, the user is idle since before',
    () =>
      inHotspot(single, 'given')
        .after(5 * min)
        .gets({ is: 'active' })
        .after(5 * min),
    'searching stopHotspot scan',
  ],
  [
    'the scan hangs: a moment before',
    () =>
      inHotspot(single, 'given')
        .after(10 * min)
        .clear()
        .after(20 * sec - 1),
    'searching',
  ],
  [
    'the scan hangs: each known network is tried, seen or not',
    () =>
      inHotspot(single, 'given', { known: [spare, home] })
        .after(10 * min)
        .clear()
        .after(20 * sec),
    'joining join home',
  ],
  [
    'the scan found one: only that is tried',
    () =>
      inHotspot(single, 'given', { known: [spare, home] })
        .after(10 * min)
        .sees(visible(12 * min, spare))
        .sees({ known: [spare, home] })
        .clear()
        .answers(true),
    'joining join spare',
  ],
  [
    'rule 3: each once, in descending priority, then the hotspot again (single mode)',
    () =>
      inHotspot(single, 'given', { known: [spare, home] })
        .after(10 * min)
        .clear()
        .answers(false)
        .answers(false)
        .answers(false),
    'opening join home join spare startHotspot',
  ],
  [
    'rule 3: each once, in descending priority, then the hotspot again (roaming mode)',
    () =>
      inHotspot(roaming, 'given', { known: [spare, home] })
        .after(10 * min)
        .clear()
        .answers(false)
        .answers(false)
        .answers(false),
    'opening join home join spare startHotspot',
  ],
  [
    'rule 3: a network that was removed meanwhile is left out',
    () =>
      inHotspot(single, 'given', { known: [spare, home] })
        .after(10 * min)
        .clear()
        .answers(false)
        .sees({ known: [home] })
        .answers(false),
    'opening join home startHotspot',
  ],
  [
    'online by itself during the scan',
    () =>
      inHotspot(single, 'given', { known: [home] })
        .after(10 * min)
        .clear()
        .sees(onWifi('home'))
        .answers(true),
    'online',
  ],
  [
    'online by cable during a join: the others are not tried',
    () =>
      inHotspot(single, 'given', { known: [spare, home] })
        .after(10 * min)
        .answers(false)
        .clear()
        .sees(wired)
        .answers(false),
    'online',
  ],
  [
    'after a round, a visible network is not tried again at once',
    () => {
      const play = inHotspot(single, 'given', { known: [home] })
        .after(10 * min)
        .sees(visible(12 * min, home))
        .answers(true);
      return play
        .after(20 * sec)
        .answers(false)
        .answers(true)
        .sees(visible(play.now, home))
        .clear();
    },
    'hotspot',
  ],
  [
    'a short retry timeout: the time of a round does not close the hotspot again',
    () => afterShortRound().after(min - 1),
    'hotspot',
  ],
  [
    'a short retry timeout: the next round has every network again, in descending priority',
    () => {
      const play = afterShortRound().after(min);
      play.sees(visible(play.now, home, spare)).answers(true);
      return play.answers(false).answers(false);
    },
    'opening stopHotspot scan join home join spare startHotspot',
  ],
  [
    'a lower network returns: one round with all that are in reach, then the hotspot again',
    () => {
      const play = afterShortRound();
      const back = { ...spare, profile: 'back', ssid: 'Back', priority: 1 };
      play.sees(visible(play.now, back, home, spare));
      return play.answers(false).answers(false).answers(false);
    },
    'opening stopHotspot join home join spare join back startHotspot',
  ],
  ['the radio is unplugged', () => inHotspot(single, 'given').sees({ hasRadio: false }), 'offline stopHotspot'],
  [
    'the hotspot ends by itself: a moment before the next attempt',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'hotspotEnded', problem: 'x' })
        .after(30 * sec - 1),
    'offline stopHotspot',
  ],
  [
    'the hotspot ends by itself: again',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'hotspotEnded', problem: 'x' })
        .clear()
        .after(30 * sec),
    'opening startHotspot',
  ],
  [
    'its channel becomes forbidden: again at once, also under the hands of a user',
    () => inHotspot(single, 'given').gets({ is: 'active' }).clear().gets({ is: 'channelForbidden' }),
    'opening stopHotspot startHotspot',
  ],
  [
    'its channel becomes forbidden, a cable is in: again, and the user can go on',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .sees(wired)
        .gets({ is: 'channelForbidden' })
        .clear()
        .answers(true)
        .after(5 * min - 1),
    'hotspot',
  ],
  [
    'its channel becomes forbidden, and it cannot start on another one',
    () => inHotspot(single, 'given').gets({ is: 'channelForbidden' }).clear().answers(false),
    'offline',
  ],
  [
    'its channel becomes forbidden while it starts: it starts first',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'channelForbidden' })
        .clear()
        .gets({ is: 'channelForbidden' })
        .answers(true),
    'hotspot',
  ],
  [
    'its channel becomes forbidden after a submission: what was entered is tried',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .gets({ is: 'channelForbidden' })
        .clear()
        .after(3 * sec),
    'joining stopHotspot join home',
  ],

  [
    'the answer of another scan counts for nothing',
    () =>
      inHotspot(single, 'given')
        .after(10 * min)
        .clear()
        .gets({ is: 'scanned', id: 99, ok: true }),
    'searching',
  ],
  [
    'after a round without success, the hotspot runs again',
    () =>
      inHotspot(single, 'given', { known: [home] })
        .after(10 * min)
        .answers(false)
        .answers(false)
        .clear()
        .answers(true),
    'hotspot',
  ],
];

const run = (rows: readonly Row[]) => async (t: TestContext) => {
  for (const [name, play, expected] of rows) await t.test(name, () => assert.equal(String(play()), expected));
};
test('the hotspot closes when its time is up, never under an active user', run(leaving));
