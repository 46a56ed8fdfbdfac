// Additional networks over real (simulated) radios: which one a device uses in both modes, and the cable in both.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FactoryDevice,
  factoryDevice,
  nowMs,
  provisioned,
  tellingNetwork,
  untilOnline,
} from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { type AccessPoint, home } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';
import type { NewMachine } from '../lab/site.ts';

const cafe = { ssid: 'Cafe', security: { is: 'wpa2', psk: 'cafepass123' } } as const satisfies AccessPoint;
const cable = { address: '192.168.50.20/24', router: '192.168.50.1' };

const additional_networks = [
  { name: 'home', type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 },
  { name: 'cafe', type: 'wifi', ssid: cafe.ssid, psk: cafe.security.psk, priority: 5 },
  {
    name: 'cable',
    type: 'wired',
    interface: 'eth0',
    ipv4_address: cable.address,
    ipv4_gateway: cable.router,
    ipv4_dns: [cable.router],
  },
];

/** SSID that the device uses; empty: none. */
const usedBy = async ({ machine }: FactoryDevice): Promise<string> =>
  /^yes:(.*)$/m.exec((await machine.exec('nmcli -t -f ACTIVE,SSID dev wifi')).stdout)?.[1] ?? '';

/** What the device did since then, oldest first: the SSID of each join, and `hotspot` for each start of the hotspot. */
async function stepsSince({ machine }: FactoryDevice, since: number): Promise<string[]> {
  const lines = await machine.must(
    `journalctl -u platform-agent -o cat --no-pager --since @${Math.floor(since / 1000)} | grep -aE 'joins a network|to=hotspot' || true`,
  );
  const steps = lines.split('\n').filter((line) => line !== '');
  return steps.map((line) => /joins a network ssid=(\S+)/.exec(line)?.[1] ?? 'hotspot');
}

/** Online by its additional network of the highest priority; the other one is visible. */
async function onHighest(device: FactoryDevice, owned: NewMachine, isRoaming: boolean): Promise<void> {
  await provisioned(device, owned, { by: 'cable' });
  await device.world.accessPoint('cafe', cafe);
  await device.site.configure(owned.partId, {
    advanced_settings: { disable_platform_server: true },
    // More than the minute after which a network that is not seen is tried at once when it returns.
    network_configuration: { turn_on_hotspot_if_wifi_has_no_internet: isRoaming, retry_connection_timeout_minutes: 2 },
    additional_networks,
  });
  await eventually('the networks are saved on the device', 180, async () => {
    const { stdout } = await device.machine.exec('nmcli -t -f NAME connection');
    return additional_networks.every(({ name }) => stdout.includes(`platform ${name}`)) ? true : undefined;
  });
  await device.world.cable(false);
  await untilOnline(device, owned, nowMs() + 5_000, 400);
  assert.equal(await usedBy(device), home.ssid);
}

/** Every WiFi network is gone, and the cable is in: online with its configured address. */
async function onCable(device: FactoryDevice, owned: NewMachine): Promise<number> {
  await device.world.silence('router');
  await device.world.silence('cafe');
  const since = nowMs() + 20_000; // contacts over a network that has just ended do not count
  const { seconds } = await timed(async () => {
    await device.world.cable(true);
    await untilOnline(device, owned, since, 400);
  });
  assert.match(await device.machine.must('ip -4 -br addr show eth0'), /192\.168\.50\.20\/24/);
  return seconds;
}

test('two additional networks and a cable', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, world } = device;

  await t.test('with turn_on_hotspot_if_wifi_has_no_internet the lower one is used when the higher one is gone', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-roams');
      await onHighest(device, owned, true);
      await world.uplink(true);
      await world.silence('router');
      const { seconds } = await timed(async () => {
        await eventually('it uses the lower one', 400, async () =>
          (await usedBy(device)) === cafe.ssid ? true : undefined,
        );
        await untilOnline(device, owned, nowMs(), 400);
      });
      await keep('two networks, the higher one is gone: until online by the lower one', 'radios', seconds);
      await keep(
        'no WiFi, cable in: until online, hotspot for lack of internet',
        'radios',
        await onCable(device, owned),
      );
    }),
  );

  await t.test('without it the lower one is only tried from the hotspot, each network once in a round', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-stays');
      await onHighest(device, owned, false);
      const changed = nowMs();
      // Both are visible and useless: a new password, and no internet.
      await world.accessPoint('router', { ...home, security: { is: 'wpa2', psk: 'otherpass123' } });
      const round = await timed(() =>
        eventually('the lower one was tried, and the hotspot is back', 600, async () =>
          (await stepsSince(device, changed)).join(' ').includes(`hotspot ${cafe.ssid} hotspot`) ? true : undefined,
        ),
      );
      await keep('two networks, both useless: until the hotspot is back after a round', 'radios', round.seconds);
      await world.uplink(true);
      const since = nowMs();
      const back = await timed(() => untilOnline(device, owned, since, 600));
      assert.equal(await usedBy(device), cafe.ssid);
      // The higher one alone in normal mode; from the hotspot the other one, too; then both again, the higher one first.
      // The hotspot may run between these two: each is due two minutes after its own attempt.
      const rounds = `hotspot ${cafe.ssid} hotspot ${home.ssid} (hotspot )?${cafe.ssid}`;
      assert.match((await stepsSince(device, changed)).join(' '), new RegExp(`^(${home.ssid} )*${rounds}$`));
      await keep('the lower one has internet now: until online by it', 'radios', back.seconds);
      await keep('no WiFi, cable in: until online, one network', 'radios', await onCable(device, owned));
    }),
  );
});
