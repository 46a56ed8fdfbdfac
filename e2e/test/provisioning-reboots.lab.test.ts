// A device that stays offline is rebooted with doubled spacing, which outlives the reboots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isConfigInEffect } from '../src/config-in-effect.ts';
import { factoryDevice, nowMs, provisioned, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';

/** The least that the other minutes of the lab allow. */
const minutes = 2;
const record = '/opt/platform/state/reboots.json';

test('a device that stays offline reboots, after twice the time each', { timeout: 2_400_000 }, async () => {
  await using device = await factoryDevice();
  const { site, machine, world } = device;
  await tellingNetwork(machine, async () => {
    const owned = await site.createMachine('gate-reboots');
    await provisioned(device, owned, { by: 'hotspot' });
    const { wantedRevision: before } = await site.machine(owned.partId);
    await site.configure(owned.partId, {
      advanced_settings: { disable_platform_server: true },
      network_configuration: { device_reboot_after_offline_minutes: minutes },
    });
    await site.until(
      owned.partId,
      'the minutes are applied',
      200,
      (now) => now.wantedRevision > before && isConfigInEffect(now),
    );

    const reboot = async (): Promise<number> => {
      const boot = await machine.bootId();
      const { seconds } = await timed(() =>
        eventually('it reboots', 1_200, async () => {
          const now = await machine.bootId().catch(() => boot); // it does not answer while it boots
          return now === boot ? undefined : true;
        }),
      );
      return seconds;
    };
    await world.silence('router');
    await keep('router off, until the first reboot', 'radios', await reboot());
    await machine.must('systemctl start lab-world', 300); // waits: a boot starts the router again
    await world.silence('router');
    const second = await reboot();
    await keep('from the first reboot to the second one', 'radios', second);
    // The clock of the second wait starts with the agent, after the boot.
    assert.ok(second >= 2 * minutes * 60, `${second} s`);

    const since = nowMs();
    const back = await timed(() => untilOnline(device, owned, since, 500)); // the boot has started the router
    await keep('second reboot with the router on, until online', 'radios', back.seconds);
    assert.match(await machine.must(`cat ${record}`), /"reboots":\s*2/);
  });
});
