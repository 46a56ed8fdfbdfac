import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  atHome,
  home,
  inHotspot,
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
import type { Settings } from '../../src/state-machines/provisioning-state.ts';

type Row = [name: string, play: () => Play, expected: string];
const noInternet = { ok: true, connectivity: 'limited', isCloudReached: false } as const;
const patient: Settings = { ...single, limits: { ...limits, offlineBeforeHotspot: 60 * min } };
const hidden = { ...home, isHidden: true };
const day = 24 * 60 * min;

const entered: Row[] = [
  [
    'submitted: a moment before the answer has reached the phone',
    () =>
      inHotspot(single, 'none')
        .submits('home')
        .after(3 * sec - 1),
    'closing',
  ],
  [
    'submitted: the answer has reached the phone',
    () =>
      inHotspot(single, 'none')
        .submits('home')
        .after(3 * sec),
    'joining stopHotspot join home',
  ],
  [
    'submitted twice: the last one counts',
    () =>
      inHotspot(single, 'none')
        .submits('home')
        .submits('spare')
        .after(3 * sec),
    'joining stopHotspot join spare',
  ],
  [
    'a network, then credentials',
    () =>
      inHotspot(single, 'none')
        .submits('home')
        .submits(null)
        .after(3 * sec),
    'joining stopHotspot join home',
  ],
  [
    'it works',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .after(3 * sec)
        .clear()
        .answers(true),
    'online',
  ],
  [
    'single mode: it works without internet',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .after(3 * sec)
        .clear()
        .answers(true, noInternet)
        .after(day),
    'online',
  ],
  [
    'roaming mode: without internet it does not work, and the hotspot is back',
    () =>
      inHotspot(roaming, 'given')
        .submits('home')
        .after(3 * sec)
        .clear()
        .answers(true, noInternet),
    'opening startHotspot',
  ],
  [
    'a wrong password: back at once',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .after(3 * sec)
        .clear()
        .answers(false),
    'opening startHotspot',
  ],
  [
    'no answer: a moment before',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .after(3 * sec)
        .clear()
        .after(56 * sec - 1),
    'joining',
  ],
  [
    'no answer: back within 60 s of the submission',
    () =>
      inHotspot(single, 'given')
        .submits('home')
        .clear()
        .after(60 * sec - 1),
    'opening stopHotspot join home startHotspot',
  ],
  [
    'a late answer counts for nothing',
    () => {
      const play = inHotspot(single, 'given')
        .submits('home')
        .after(3 * sec);
      const id = play.state.at === 'joining' ? play.state.id : 0;
      play
        .after(56 * sec)
        .answers(true)
        .clear();
      return play.gets({ is: 'joined', id, answer: { ok: true, connectivity: 'full', isCloudReached: true } });
    },
    'hotspot',
  ],
  [
    'credentials only, nothing known: the hotspot stays',
    () =>
      inHotspot(single, 'none')
        .submits(null)
        .after(4 * min),
    'hotspot',
  ],
  [
    'credentials only, a known network: it is looked for',
    () =>
      inHotspot(single, 'none', { known: [home] })
        .submits(null)
        .after(3 * sec),
    'searching stopHotspot scan',
  ],
  [
    'credentials only, online by cable',
    () =>
      inHotspot(single, 'none')
        .sees(wired)
        .submits(null)
        .gets({ is: 'credentials', credentials: 'given' })
        .after(3 * sec),
    'online stopHotspot',
  ],
  [
    'over Bluetooth while offline: at once',
    () => new Play(single, 'given').sees({}).submits('home'),
    'joining join home',
  ],
  ['over Bluetooth while online: at once', () => atHome().submits('spare'), 'joining join spare'],
  ['over Bluetooth, fails: no hotspot for it', () => atHome().submits('spare').clear().answers(false), 'online'],
  [
    'over Bluetooth during a join: after it',
    () => new Play(single, 'given').sees(visible(0, home)).submits('spare').clear().answers(false),
    'joining join spare',
  ],
  [
    'over Bluetooth during a scan',
    () =>
      inHotspot(single, 'given')
        .after(10 * min)
        .submits('home')
        .clear()
        .answers(true),
    'joining join home',
  ],
  [
    'over Bluetooth while the hotspot starts',
    () =>
      new Play(single, 'none')
        .sees({})
        .submits('home')
        .answers(true)
        .clear()
        .after(3 * sec),
    'joining stopHotspot join home',
  ],
  [
    'over Bluetooth while the hotspot fails to start',
    () => new Play(single, 'none').sees({}).submits('home').clear().answers(false),
    'joining join home',
  ],
  [
    'the radio is unplugged before the answer reached the phone',
    () => inHotspot(single, 'none').submits('home').gets({ is: 'hotspotEnded', problem: 'x' }),
    'joining stopHotspot join home',
  ],
  [
    'single mode: the network that was entered leads before its priority is stored',
    () =>
      atHome()
        .submits('spare')
        .answers(true)
        .until(60 * min)
        .clear()
        .sees({ wifi: null, ...unplugged, ...visible(60 * min, home, spare) }),
    'joining join spare',
  ],

  [
    'single mode: it works without internet, before its profile is listed',
    () =>
      inHotspot(single, 'given', { known: [home] })
        .submits('spare')
        .after(3 * sec)
        .clear()
        .answers(true, noInternet),
    'online',
  ],
  [
    'the answer of another join counts for nothing',
    () =>
      new Play(single, 'given')
        .sees(visible(0, home))
        .clear()
        .gets({ is: 'joined', id: 99, answer: { ok: true, connectivity: 'full', isCloudReached: true } }),
    'joining',
  ],
];

const normal: Row[] = [
  [
    'single mode: only the primary network',
    () => new Play(single, 'given').sees(visible(0, spare, home)).answers(false),
    'offline join home',
  ],
  [
    'roaming mode: all, in descending priority',
    () =>
      new Play(roaming, 'given')
        .sees(visible(0, spare, home))
        .answers(false)
        .answers(false),
    'offline join home join spare',
  ],
  ['joined', () => new Play(single, 'given').sees(visible(0, home)).clear().answers(true), 'online keepRecord'],
  [
    'roaming mode: no internet, the next one',
    () =>
      new Play(roaming, 'given')
        .sees(visible(0, spare, home))
        .clear()
        .answers(true, noInternet),
    'joining join spare',
  ],
  [
    'single mode: online without internet',
    () => new Play(single, 'given').sees({ known: [home], ...onWifi('home', 'limited') }).clear(),
    'online',
  ],
  [
    'roaming mode: offline without internet',
    () => new Play(roaming, 'given').sees({ known: [home], ...onWifi('home', 'limited') }),
    'offline',
  ],
  [
    'single mode: no hotspot for a link without internet',
    () => atHome().sees(onWifi('home', 'none')).until(day),
    'online',
  ],
  [
    'roaming mode: the hotspot for a link without internet',
    () =>
      atHome(roaming)
        .sees(onWifi('home', 'limited'))
        .after(2 * min),
    'opening startHotspot',
  ],
  ['roaming mode: captive portal of the network', () => atHome(roaming).sees(onWifi('home', 'portal')), 'offline'],
  [
    'single mode: a cable without internet is not online',
    () => new Play(single, 'given').sees({ hasOtherLink: true, connectivity: 'limited' }),
    'offline',
  ],
  [
    'a cable to the management server only is online',
    () =>
      new Play(roaming, 'given').sees({ hasOtherLink: true, connectivity: 'limited', isCloudReached: true }).clear(),
    'online',
  ],
  [
    'tried: a moment before it is tried again',
    () =>
      new Play(patient, 'given')
        .sees({ known: [hidden] })
        .answers(false)
        .clear()
        .until(10 * min - 1),
    'offline',
  ],
  [
    'tried: it is tried again',
    () =>
      new Play(patient, 'given')
        .sees({ known: [hidden] })
        .answers(false)
        .clear()
        .until(10 * min),
    'joining join home',
  ],
  [
    'a join without an answer has failed',
    () =>
      new Play(patient, 'given')
        .sees({ known: [hidden] })
        .clear()
        .until(56 * sec),
    'offline',
  ],
  [
    'the mode changes to roaming: offline at once',
    () => atHome().sees(onWifi('home', 'limited')).gets({ is: 'settings', settings: roaming }),
    'offline',
  ],
];

const run = (rows: readonly Row[]) => async (t: TestContext) => {
  for (const [name, play, expected] of rows) await t.test(name, () => assert.equal(String(play()), expected));
};
test('what a user enters is tried at once, and a failure leads back to the hotspot', run(entered));
test('normal mode tries the networks of the mode', run(normal));
