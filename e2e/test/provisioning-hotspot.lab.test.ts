// The hotspot against a phone that does more than it should: what it reaches, what is answered, and whose settings are
// on the air.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factoryDevice, hotspot, provisioned, tellingNetwork } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { untilJoined, untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

/** The home router, behind the device's cable. */
const router = '192.168.50.1';
const table = 'nft list table inet platform-hotspot';

test('a phone at the hotspot reaches the device only', { timeout: 3_000_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, phone } = device;
  const owned = await site.createMachine('gate-hotspot');
  const configure = (network_configuration: object): Promise<void> =>
    site.configure(owned.partId, {
      advanced_settings: { disable_platform_server: true },
      network_configuration: { retry_connection_timeout_minutes: 30, ...network_configuration },
    });
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);
  const force = (): Promise<string> => machine.must('/opt/platform/bin/platform-agent provision --hotspot --yes', 120);
  const reaches = async (command: string): Promise<boolean> =>
    (await machine.exec(`world phone ${command}`, 60)).code === 0;
  /** A host behind the cable, by HTTP, and its DNS server. */
  const toHost = `curl -s -m 4 -o /dev/null http://${router}:8088/`;
  const toNames = `busybox nslookup -type=a app.platform.test ${router}`;
  const isShown = async (words: RegExp): Promise<boolean> =>
    words.test(await machine.must('platform-agent status', 60));

  await t.test('an enemy tries a host and the DNS server behind the cable', () =>
    telling(async () => {
      await provisioned(device, owned, { by: 'cable' });
      await machine.must(String.raw`cat > /run/there <<'THERE'
#!/bin/sh
sed -E '/^.?$/q' > /dev/null
printf 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'
THERE
chmod +x /run/there
setsid ip netns exec router socat TCP-LISTEN:8088,fork,reuseaddr EXEC:/run/there < /dev/null > /dev/null 2>&1 &`);
      await configure({});
      await force();
      await untilSeen(phone, hotspot.ssid, 400);
      await untilJoined(phone, hotspot.ssid, hotspot.password, 240);
      assert.equal((await machine.exec(`curl -s -m 10 -o /dev/null http://${router}:8088/`, 60)).code, 0, 'the device');
      assert.equal(await reaches('ping -c 1 -W 5 10.42.0.1'), true, 'the phone reaches the device');
      assert.equal(await reaches(toHost), false);
      assert.equal(await reaches(toNames), false);
      assert.match(await machine.must(table), /iifname "wlan0" drop/);
      assert.equal((await machine.must('cat /proc/sys/net/ipv4/conf/wlan0/forwarding')).trim(), '0');
    }),
  );

  await t.test('every type of a name is answered at once, on a machine with another link', () =>
    telling(async () => {
      const looked = 'time -p busybox nslookup -type=aaaa connectivitycheck.gstatic.com 10.42.0.1';
      const { seconds } = await timed(() => machine.exec(`world phone bash -c '${looked}'`, 60));
      await keep('AAAA at the hotspot of a machine with a cable, answered', 'radios', seconds);
      assert.ok(seconds < 15, `${seconds} s; a question that is passed on takes longer than the phone waits`);
      const { stdout } = await machine.exec('world router cat /run/world/dns.log');
      assert.doesNotMatch(stdout, /connectivitycheck/);
      assert.deepEqual(await phone.lookUp('connectivitycheck.gstatic.com'), [hotspot.address]);
    }),
  );

  await t.test('another program flushes all rules: they are put back', () =>
    telling(async () => {
      await machine.must('nft flush ruleset');
      assert.equal(await reaches(toHost), false, 'the setting of the interface holds meanwhile');
      const { seconds } = await timed(() =>
        eventually('the table is back', 120, async () => ((await machine.exec(table)).code === 0 ? true : undefined)),
      );
      await keep('nft flush ruleset, until the rules of the hotspot are back', 'radios', seconds);
      assert.equal(await reaches(toHost), false);
      assert.match(
        await machine.must('journalctl -u platform-agent -o cat --no-pager'),
        /keeps the hotspot from routing was gone/,
      );
    }),
  );

  await t.test('settings wait while a phone is connected, and take effect when it leaves', () =>
    telling(async () => {
      await configure({ hotspot_prefix: 'works', hotspot_password: 'another-password' });
      await eventually('the status says what waits', 240, async () =>
        (await isShown(/earlier SSID,\s+hotspot_password,\s+because\s+a\s+phone\s+is\s+connected/)) ? true : undefined,
      );
      assert.ok(await isShown(new RegExp(hotspot.ssid)), 'the status names what is on the air');
      assert.match(await machine.must('iw dev wlan0 info'), new RegExp(`ssid ${hotspot.ssid}`));
      assert.equal(await reaches('ping -c 1 -W 5 10.42.0.1'), true, 'the phone keeps its network');
      await phone.leave();
      const { seconds } = await timed(() => untilSeen(phone, 'works-testdev', 400));
      await keep('the phone leaves the hotspot, until its new settings are on the air', 'radios', seconds);
      await untilJoined(phone, 'works-testdev', 'another-password', 240);
    }),
  );

  await t.test('an owner asks for sharing: the phone reaches the host', () =>
    telling(async () => {
      await phone.leave();
      await configure({ hotspot_share_internet: true, disable_captive_portal_redirect: true });
      await untilSeen(phone, hotspot.ssid, 400);
      await untilJoined(phone, hotspot.ssid, hotspot.password, 240);
      await eventually('the phone reaches the host', 120, async () => ((await reaches(toHost)) ? true : undefined));
      assert.notEqual((await machine.exec(table)).code, 0);
      await phone.leave();
      await configure({});
      await eventually('it is closed again', 300, async () =>
        (await machine.exec(table)).code === 0 ? true : undefined,
      );
    }),
  );

  await t.test('a killed agent leaves nothing to the next one, and a stopped one nothing at all', () =>
    telling(async () => {
      await untilSeen(phone, hotspot.ssid, 400);
      await machine.must('systemctl kill -s KILL --kill-whom=all platform-agent');
      await eventually('the hotspot is off the air, the cable is in', 300, async () => {
        const { stdout } = await machine.exec('nmcli -t -f NAME connection; nft list tables');
        return /hotspot@|platform-hotspot/.test(stdout) ? undefined : true;
      });
      await force();
      await untilSeen(phone, hotspot.ssid, 400);
      await machine.must('systemctl stop platform-agent', 240);
      const { stdout } = await machine.exec('nmcli -t -f NAME connection; nft list tables');
      assert.doesNotMatch(stdout, /hotspot@|platform-hotspot/);
    }),
  );
});
