// A device without credentials gets its network and its credentials from its owner, over real (simulated) radios: the
// compiled agent under systemd with NetworkManager, a home router and a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
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
import { home, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

const wrongPassword = 'wrongpass99';

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
      assert.deepEqual(await phone.lookUp('any.name.example'), [hotspot.address]);
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
      await provisioned(device, owned, { by: 'cable' });
      const network = { type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 };
      const configured = (more: object) =>
        site.configure(owned.partId, {
          advanced_settings: { disable_platform_server: true },
          additional_networks: [{ ...network, ...more }],
        });
      await configured({});
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

  const cuts: [when: string, afterSeconds: number][] = [
    ['right after the page confirmed the network and the credentials', 0],
    ['while the device joins', 6],
  ];
  for (const [when, afterSeconds] of cuts) {
    await t.test(`power cut ${when}: online without a second entry`, () =>
      telling(async () => {
        const owned = await site.createMachine(`gate-cut-${afterSeconds}`);
        await device.reset();
        await joinHotspot(device);
        const page = await openPortal(phone);
        const answer = await submit(phone, page, {
          ssid: home.ssid,
          password: home.security.psk,
          platformconfig: owned.credentialsJson,
        });
        assert.equal(answer.status, 303);
        await machine.cut(afterSeconds);
        const cut = nowMs();
        const { seconds } = await timed(async () => {
          await machine.up();
          await untilOnline(device, owned, cut, 600);
        });
        await keep(`power cut ${when}, until online`, 'radios', seconds);
      }),
    );
  }

  await t.test('power cut in hotspot mode: the hotspot comes back', () =>
    telling(async () => {
      await device.reset();
      await joinHotspot(device);
      await openPortal(phone);
      await machine.kill();
      const { seconds } = await timed(async () => {
        await machine.up();
        await joinHotspot(device, 400);
        await openPortal(phone);
      });
      await keep('power cut in hotspot mode, until the portal is back', 'radios', seconds);
    }),
  );
});
