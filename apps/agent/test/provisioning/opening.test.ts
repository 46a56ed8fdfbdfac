import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  atHome,
  home,
  limits,
  min,
  onWifi,
  Play,
  roaming,
  sec,
  single,
  spare,
  unplugged,
  visible,
  wired,
} from './play.ts';

type Row = [name: string, play: () => Play, expected: string];
const day = 24 * 60 * min;

const onWifiWithoutCredentials = () => new Play(single, 'none').sees({ known: [home], ...onWifi('home') });

const opening: Row[] = [
  [
    'a refused set-up code on a working WiFi: the hotspot at once',
    () => onWifiWithoutCredentials().after(sec).gets({ is: 'codeRefused' }),
    'opening startHotspot',
  ],
  [
    'a refused set-up code while the machine is offline: when it is online',
    () =>
      new Play(single, 'none')
        .sees({ known: [home] })
        .gets({ is: 'codeRefused' })
        .sees(onWifi('home')),
    'opening startHotspot',
  ],
  [
    'a refused set-up code, and another one at once: no hotspot',
    () =>
      new Play(single, 'none')
        .sees({ known: [home] })
        .gets({ is: 'codeRefused' })
        .gets({ is: 'codeReplaced' })
        .submits(null)
        .sees(onWifi('home'))
        .after(10 * min - 1),
    'online',
  ],
  [
    'a set-up code that is refused before its submission is taken up: the hotspot at once',
    () =>
      new Play(single, 'none')
        .sees({ known: [home] })
        .gets({ is: 'codeRefused' })
        .submits(null)
        .sees(onWifi('home')),
    'opening startHotspot',
  ],
  [
    'a refused set-up code on a machine with credentials: no hotspot',
    () => atHome().gets({ is: 'codeRefused' }).until(day),
    'online',
  ],
  ['fresh: the hotspot at once', () => new Play(single, 'none').sees({}), 'opening startHotspot'],
  ['fresh, before the network is known: nothing', () => new Play(single, 'none').until(min), 'offline'],
  ['fresh, no radio: nothing', () => new Play(single, 'none').sees({ hasRadio: false }).until(day), 'offline'],
  [
    'fresh, a radio is plugged in: at once',
    () => new Play(single, 'none').sees({ hasRadio: false }).until(day).sees({ hasRadio: true }),
    'opening startHotspot',
  ],
  [
    'no credentials, a known network: a moment before',
    () => new Play(single, 'none').sees({ known: [home] }).until(2 * min - 1),
    'offline',
  ],
  [
    'no credentials, a known network: the limit',
    () => new Play(single, 'none').sees({ known: [home] }).until(2 * min),
    'opening startHotspot',
  ],
  ['offline since the start: a moment before', () => new Play(single, 'given').sees({}).until(2 * min - 1), 'offline'],
  [
    'offline since the start: the limit',
    () => new Play(single, 'given').sees({}).until(2 * min),
    'opening startHotspot',
  ],
  [
    'refused credentials, offline: the limit',
    () => new Play(single, 'refused').sees({}).until(2 * min),
    'opening startHotspot',
  ],
  [
    'connection lost: a moment before',
    () =>
      atHome()
        .until(60 * min)
        .sees({ wifi: null, ...unplugged })
        .after(2 * min - 1),
    'offline',
  ],
  [
    'connection lost: the limit',
    () =>
      atHome()
        .until(60 * min)
        .sees({ wifi: null, ...unplugged })
        .after(2 * min),
    'opening startHotspot',
  ],
  [
    'connection back before the limit: the clock starts again',
    () =>
      atHome()
        .sees({ wifi: null, ...unplugged })
        .after(2 * min - 1)
        .sees(onWifi('home'))
        .after(sec)
        .sees({ wifi: null, ...unplugged })
        .after(2 * min - 1),
    'offline',
  ],
  [
    'refused credentials on a working link: no hotspot',
    () => atHome().gets({ is: 'credentials', credentials: 'refused' }).until(day),
    'online',
  ],
  [
    'no credentials on the only WiFi link: a moment before its turn ends',
    () => new Play(single, 'none').sees({ known: [home], ...onWifi('home') }).until(10 * min - 1),
    'online',
  ],
  [
    'no credentials on the only WiFi link: the hotspot takes its turn',
    () => new Play(single, 'none').sees({ known: [home], ...onWifi('home') }).until(10 * min),
    'opening startHotspot',
  ],
  [
    'no credentials, online by cable: at once',
    () => new Play(single, 'none').sees({ known: [home], ...wired }),
    'opening startHotspot',
  ],
  [
    'no credentials, online by cable and WiFi: nothing is cut at once',
    () => new Play(single, 'none').sees({ known: [home], ...onWifi('home'), ...wired }).until(10 * min - 1),
    'online',
  ],
  [
    'credentials, online by cable: no hotspot',
    () => new Play(single, 'given').sees(wired).clear().until(day),
    'online',
  ],
  ['started', () => new Play(single, 'none').sees({}).clear().answers(true), 'hotspot'],
  [
    'a late answer of another start counts for nothing',
    () => new Play(single, 'none').sees({}).clear().gets({ is: 'hotspot', id: 99, ok: true, problem: '' }),
    'opening',
  ],
  [
    'not started: a moment before the next attempt',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(false)
        .after(30 * sec - 1)
        .clear(),
    'offline',
  ],
  [
    'not started: the next attempt',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(false)
        .clear()
        .after(30 * sec),
    'opening startHotspot',
  ],
  [
    'not started twice: the wait doubles',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(false)
        .after(30 * sec)
        .answers(false)
        .clear()
        .after(60 * sec - 1),
    'offline',
  ],
  [
    'not started often: at most 10 minutes between',
    () => {
      const play = new Play(single, 'none').sees({});
      for (let turn = 0; turn < 40; turn++) play.answers(false).until(play.state.memory.hotspotFrom);
      assert.equal(
        String(
          play
            .clear()
            .answers(false)
            .after(10 * min - 1),
        ),
        'offline',
      );
      return play.after(1);
    },
    'opening startHotspot',
  ],
  [
    'no answer: a moment before',
    () =>
      new Play(single, 'none')
        .sees({})
        .clear()
        .until(limits.hotspotAnswer - 1),
    'opening',
  ],
  [
    'no answer: stopped, to be safe',
    () => new Play(single, 'none').sees({}).clear().until(limits.hotspotAnswer),
    'offline stopHotspot',
  ],
  [
    'not started: known networks are tried in any case',
    () =>
      new Play(single, 'given')
        .sees({ known: [home, spare] })
        .until(2 * min)
        .sees(visible(2 * min, home, spare))
        .clear()
        .answers(false)
        .answers(true),
    'joining scan join home',
  ],
  [
    'not started, and the known networks were just tried: no more joins',
    () =>
      new Play(roaming, 'given')
        .sees(visible(0, home))
        .answers(false)
        .until(59 * sec)
        .sees(visible(59 * sec, home))
        .until(118 * sec)
        .sees(visible(118 * sec, home))
        .until(2 * min)
        .clear()
        .answers(false),
    'offline',
  ],

  [
    'started in between: the wait begins small again',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(false)
        .after(30 * sec)
        .answers(true)
        .sees({ hasRadio: false })
        .sees({ hasRadio: true })
        .after(30 * sec)
        .answers(false)
        .clear()
        .after(30 * sec),
    'opening startHotspot',
  ],
  [
    'not started: what was just tried is left out of the round',
    () =>
      new Play(single, 'given')
        .sees({ known: [{ ...home, isHidden: true }, spare] })
        .answers(false)
        .until(2 * min)
        .sees({ visible: [{ ssid: 'Spare', seen: 2 * min }] })
        .answers(false)
        .clear()
        .answers(true)
        .answers(false),
    'offline join spare',
  ],
  [
    'no radio: nothing is joined',
    () => new Play(single, 'given').sees({ hasRadio: false, known: [{ ...home, isHidden: true }] }).until(day),
    'offline',
  ],
  [
    'no credentials, online by WiFi during the scan: its turn counts from then',
    () =>
      new Play(single, 'none')
        .sees({})
        .answers(true)
        .after(10 * min)
        .sees({ known: [home], ...onWifi('home') })
        .after(10 * sec)
        .answers(true)
        .clear()
        .until(20 * min),
    'opening startHotspot',
  ],
];

const forced: Row[] = [
  ['forced while online', () => atHome().gets({ is: 'forced' }), 'opening startHotspot'],
  ['forced while offline', () => new Play(single, 'given').sees({}).gets({ is: 'forced' }), 'opening startHotspot'],
  [
    'forced: a cable changes nothing',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .clear()
        .sees(wired)
        .until(10 * min - 1),
    'hotspot',
  ],
  [
    'forced: the end without a user',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .clear()
        .sees({ wifi: null, ...wired })
        .until(10 * min),
    'online stopHotspot',
  ],
  [
    'forced: the known network is taken again',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .sees({ wifi: null, ...unplugged })
        .clear()
        .until(10 * min)
        .sees({ ...visible(10 * min, home) })
        .answers(true),
    'joining stopHotspot scan join home',
  ],
  [
    'forced, a user at 8 min: a moment before the end',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .clear()
        .sees(wired)
        .until(8 * min)
        .gets({ is: 'active' })
        .until(18 * min - 1),
    'hotspot',
  ],
  [
    'forced, a user at 8 min: the end',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .clear()
        .sees(wired)
        .until(8 * min)
        .gets({ is: 'active' })
        .until(18 * min),
    'online stopHotspot',
  ],
  [
    'forced: a submission ends it',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .submits('spare')
        .after(3 * sec)
        .clear()
        .answers(true),
    'online',
  ],
  [
    'forced without a radio: nothing',
    () =>
      atHome()
        .sees({ hasRadio: false })
        .gets({ is: 'forced' })
        .until(9 * min),
    'online',
  ],
  [
    'forced, a radio after the end: nothing',
    () =>
      atHome()
        .sees({ hasRadio: false, ...wired })
        .gets({ is: 'forced' })
        .until(10 * min)
        .sees({ hasRadio: true }),
    'online',
  ],
  [
    'forced, a radio a moment before the end',
    () =>
      atHome()
        .sees({ hasRadio: false, ...wired })
        .gets({ is: 'forced' })
        .until(10 * min - 1)
        .sees({ hasRadio: true }),
    'opening startHotspot',
  ],
];

const run = (rows: readonly Row[]) => async (t: TestContext) => {
  for (const [name, play, expected] of rows) await t.test(name, () => assert.equal(String(play()), expected));
};
test('the hotspot opens for an offline or fresh machine, never for a working link', run(opening));
test('forced provisioning opens the hotspot and ends without a user', run(forced));
