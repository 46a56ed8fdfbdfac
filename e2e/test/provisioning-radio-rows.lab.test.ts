// Rows of network_configuration and rules of the selection of networks, once each over real (simulated) radios. What is
// asserted is seen from outside: by the phone, the access points and the management server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import {
  type FactoryDevice,
  factoryDevice,
  hotspot,
  joinHotspot,
  nowMs,
  provisioned,
  tellingNetwork,
  untilOnline,
  untilPage,
} from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { openPortal, type PortalPage, submit } from '../lab/portal-page.ts';
import {
  associations,
  behind,
  giveOnlyIpv6,
  giveSecondRadio,
  hotspotRadio,
  isStationOf,
  radios,
  recordAssociations,
} from '../lab/radio-rows.ts';
import { type AccessPoint, home, untilResolved, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';
import type { NewMachine } from '../lab/site.ts';
import { initialWorld, worldAfter } from '../lab/walk/world.ts';

const cafe = { ssid: 'Cafe', security: { is: 'wpa2', psk: 'cafepass123' } } as const satisfies AccessPoint;
const otherPassword = { is: 'wpa2', psk: 'otherpass123' } as const;
const saved = {
  home: { name: 'home', type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 },
  cafe: { name: 'cafe', type: 'wifi', ssid: cafe.ssid, psk: cafe.security.psk, priority: 5 },
} as const;

type Row = (device: FactoryDevice, owned: NewMachine) => Promise<{ what: string; seconds: number; note?: string }>;

const rows: [row: string, proof: Row][] = [
  ['disable_captive_portal_redirect with a client', withoutRedirect],
  ['hotspot_interface', secondRadio],
  ['wifi_power_save', powerSave],
  ['rule 3: descending priority', rule3],
  ['rule 4: only after the machine was online', rule4],
  ['captive upstream at a new join', captive],
  ['IPv6 only', onlyIpv6],
  ['password changed at the router', changedPassword],
];

/** PLATFORM_LAB_ROWS: a part of the names of the rows to run. */
const wanted = process.env['PLATFORM_LAB_ROWS'] ?? '';

test('rows of network_configuration over radios', { timeout: 3_500_000 }, async (t) => {
  await using device = await factoryDevice();
  for (const [index, [row, proof]] of rows.entries()) {
    if (!row.includes(wanted)) continue;
    await t.test(row, () =>
      tellingNetwork(device.machine, async () => {
        const owned = await device.site.createMachine(`gate-row-${index}`);
        const { what, seconds, note } = await proof(device, owned);
        await keep(`${row}: ${what}`, 'radios', seconds, note);
      }),
    );
  }
});

/** Only device.setup has an address, and its page provisions. */
async function withoutRedirect(device: FactoryDevice, owned: NewMachine): ReturnType<Row> {
  const { phone } = device;
  await device.reset({ disable_captive_portal_redirect: true, retry_connection_timeout_minutes: 10 });
  await joinHotspot(device);
  await untilResolved(phone, 'device.setup', hotspot.address);
  assert.deepEqual(await phone.lookUp('connectivitycheck.gstatic.com'), []);
  const page = await openPortal(phone, 120, 'http://device.setup/');
  const seconds = await enterHome(device, owned, page);
  return { what: 'a page opened as device.setup, from its form until online', seconds };
}

/** Enters the home network and the credentials on the page. @returns the seconds until the machine is online */
async function enterHome(device: FactoryDevice, owned: NewMachine, page: PortalPage): Promise<number> {
  const since = nowMs();
  const { seconds } = await timed(async () => {
    const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
    assert.equal((await submit(device.phone, page, entered)).status, 303);
    await untilOnline(device, owned, since);
  });
  return seconds;
}

/** Saves networks in the app, and waits until they are on the machine. */
async function save({ site, machine }: FactoryDevice, owned: NewMachine, networks: object[], more: object = {}) {
  await site.configure(owned.partId, {
    advanced_settings: { disable_platform_server: true },
    network_configuration: more,
    additional_networks: networks,
  });
  const names = networks.map((network) => `platform ${(network as { name: string }).name}`);
  await eventually('the networks are saved on the device', 240, async () => {
    const { stdout } = await machine.exec('nmcli -t -f NAME connection', 60);
    return names.every((name) => stdout.includes(name)) ? true : undefined;
  });
}

async function secondRadio(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine } = device;
  const start = systemClock.now();
  await device.reset({ hotspot_interface: 'wlan9', retry_connection_timeout_minutes: 10 });
  await giveSecondRadio(machine);
  assert.equal(await hotspotRadio(machine, 400), radios.second);
  const seconds = (systemClock.now() - start) / 1000;
  await joinHotspot(device);
  await enterHome(device, owned, await openPortal(device.phone));
  assert.ok(await isStationOf(machine, 'home', radios.second), 'the second radio is at the home router');
  assert.ok(!(await isStationOf(machine, 'home', radios.device)), 'the first radio is not');
  return { what: 'start of the agent until the second of two radios sends the hotspot', seconds };
}

async function powerSave(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine, world } = device;
  await provisioned(device, owned, { by: 'cable' });
  const until = (state: 'on' | 'off') =>
    timed(() =>
      eventually(`power save is ${state}`, 300, async () =>
        (await machine.exec('iw dev wlan0 get power_save', 60)).stdout.includes(`Power save: ${state}`) &&
        (await isStationOf(machine, 'home', radios.device))
          ? true
          : undefined,
      ),
    );
  await save(device, owned, [saved.home], { wifi_power_save: true });
  await world.cable(false);
  await until('on');
  await save(device, owned, [saved.home], { wifi_power_save: false });
  const { seconds } = await until('off');
  await save(device, owned, [saved.home], { wifi_power_save: true });
  await until('on');
  await untilOnline(device, owned, nowMs());
  return { what: 'saved false until the radio has power save off', seconds };
}

/** Rule 3: each configured network once, in descending priority, then the hotspot again. */
async function rule3(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine, world, phone } = device;
  await provisioned(device, owned, { by: 'cable' });
  await save(device, owned, [saved.cafe, saved.home]);
  await world.accessPoint('router', { ...home, security: otherPassword });
  await world.accessPoint('cafe', { ...cafe, security: otherPassword });
  await recordAssociations(machine);
  await world.cable(false);
  const { seconds } = await timed(() =>
    eventually('two rounds', 900, async () => ((await associations(machine)).length >= 4 ? true : undefined)),
  );
  assert.deepEqual((await associations(machine)).slice(0, 4), ['home', 'cafe', 'home', 'cafe']);
  await untilSeen(phone, hotspot.ssid, 300);
  return { what: 'cable out until the end of two rounds over two networks with wrong passwords', seconds };
}

/** Rule 4: what is saved while the machine is offline takes effect after it was online. */
async function rule4(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine, world, phone } = device;
  await provisioned(device, owned, { by: 'cable' });
  await save(device, owned, [saved.home]);
  await world.silence('router');
  await world.accessPoint('cafe', cafe);
  await world.uplink(true);
  await recordAssociations(machine);
  await world.cable(false);
  await untilSeen(phone, hotspot.ssid, 500);
  await device.site.configure(owned.partId, {
    advanced_settings: { disable_platform_server: true },
    additional_networks: [saved.home, saved.cafe],
  });
  // Two rounds of provisioning pass, and the new network is in reach.
  await untilSeen(phone, hotspot.ssid, 300, false);
  await untilSeen(phone, hotspot.ssid, 300);
  await untilSeen(phone, hotspot.ssid, 300, false);
  await untilSeen(phone, hotspot.ssid, 300);
  assert.deepEqual(await associations(machine), []);
  await world.cable(true);
  await save(device, owned, [saved.home, saved.cafe]);
  await world.cable(false);
  // A contact soon after the cable is out proves nothing: the server still holds a check.
  const { seconds } = await timed(async () => {
    await eventually('the machine is at the network that came over the cable', 600, async () =>
      (await isStationOf(machine, 'cafe', radios.device)) ? true : undefined,
    );
    await untilOnline(device, owned, nowMs(), 200);
  });
  return { what: 'cable out until online by the network that came over the cable', seconds };
}

async function captive(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine, phone } = device;
  await device.reset({ turn_on_hotspot_if_wifi_has_no_internet: true, retry_connection_timeout_minutes: 10 });
  const works = initialWorld('roaming');
  await behind(machine, worldAfter(works, { do: 'upstream', place: 'home', upstream: 'captive' }));
  await joinHotspot(device);
  const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
  assert.equal((await submit(phone, await openPortal(phone), entered)).status, 303);
  const reason = /A sign-in page blocks HomeNet/;
  const { seconds, value: page } = await timed(() => untilPage(device, reason, 400));
  await behind(machine, works);
  const since = nowMs();
  await submit(phone, page, { ssid: home.ssid, password: home.security.psk });
  await untilOnline(device, owned, since, 400);
  const note = `the page says "${reason.exec(page.text)?.[0] ?? ''}"; without the sign-in page it is online`;
  return { what: 'submitted until the page says why', seconds, note };
}

async function onlyIpv6(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { machine, phone } = device;
  await device.reset({ retry_connection_timeout_minutes: 10 });
  await joinHotspot(device);
  await giveOnlyIpv6(machine);
  const seconds = await enterHome(device, owned, await openPortal(phone));
  assert.doesNotMatch(await machine.must('ip -4 -br addr show wlan0'), /192\.168\.50\./);
  assert.match(await machine.must('ip -6 -br addr show wlan0'), /fd00:50:/);
  return { what: 'submitted until online by a server with an IPv6 address', seconds };
}

async function changedPassword(...[device, owned]: Parameters<Row>): ReturnType<Row> {
  const { phone, site, world } = device;
  await provisioned(device, owned, { by: 'hotspot' });
  // The hotspot must stay long enough for an emulated phone. The first retry learns why the network cannot be joined.
  await site.configure(owned.partId, {
    advanced_settings: { disable_platform_server: true },
    network_configuration: {
      offline_before_starting_hotspot_minutes: 1,
      retry_connection_timeout_minutes: 3,
      user_idle_minutes: 1,
    },
  });
  await site.until(
    owned.partId,
    'the minutes are applied',
    240,
    ({ report, wantedRevision }) => wantedRevision > 0 && report?.appliedRevision === wantedRevision,
  );
  await world.accessPoint('router', { ...home, security: otherPassword });
  const { seconds } = await timed(() => untilSeen(phone, hotspot.ssid, 500));
  const page = await untilPage(device, /Wrong password for HomeNet/, 700);
  const since = nowMs();
  await submit(phone, page, { ssid: home.ssid, password: otherPassword.psk });
  await untilOnline(device, owned, since, 400);
  await untilSeen(phone, hotspot.ssid, 200, false);
  return { what: 'until the hotspot is seen; the page gives the reason, the new password is entered', seconds };
}
