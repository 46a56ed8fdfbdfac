// Network management ends over the very WiFi network that it made: the machine stays reachable.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factoryDevice, nowMs, provisioned, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';

const profile = '/etc/NetworkManager/system-connections/*HomeNet*';
const mark = /org\.platform\.mark/;

test('the WiFi network in use survives the end of network management', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine } = device;
  const networkFiles = (): Promise<string> => machine.must('ls -R /etc/NetworkManager');

  await t.test('disable_network_configuration', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-disabled');
      await provisioned(device, owned, { by: 'hotspot' });
      assert.match(await machine.must(`cat ${profile}`), mark);
      assert.match(await networkFiles(), /80-platform\.conf/);
      const advanced_settings = { disable_network_configuration: true, disable_platform_server: true };
      await site.configure(owned.partId, { advanced_settings });
      await eventually('the profile belongs to the system', 200, async () =>
        mark.test(await machine.must(`cat ${profile}`)) ? undefined : true,
      );
      await eventually('its files are gone', 60, async () =>
        /\d-platform/.test(await networkFiles()) ? undefined : true,
      );
      await machine.must('sync');
      await machine.kill();
      const cut = nowMs();
      const { seconds } = await timed(async () => {
        await machine.up();
        await untilOnline(device, owned, cut, 500);
      });
      await keep('cold boot after disable_network_configuration, until online', 'radios', seconds);
      assert.match(await machine.must('platform-agent status'), /left to\s+the\s+system:\s+HomeNet/);
    }),
  );

  await t.test('uninstall', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-uninstalled');
      await provisioned(device, owned, { by: 'hotspot' });
      const own = (await machine.must('ip -4 -o addr show wlan0')).match(/inet ([\d.]+)/)?.[1] ?? '';
      const session = `SSH_CONNECTION="192.0.2.1 40000 ${own} 22"`;
      const refused = await machine.exec(`${session} platform-agent uninstall --networks 2>&1`, 120);
      assert.equal(refused.code, 4);
      assert.match(refused.stdout, /comes over the network HomeNet/);
      const printed = await machine.must('platform-agent uninstall --yes 2>&1', 300);
      assert.match(printed, /Left to the system: the networks HomeNet\./);
      await machine.kill();
      const { seconds } = await timed(async () => {
        await machine.up();
        await eventually('it reaches the server', 400, async () =>
          (await machine.exec(`curl -fsSk -m 10 -o /dev/null ${site.url}/livez`)).code === 0 ? true : undefined,
        );
      });
      await keep('cold boot after uninstall, until the server is reached', 'radios', seconds);
      assert.doesNotMatch(await machine.must(`cat ${profile}`), mark);
      assert.doesNotMatch(await networkFiles(), /\d-platform/);
    }),
  );

  await t.test('uninstall --networks', () =>
    tellingNetwork(machine, async () => {
      const owned = await site.createMachine('gate-without-networks');
      await provisioned(device, owned, { by: 'hotspot' });
      const { seconds, value: printed } = await timed(() =>
        machine.must('platform-agent uninstall --networks --yes 2>&1', 300),
      );
      assert.match(printed, /connected by HomeNet now and loses that link/);
      assert.match(printed, /removed the network HomeNet/);
      assert.doesNotMatch(await machine.must('nmcli -t -f NAME connection'), /HomeNet|hotspot/);
      assert.doesNotMatch(await networkFiles(), /\d-platform/);
      await keep('uninstall --networks over the WiFi in use', 'radios', seconds);
    }),
  );
});
