import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { home, inHotspot, limits, min, Play, single, unplugged, visible, wired, atHome, onWifi } from './play.ts';
import type { Settings } from '../../src/state-machines/provisioning-state.ts';

type Row = [name: string, play: () => Play, expected: string];
const rebooting: Settings = { ...single, limits: { ...limits, rebootAfterOffline: 60 * min } };
const wasOnline = { hasBeenOnline: true, reboots: 0 };
const day = 24 * 60 * min;

const changedHotspot = (play: Play): Play =>
  play.gets({ is: 'settings', settings: { ...play.state.memory.settings, hotspot: 'b' } });

const changes: Row[] = [
  [
    'disabled in the hotspot',
    () => inHotspot(single, 'given').gets({ is: 'settings', settings: { ...single, isManaged: false } }),
    'unmanaged stopHotspot',
  ],
  [
    'disabled in a join: the join ends first',
    () =>
      new Play(single, 'given')
        .sees(visible(0, home))
        .clear()
        .gets({ is: 'settings', settings: { ...single, isManaged: false } }),
    'joining',
  ],
  [
    'disabled in a join: after its answer',
    () =>
      new Play(single, 'given')
        .sees(visible(0, home))
        .clear()
        .gets({ is: 'settings', settings: { ...single, isManaged: false } })
        .answers(false),
    'unmanaged',
  ],
  [
    'disabled from the start: nothing',
    () =>
      new Play({ ...rebooting, isManaged: false }, 'none', wasOnline)
        .sees({})
        .gets({ is: 'forced' })
        .submits('home')
        .until(day),
    'unmanaged',
  ],
  [
    'enabled again',
    () =>
      new Play({ ...single, isManaged: false }, 'none').sees({}).until(day).gets({ is: 'settings', settings: single }),
    'opening startHotspot',
  ],
  [
    'hotspot settings changed, and no phone is connected',
    () => changedHotspot(inHotspot(single, 'given')).gets({ is: 'clients', hasClient: false }),
    'opening stopHotspot startHotspot',
  ],
  [
    'hotspot settings changed, and it is not known whether a phone is connected',
    () => changedHotspot(inHotspot(single, 'given')),
    'hotspot',
  ],
  [
    'hotspot settings changed, a phone is connected, online by a cable without credentials: a moment before the limit',
    () =>
      changedHotspot(inHotspot(single, 'none').sees(wired))
        .gets({ is: 'clients', hasClient: true })
        .after(10 * min - 1),
    'hotspot',
  ],
  [
    'hotspot settings changed, a phone stays connected, unused: the limit',
    () =>
      changedHotspot(inHotspot(single, 'none').sees(wired))
        .gets({ is: 'clients', hasClient: true })
        .after(10 * min),
    'opening stopHotspot startHotspot',
  ],
  [
    'hotspot settings changed in a forced hotspot, and no phone is connected',
    () => changedHotspot(inHotspot(single, 'given').gets({ is: 'forced' })).gets({ is: 'clients', hasClient: false }),
    'opening stopHotspot startHotspot',
  ],
  [
    'hotspot settings changed in a forced hotspot, a phone is connected',
    () => changedHotspot(inHotspot(single, 'given').gets({ is: 'forced' })).gets({ is: 'clients', hasClient: true }),
    'hotspot',
  ],
  [
    'hotspot settings changed while it starts: it starts again',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'channelForbidden' })
        .clear()
        .gets({ is: 'settings', settings: { ...single, hotspot: 'b' } })
        .startedWith('a')
        .gets({ is: 'clients', hasClient: false }),
    'opening stopHotspot startHotspot',
  ],
  [
    'hotspot settings changed, the user is active: later',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .gets({ is: 'settings', settings: { ...single, hotspot: 'b' } })
        .after(5 * min - 1),
    'hotspot',
  ],
  [
    'hotspot settings changed, the user becomes idle',
    () =>
      inHotspot(single, 'given')
        .gets({ is: 'active' })
        .gets({ is: 'settings', settings: { ...single, hotspot: 'b' } })
        .gets({ is: 'clients', hasClient: false })
        .after(5 * min),
    'opening stopHotspot startHotspot',
  ],

  [
    'disabled and enabled again: no longer forced',
    () =>
      atHome()
        .gets({ is: 'forced' })
        .answers(true)
        .sees(onWifi('home'))
        .gets({ is: 'settings', settings: { ...single, isManaged: false } })
        .gets({ is: 'settings', settings: single })
        .clear(),
    'online',
  ],
];

const noRadio = { hasRadio: false };
const longHotspot = (): Play =>
  inHotspot({ ...rebooting, limits: { ...rebooting.limits, retryConnection: 1000 * min } }, 'given');
const offlineFrom = (given: Settings, reboots: number): Play =>
  new Play(given, 'given', { hasBeenOnline: true, reboots }).sees(noRadio);
const reboots: Row[] = [
  ['offline: a moment before', () => offlineFrom(rebooting, 0).until(60 * min - 1), 'offline'],
  ['offline: the limit', () => offlineFrom(rebooting, 0).until(60 * min), 'rebooting reboot'],
  ['after one reboot: a moment before twice the time', () => offlineFrom(rebooting, 1).until(120 * min - 1), 'offline'],
  ['after one reboot: twice the time', () => offlineFrom(rebooting, 1).until(120 * min), 'rebooting reboot'],
  ['after many: a moment before a day', () => offlineFrom(rebooting, 30).until(day - 1), 'offline'],
  ['after many: a day', () => offlineFrom(rebooting, 30).until(day), 'rebooting reboot'],
  ['0: never', () => offlineFrom(single, 0).until(100 * day), 'offline'],
  ['never online by network: never', () => new Play(rebooting, 'given').sees(noRadio).until(100 * day), 'offline'],
  [
    'never online by credentials: never',
    () => new Play(rebooting, 'none', wasOnline).sees(noRadio).until(100 * day),
    'offline',
  ],
  [
    'online without credentials does not count',
    () =>
      new Play(rebooting, 'none')
        .sees({ ...noRadio, ...wired })
        .sees(unplugged)
        .gets({ is: 'credentials', credentials: 'given' })
        .until(100 * day),
    'offline',
  ],
  [
    'online with credentials counts',
    () =>
      new Play(rebooting, 'given')
        .sees({ ...noRadio, ...wired })
        .clear()
        .sees(unplugged)
        .until(60 * min),
    'rebooting reboot',
  ],
  ['in the hotspot: a moment before', () => longHotspot().until(60 * min - 1), 'hotspot'],
  ['in the hotspot: the limit', () => longHotspot().until(60 * min), 'rebooting stopHotspot reboot'],
  [
    'in the hotspot, the user is active: a moment before idle',
    () =>
      longHotspot()
        .until(59 * min)
        .gets({ is: 'active' })
        .until(64 * min - 1),
    'hotspot',
  ],
  [
    'in the hotspot, the user becomes idle',
    () =>
      longHotspot()
        .until(59 * min)
        .gets({ is: 'active' })
        .until(64 * min),
    'rebooting stopHotspot reboot',
  ],
  [
    'it did not happen: a moment before',
    () =>
      offlineFrom(rebooting, 0)
        .until(65 * min - 1)
        .clear(),
    'rebooting',
  ],
  [
    'it did not happen: offline again, twice the time',
    () =>
      offlineFrom(rebooting, 0)
        .until(65 * min)
        .clear()
        .until(120 * min - 1),
    'offline',
  ],
  [
    'it could not be started',
    () =>
      offlineFrom(rebooting, 0)
        .until(60 * min)
        .clear()
        .gets({ is: 'notRebooted' }),
    'offline',
  ],
  [
    'online for 30 minutes: a moment before, the spacing stays',
    () =>
      offlineFrom(rebooting, 3)
        .sees(wired)
        .clear()
        .until(30 * min - 1),
    'online',
  ],
  [
    'online for 30 minutes: the spacing starts again',
    () =>
      offlineFrom(rebooting, 3)
        .sees(wired)
        .clear()
        .until(30 * min),
    'online keepRecord',
  ],

  [
    'offline, a user is active: a moment before idle',
    () =>
      offlineFrom(rebooting, 0)
        .until(59 * min)
        .gets({ is: 'active' })
        .until(64 * min - 1),
    'offline',
  ],
  [
    'offline, the user becomes idle',
    () =>
      offlineFrom(rebooting, 0)
        .until(59 * min)
        .gets({ is: 'active' })
        .until(64 * min),
    'rebooting reboot',
  ],
];

const run = (rows: readonly Row[]) => async (t: TestContext) => {
  for (const [name, play, expected] of rows) await t.test(name, () => assert.equal(String(play()), expected));
};
test('changed settings', run(changes));
test('a machine that stays offline is rebooted with growing spacing', run(reboots));
