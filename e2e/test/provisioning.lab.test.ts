// A device without credentials gets its network and its credentials from its owner, over real (simulated) radios: the
// compiled agent under systemd with NetworkManager, a home router and a phone. PLATFORM_LAB_RADIO_CUTS: how many of the
// three power cuts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
import { openPortal, submit } from '../lab/portal-page.ts';
import { home, untilResolved, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

const wrongPassword = 'wrongpass99';
const cutCount = Number(process.env['PLATFORM_LAB_RADIO_CUTS'] ?? 3);

test('a device is provisioned by its hotspot, and survives mistakes', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, phone } = device;
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);

  await t.test('boot, hotspot, portal, a wrong password, the right one: online, and the hotspot is gone', () =>
    telling(async () => {
      const owned = await site.createMachine('gate-1');
      await machine.kill();
      const boot = await timed(async () => {
        await machine.up();
        await untilSeen(phone, hotspot.ssid, 400);
      });
      await keep('boot of a fresh device, until its hotspot is seen', 'radios', boot.seconds);
      await joinHotspot(device);
      await device.saveAtHotspot();
      await untilResolved(phone, 'any.name.example', hotspot.address);
      const page = await openPortal(phone);
      assert.match(page.text, /Barn Works/);
      assert.match(page.text, /HomeNet/);
      const answer = await submit(phone, page, {
        ssid: home.ssid,
        password: wrongPassword,
        platformconfig: owned.credentialsJson,
      });
      assert.equal(answer.status, 303);
      const refused = await timed(() => untilPage(device, /Wrong password for HomeNet/, 300));
      const again = refused.value;
      await keep('wrong password, until the phone is back on the hotspot with the reason', 'radios', refused.seconds);

      const since = nowMs();
      const right = await timed(async () => {
        await submit(phone, again, { ssid: home.ssid, password: home.security.psk });
        await untilOnline(device, owned, since);
      });
      await keep('right password, until online over TLS', 'radios', right.seconds);
      await untilSeen(phone, hotspot.ssid, 120, false);
      assert.match(await machine.must('nmcli -t -f ACTIVE,SSID dev wifi'), /^yes:HomeNet$/m);
    }),
  );

  await t.test('a change of networks that cuts the device off is rolled back', () =>
    telling(async () => {
      const owned = await site.createMachine('gate-2');
      const network = { type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 };
      const configured = (more: object) =>
        site.configure(owned.partId, {
          advanced_settings: { disable_platform_server: true },
          additional_networks: [{ ...network, ...more }],
        });
      await configured({});
      await provisioned(device, owned, { by: 'cable' });
      await eventually('the network is saved on the device', 180, async () =>
        (await machine.exec('nmcli -t -f NAME connection | grep -q HomeNet')).code === 0 ? true : undefined,
      );
      await device.world.cable(false);
      const unplugged = nowMs();
      await untilOnline(device, owned, unplugged + 5_000, 400);
      await configured({ ipv4_address: '10.99.0.2/24', ipv4_gateway: '10.99.0.1' });
      await eventually('the change is applied', 180, async () =>
        (await machine.exec('ip -4 -br addr show wlan0 | grep -q 10.99.0.2')).code === 0 ? true : undefined,
      );
      const { seconds } = await timed(() =>
        site.until(
          owned.partId,
          'the change is rolled back, and reported',
          400,
          ({ report }) => report?.conditions.some(({ code }) => code === 'NETWORK_CHANGE_ROLLED_BACK') === true,
        ),
      );
      assert.match(await machine.must('ip -4 -br addr show wlan0'), /192\.168\.50\./);
      await keep('a change that cuts the link, until it is rolled back and reported', 'radios', seconds);
    }),
  );

  for (const [when, cut] of cuts.slice(0, cutCount)) {
    await t.test(`power cut ${when}: back without a second entry`, () => telling(() => cut(device, when)));
  }
});

type Cut = (device: FactoryDevice, when: string) => Promise<void>;

const cuts: [when: string, cut: Cut][] = [
  ['right after the page confirmed the network and the credentials', (...at) => cutAfterSubmission(0, ...at)],
  ['while the device joins', (...at) => cutAfterSubmission(6, ...at)],
  ['in hotspot mode', cutAtHotspot],
];

async function cutAfterSubmission(afterSeconds: number, ...[device, when]: Parameters<Cut>): Promise<void> {
  const { site, machine, phone } = device;
  const owned = await site.createMachine(`gate-cut-${afterSeconds}`);
  await device.atHotspot();
  const page = await openPortal(phone);
  const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
  assert.equal((await submit(phone, page, entered)).status, 303);
  await machine.cut(afterSeconds);
  const cut = nowMs();
  const { seconds } = await timed(async () => {
    await machine.up();
    await untilOnline(device, owned, cut, 600);
  });
  await keep(`power cut ${when}, until online`, 'radios', seconds);
}

async function cutAtHotspot(device: FactoryDevice, when: string): Promise<void> {
  const { machine, phone } = device;
  await device.atHotspot();
  await openPortal(phone);
  await machine.kill();
  const { seconds } = await timed(async () => {
    await machine.up();
    await joinHotspot(device, 400);
    await openPortal(phone);
  });
  await keep(`power cut ${when}, until the portal is back`, 'radios', seconds);
}
