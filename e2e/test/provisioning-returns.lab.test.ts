// A device that was online loses its network, and finds its way back without a user.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import {
  factoryDevice,
  hotspot,
  joinHotspot,
  nowMs,
  provisioned,
  tellingNetwork,
  untilOnline,
} from '../lab/factory-device.ts';
import { openPortal } from '../lab/portal-page.ts';
import { home, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

test('a device finds its way back', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, phone, world } = device;
  const owned = await site.createMachine('gate-back');
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);

  await t.test('the router is off: the hotspot; it is on again: online', () =>
    telling(async () => {
      await provisioned(device, owned, { by: 'hotspot' });
      await world.silence('router');
      const lost = await timed(() => untilSeen(phone, hotspot.ssid, 500));
      await keep('router off, until the hotspot is seen', 'radios', lost.seconds);
      await world.accessPoint('router', home);
      const since = nowMs();
      const back = await timed(() => untilOnline(device, owned, since, 500));
      await keep('router on again, until online', 'radios', back.seconds);
    }),
  );

  await t.test('a cable is plugged in while the hotspot runs: online, and the hotspot is gone', () =>
    telling(async () => {
      await world.silence('router');
      await untilSeen(phone, hotspot.ssid, 500);
      await world.cable(true);
      const since = nowMs();
      const { seconds } = await timed(() => untilOnline(device, owned, since));
      await untilSeen(phone, hotspot.ssid, 200, false);
      await keep('cable in hotspot mode, until online', 'radios', seconds);
      await world.cable(false);
    }),
  );

  await t.test('the known network returns while a user is active: the hotspot stays until the user is idle', () =>
    telling(async () => {
      await joinHotspot(device, 500);
      const page = await openPortal(phone);
      await world.accessPoint('router', home);
      const active = new URL('/active', page.url).href;
      for (const end = systemClock.now() + 90_000; systemClock.now() < end; await systemClock.sleep(10_000)) {
        assert.equal((await phone.post(active, { token: page.hidden['token'] ?? '' })).status, 200);
      }
      const since = nowMs();
      const { seconds } = await timed(() => untilOnline(device, owned, since, 500));
      await keep('the user is idle and the known network is back, until online', 'radios', seconds);
    }),
  );
});
