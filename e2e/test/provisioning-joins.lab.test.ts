// The kinds of networks that a device joins from its hotspot's page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factoryDevice, hotspot, joinHotspot, nowMs, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { openPortal, submit } from '../lab/portal-page.ts';
import { type AccessPoint, untilResolved, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

const networks: [kind: string, network: AccessPoint, password: string][] = [
  ['an open network', { ssid: 'Cafe', security: { is: 'open' } }, ''],
  ['a hidden network', { ssid: 'Attic', security: { is: 'wpa2', psk: 'attic12345' }, isHidden: true }, 'attic12345'],
  ['a network with WPA3 only', { ssid: 'Modern', security: { is: 'wpa3', psk: 'modern12345' } }, 'modern12345'],
];

test('a device joins what its owner enters', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, phone, world } = device;

  // After a minute without a user the hotspot would close, perhaps while the form is posted.
  await tellingNetwork(machine, async () => {
    await device.reset({ retry_connection_timeout_minutes: 10 });
    await joinHotspot(device);
    await device.saveAtHotspot();
  });
  for (const [kind, network, password] of networks) {
    await t.test(kind, () =>
      tellingNetwork(machine, async () => {
        const owned = await site.createMachine(`gate-${network.ssid}`);
        await device.atHotspot();
        await world.accessPoint('cafe', network);
        await world.uplink(true);
        const page = await openPortal(phone);
        const since = nowMs();
        const { seconds } = await timed(async () => {
          const entered = { ssid: network.ssid, password, platformconfig: owned.credentialsJson };
          assert.equal((await submit(phone, page, entered)).status, 303);
          await untilOnline(device, owned, since);
        });
        await keep(`${kind}: from the submitted page until online`, 'radios', seconds);
        await untilSeen(phone, hotspot.ssid, 120, false);
      }),
    );
  }

  await t.test('with disable_captive_portal_redirect only names that end in .setup lead to the device', () =>
    tellingNetwork(machine, async () => {
      await device.reset({ disable_captive_portal_redirect: true });
      const { seconds } = await timed(async () => {
        await joinHotspot(device);
        await untilResolved(phone, 'gate.setup', hotspot.address);
      });
      assert.deepEqual(await phone.lookUp('any.name.example'), []);
      await keep('only names that end in .setup: from the start of the agent until one is resolved', 'radios', seconds);
    }),
  );
});
