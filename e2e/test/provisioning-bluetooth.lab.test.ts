// A device that is provisioned over Bluetooth, by the real BlueZ and two simulated radios. What the radios sent is kept,
// and says nothing of what the owner entered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bluetoothUuids, improvUuids } from '@platform/contract/provisioning/bluetooth';
import { bluetoothPhone } from '../lab/bluetooth-phone.ts';
import { factoryDevice, hotspot, nowMs, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { home } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

const record = '/var/tmp/radio.snoop';
const wrong = 'not-the-password';

test('a device is provisioned over Bluetooth, and a listener learns nothing', { timeout: 2_400_000 }, async () => {
  await using device = await factoryDevice();
  const { site, machine, world } = device;
  const phone = bluetoothPhone(machine);
  await tellingNetwork(machine, async () => {
    const owned = await site.createMachine('gate-bluetooth');
    const setUpCode = await site.setUpText(owned.partId);
    await world.uplink(true);
    await device.reset({ retry_connection_timeout_minutes: 30 });
    // The adapters come one after the other, and the agent would take the phone's if that is the first.
    await machine.must(
      `systemctl stop platform-agent && ble up && ble log ${record} && systemctl start platform-agent`,
      180,
    );

    const { seconds: found } = await timed(() => phone.find(hotspot.ssid, 300));
    await keep('Bluetooth: start of a fresh device, until a phone sees it', 'radios', found);
    assert.equal(await phone.text('manufacturer'), 'Barn Works');
    assert.deepEqual(await phone.status(), { hasCredentials: false, isOnline: false });
    await eventually('the home network is listed', 120, async () =>
      (await phone.networks()).includes(home.ssid) ? true : undefined,
    );
    assert.deepEqual([...(await phone.read(improvUuids.state))], [1], 'Improv: credentials need an authorization');
    await phone.write(improvUuids.command, Uint8Array.of(3, 0, 3));
    assert.match(new TextDecoder().decode(await phone.read(improvUuids.result)), /platform-agent.*0\.1\.0.*testdev/s);

    const memory = await machine.must("grep -h ^RssAnon /proc/$(pgrep -f -- '--bluetooth' | head -1)/status", 60);
    process.stdout.write(`# the process of Bluetooth: ${memory.replaceAll(/\s+/g, ' ')}\n`);

    const { seconds: refused } = await timed(async () => {
      await phone.enter({ wifi: { ssid: home.ssid, psk: wrong } }, hotspot.password);
      await eventually('the reason is on the air', 300, async () =>
        (await phone.errors().catch(() => [])).some((text) => /password/i.test(text)) ? true : undefined,
      );
    });
    await keep('Bluetooth: wrong password, until its reason is read', 'radios', refused);

    const since = nowMs();
    const { seconds: online } = await timed(async () => {
      const entry = { wifi: { ssid: home.ssid, psk: home.security.psk }, credentials: { setUpCode } };
      await phone.enter(entry, hotspot.password);
      await untilOnline(device, owned, since);
    });
    await keep('Bluetooth: right password and a set-up code, until online over TLS', 'radios', online);
    assert.deepEqual(await phone.status(), { hasCredentials: true, isOnline: true });
    await eventually('the device is off the air', 300, async () =>
      (await machine.must('ble scan 8', 120)).includes(bluetoothUuids.service) ? undefined : true,
    );

    await machine.must('ble down', 60);
    const bytes = async (text: string): Promise<number> =>
      Number((await machine.must(`grep -c -a -F -- '${text}' ${record} || true`)).trim());
    assert.ok((await bytes(hotspot.ssid)) > 0, 'the advertisement is in the record');
    for (const hidden of [wrong, home.security.psk, setUpCode.slice(0, 9), hotspot.password])
      assert.equal(await bytes(hidden), 0);
  });
});
