// The internet behind a network dies after the agent has joined it, once for each kind of failure and both values of
// turn_on_hotspot_if_wifi_has_no_internet. What is asserted is seen from outside: by the access points, the phone and the
// management server; the status of the agent says when it knows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import {
  type FactoryDevice,
  factoryDevice,
  hotspot,
  nowMs,
  provisioned,
  tellingNetwork,
  untilOnline,
  untilPage,
} from '../lab/factory-device.ts';
import { statusOf } from '../lab/installed.ts';
import { eventually } from '../lab/machine.ts';
import { openPortal, submit } from '../lab/portal-page.ts';
import { behind, isStationOf, radios } from '../lab/radio-rows.ts';
import { type AccessPoint, home, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';
import type { NewMachine } from '../lab/site.ts';
import { giveAuthority, loseConnections, takeServerAway } from '../lab/upstream.ts';
import { initialWorld, type Mode, type Place, type Upstream, worldAfter } from '../lab/walk/world.ts';

const cafe = { ssid: 'Cafe', security: { is: 'wpa2', psk: 'cafepass123' } } as const satisfies AccessPoint;
const saved = [
  { name: 'home', type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 },
  { name: 'cafe', type: 'wifi', ssid: cafe.ssid, psk: cafe.security.psk, priority: 5 },
];

type Fault = Extract<Upstream, 'blackhole' | 'no-dns' | 'captive'>;
const faults: Record<Fault, { words: string; found: 'limited' | 'portal' }> = {
  blackhole: { words: 'packets swallowed', found: 'limited' },
  captive: { words: 'captive redirect', found: 'portal' },
  'no-dns': { words: 'DNS dead', found: 'limited' },
};

/** Longer than the minute of offline_before_starting_hotspot_minutes, the second check and the start of a hotspot. */
const staysSeconds = 180;
/** A held request ends within 70 s, the checks follow; all of it emulated. */
const noticedSeconds = 400;

interface Joined {
  device: FactoryDevice;
  owned: NewMachine;
}

/** A step of a row takes this long; `note`: what was seen. */
interface Figure {
  what: string;
  seconds: number;
  note?: string;
}

/** Needs a machine that the agent has joined to the home network; the second network is in reach and works. */
type Row = (joined: Joined) => Promise<Figure[]>;

const kinds = Object.keys(faults) as Fault[];
const rows: Record<Mode, [row: string, proof: Row][]> = {
  roaming: [
    ['packets swallowed, and back', diesAndReturns],
    ['server away', stays('server')],
    ...kinds.map((fault): [string, Row] => [`${faults[fault].words} everywhere`, becomesHotspot(fault)]),
    ['captive redirect', leaves('captive')],
    ['DNS dead', leaves('no-dns')],
  ],
  single: [
    ...kinds.map((fault): [string, Row] => [faults[fault].words, stays(fault)]),
    ['server away', stays('server')],
  ],
};

/** PLATFORM_LAB_ROWS: a part of the names of the rows to run. */
const wanted = process.env['PLATFORM_LAB_ROWS'] ?? '';

test('the internet dies after a good join', { timeout: 5_400_000 }, async (t) => {
  await using device = await factoryDevice();
  for (const mode of ['roaming', 'single'] as const) {
    const chosen = rows[mode].filter(([row]) => `${mode}: ${row}`.includes(wanted));
    if (chosen.length === 0) continue;
    await t.test(mode, async (inMode) => {
      const joined = await tellingNetwork(device.machine, () => joinedHome(device, mode));
      for (const [row, proof] of chosen)
        await inMode.test(row, () => tellingNetwork(device.machine, () => proven(joined, `${mode}: ${row}`, proof)));
    });
  }
  if ('DHCP is silent'.includes(wanted))
    await t.test('DHCP is silent: the page says that there is no address', () =>
      tellingNetwork(device.machine, () => silentDhcp(device)),
    );
});

/** The agent joins the home network by itself and is online; this moment is saved. */
async function joinedHome(device: FactoryDevice, mode: Mode): Promise<Joined> {
  const { site, machine, world } = device;
  const owned = await site.createMachine(`gate-${mode}`);
  await provisioned(device, owned, { by: 'cable' });
  await world.accessPoint('cafe', cafe);
  await world.uplink(true);
  const { wantedRevision: before } = await site.machine(owned.partId);
  await site.configure(owned.partId, {
    advanced_settings: { disable_platform_server: true },
    network_configuration: { turn_on_hotspot_if_wifi_has_no_internet: mode === 'roaming' },
    additional_networks: saved,
  });
  await site.until(
    owned.partId,
    'the networks are applied',
    240,
    ({ report, wantedRevision }) => wantedRevision > before && report?.appliedRevision === wantedRevision,
  );
  await world.cable(false);
  await untilOnlineBy({ device, owned }, 'home', 500);
  await machine.save('joined');
  return { device, owned };
}

async function proven(joined: Joined, name: string, proof: Row): Promise<void> {
  const { device } = joined;
  await device.machine.load('joined');
  await untilOnlineBy(joined, 'home', 300);
  for (const { what, seconds, note } of await proof(joined)) await keep(`${name}: ${what}`, 'radios', seconds, note);
}

/** By a contact from now on, over this access point. */
async function untilOnlineBy({ device, owned }: Joined, place: Place, seconds: number): Promise<void> {
  await eventually(`the device is at ${place}`, seconds, async () =>
    (await isStationOf(device.machine, place, radios.device)) ? true : undefined,
  );
  await untilOnline(device, owned, nowMs(), seconds);
}

async function breakUpstream({ machine }: FactoryDevice, fault: Fault, ...where: Place[]): Promise<void> {
  const broken = where.reduce(
    (world, place) => worldAfter(world, { do: 'upstream', place, upstream: fault }),
    initialWorld('roaming'),
  );
  await behind(machine, broken);
  // Over a connection of before, the server is reached without DNS.
  if (fault === 'no-dns') await loseConnections(machine);
}

const leavesHome = ({ device, owned }: Joined, fault: Fault): Promise<Figure> =>
  timed(async () => {
    await breakUpstream(device, fault, 'home');
    await untilOnlineBy({ device, owned }, 'cafe', 600);
    assert.ok(!(await device.phone.sees()).includes(hotspot.ssid), 'no hotspot beside a network that works');
  }).then(({ seconds }) => ({ what: 'until online by the other network', seconds }));

function leaves(fault: Fault): Row {
  return async (joined) => [await leavesHome(joined, fault)];
}

/** The machine goes back to the network of higher priority when that one works again. */
async function diesAndReturns(joined: Joined): Promise<Figure[]> {
  const { machine } = joined.device;
  const left = await leavesHome(joined, 'blackhole');
  await behind(machine, initialWorld('roaming'));
  const { seconds } = await timed(() => untilOnlineBy(joined, 'home', 900));
  return [left, { what: 'works again, until online by the first network', seconds }];
}

function becomesHotspot(fault: Fault): Row {
  return async (joined) => {
    const { device } = joined;
    const { seconds } = await timed(async () => {
      await breakUpstream(device, fault, 'home', 'cafe');
      await untilSeen(device.phone, hotspot.ssid, 700);
    });
    assert.ok(seconds >= 60, `${seconds} s: offline_before_starting_hotspot_minutes has not passed`);
    await behind(device.machine, initialWorld('roaming'));
    const back = await timed(() => untilOnlineBy(joined, 'home', 900));
    return [
      { what: 'until the hotspot is seen', seconds },
      { what: 'works again, until online', seconds: back.seconds },
    ];
  };
}

/** What the agent itself says of the internet and of the management server. */
async function known({ machine }: FactoryDevice): Promise<{ connectivity: string; isReached: boolean }> {
  const { network } = (await statusOf(machine)) as { network?: { connectivity: string; is_cloud_reached: boolean } };
  return { connectivity: network?.connectivity ?? '', isReached: network?.is_cloud_reached ?? false };
}

/** Neither another network nor a hotspot takes the place of the link; the status says what is missing. */
function stays(gone: Fault | 'server'): Row {
  return async (joined) => {
    const { device } = joined;
    const { machine, phone } = device;
    const found = gone === 'server' ? 'full' : faults[gone].found;
    if (gone === 'server') {
      await giveAuthority(machine);
      await takeServerAway(machine, true);
    } else {
      await breakUpstream(device, gone, 'home');
    }
    const { seconds } = await timed(() =>
      eventually(
        `the status says that the server is away, and that the internet is ${found}`,
        noticedSeconds,
        async () => {
          const { connectivity, isReached } = await known(device);
          return !isReached && connectivity === found ? true : undefined;
        },
      ),
    );
    for (
      const end = systemClock.now() + staysSeconds * 1_000;
      systemClock.now() < end;
      await systemClock.sleep(5_000)
    ) {
      assert.ok(await isStationOf(machine, 'home', radios.device), 'the link stays');
      assert.ok(!(await phone.sees()).includes(hotspot.ssid), 'no hotspot');
    }
    assert.deepEqual(await known(device), { connectivity: found, isReached: false });
    if (gone === 'server') await takeServerAway(machine, false);
    else await behind(machine, initialWorld('single'));
    const back = await timed(() => untilOnlineBy(joined, 'home', 400));
    return [
      { what: `until the status says it; the link stays for ${staysSeconds} s more`, seconds },
      { what: 'works again, until online', seconds: back.seconds },
    ];
  };
}

async function silentDhcp(device: FactoryDevice): Promise<void> {
  const { site, machine, phone } = device;
  const owned = await site.createMachine('gate-dhcp');
  await device.atHotspot();
  const works = initialWorld('single');
  await behind(machine, worldAfter(works, { do: 'dhcp', place: 'home', answers: false }));
  const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
  assert.equal((await submit(phone, await openPortal(phone), entered)).status, 303);
  const { seconds, value: page } = await timed(() => untilPage(device, /No address from HomeNet/, 400));
  await keep('DHCP is silent: submitted until the page says that there is no address', 'radios', seconds);
  await behind(machine, works);
  const since = nowMs();
  await submit(phone, page, { ssid: home.ssid, password: home.security.psk });
  await untilOnline(device, owned, since, 400);
}
