// A device whose clock is wrong is provisioned by its hotspot, and finds back, over TLS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import {
  type FactoryDevice,
  factoryDevice,
  hotspot,
  joinHotspot,
  nowMs,
  tellingNetwork,
  untilOnline,
} from '../lab/factory-device.ts';
import { openPortal, submit } from '../lab/portal-page.ts';
import { home, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';
import type { NewMachine } from '../lab/site.ts';

const dayMs = 86_400_000;

/** From the submitted page until online. */
async function submitted(device: FactoryDevice, owned: NewMachine): Promise<number> {
  const page = await openPortal(device.phone);
  const since = nowMs();
  const { seconds } = await timed(async () => {
    const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
    assert.equal((await submit(device.phone, page, entered)).status, 303);
    await untilOnline(device, owned, since, 500);
  });
  return seconds;
}

const isReported = (device: FactoryDevice, { partId }: NewMachine) =>
  device.site.until(
    partId,
    'the app says that the clock is wrong',
    200,
    ({ report }) => report?.conditions.some(({ code }) => code === 'CLOCK_WRONG') === true,
  );

test('a device without the correct time', { timeout: 2_400_000 }, async (t) => {
  // A validity like a public authority's: a clock that is years off rejects it.
  const now = systemClock.wall();
  await using device = await factoryDevice({ validity: { from: now - 2 * dayMs, to: now + 90 * dayMs } });
  const { site, machine, world, phone } = device;

  await t.test('boots with the oldest clock, and is provisioned', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-oldest');
      await machine.kill();
      await machine.up('1970-01-02T00:00:00');
      await joinHotspot(device, 400);
      // systemd lifts a clock to the day of its own build.
      const shown = Number(await machine.must('date +%s')) * 1_000;
      assert.ok(shown < now - 30 * dayMs, new Date(shown).toISOString());
      const seconds = await submitted(device, owned);
      await isReported(device, owned);
      await keep(
        'boot with a clock in 1970: page to online over TLS',
        'radios',
        seconds,
        `the system says ${new Date(shown).toISOString().slice(0, 10)}`,
      );
    }),
  );

  await t.test('its clock is set back while its hotspot runs, and later while it is online', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-set-back');
      await device.atHotspot();
      await machine.clock(String(Date.UTC(2001, 0, 1) / 1000));
      const seconds = await submitted(device, owned);
      await keep('clock set to 2001 in hotspot mode: page to online over TLS', 'radios', seconds);
      await machine.clock(String(Date.UTC(2000, 0, 1) / 1000));
      await world.silence('router');
      await untilSeen(phone, hotspot.ssid, 500);
      await world.accessPoint('router', home);
      const since = nowMs();
      const back = await timed(() => untilOnline(device, owned, since, 500));
      await isReported(device, owned);
      assert.equal(await machine.must('date -u +%Y'), '2000');
      await keep('clock set to 2000 while online, router off and on, until online', 'radios', back.seconds);
    }),
  );
});
