// What proves a change of networks, over real (simulated) radios: NetworkManager takes links down later than it answers.
// And the ways back: factory networks before the hotspot, credentials that never worked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FactoryDevice,
  factoryDevice,
  hotspot,
  joinHotspot,
  nowMs,
  provisioned,
  pushText,
  tellingNetwork,
  untilOnline,
  untilPage,
} from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { submit } from '../lab/portal-page.ts';
import { type AccessPoint, home } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';
import type { NewMachine } from '../lab/site.ts';

const cafe = { ssid: 'Cafe', security: { is: 'wpa2', psk: 'cafepass123' } } as const satisfies AccessPoint;
const networks = {
  home: { name: 'home', type: 'wifi', ssid: home.ssid, psk: home.security.psk, priority: 10 },
  cafe: { name: 'cafe', type: 'wifi', ssid: cafe.ssid, psk: cafe.security.psk, priority: 5 },
};
const rolledBack = 'NETWORK_CHANGE_ROLLED_BACK';

const configure = ({ site }: FactoryDevice, { partId }: NewMachine, ...additional_networks: object[]) =>
  site.configure(partId, {
    advanced_settings: { disable_platform_server: true },
    network_configuration: { turn_on_hotspot_if_wifi_has_no_internet: true },
    additional_networks,
  });

/** SSID that the device uses; empty: none. */
const usedBy = async ({ machine }: FactoryDevice): Promise<string> =>
  /^yes:(.*)$/m.exec((await machine.exec('nmcli -t -f ACTIVE,SSID dev wifi')).stdout)?.[1] ?? '';

const untilUsed = (device: FactoryDevice, ssid: string, seconds = 400): Promise<true> =>
  eventually(`it uses ${ssid}`, seconds, async () => ((await usedBy(device)) === ssid ? true : undefined));

const untilSaved = ({ machine }: FactoryDevice, name: string, isSaved: boolean, seconds = 300): Promise<true> =>
  eventually(`the network ${name} is ${isSaved ? '' : 'not '}saved`, seconds, async () => {
    const { stdout } = await machine.exec('nmcli -t -f NAME connection');
    return stdout.split('\n').includes(`platform ${name}`) === isSaved ? true : undefined;
  });

const untilCondition = (device: FactoryDevice, { partId }: NewMachine, isThere: boolean, seconds: number) =>
  device.site.until(
    partId,
    `${rolledBack} is ${isThere ? '' : 'not '}reported`,
    seconds,
    ({ report }) => report?.conditions.some(({ code }) => code === rolledBack) === isThere,
  );

/** Online by its only additional network, without a cable. */
async function onHome(device: FactoryDevice, owned: NewMachine): Promise<void> {
  await configure(device, owned, networks.home);
  await provisioned(device, owned, { by: 'cable' });
  await untilSaved(device, 'home', true);
  await device.world.cable(false);
  await untilOnline(device, owned, nowMs() + 5_000, 400);
  await untilUsed(device, home.ssid);
}

/** The factory's networks; the agent starts. */
async function fromFactory(device: FactoryDevice, credentials?: string): Promise<void> {
  const { machine } = device;
  await machine.load('factory');
  const text = await machine.must('cat /etc/platform-defaults.json');
  const defaults = { ...(JSON.parse(text) as object), additional_networks: [networks.home] };
  await pushText(machine, '/etc/platform-defaults.json', JSON.stringify(defaults));
  if (credentials !== undefined) await pushText(machine, '/etc/platform.json', credentials);
  await machine.must('systemctl start --no-block platform-agent', 120);
}

const hotspotStarts = async ({ machine }: FactoryDevice): Promise<string> =>
  machine.must("journalctl -u platform-agent -o cat --no-pager | grep -a 'to=opening' || true");

/** Credentials as `SetSmartMachineCredentials` can carry them: without the authority of the server. */
function withoutAuthority(credentialsJson: string): string {
  const { cloud } = JSON.parse(credentialsJson) as { cloud: Record<string, unknown> };
  const { certificate_authority: _authority, ...rest } = cloud;
  return JSON.stringify({ cloud: rest });
}

test('proofs that the old state cannot give', { timeout: 5_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, world } = device;
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);

  await t.test(
    'the only network is removed: rolled back and reported, online; beside another one it is in effect',
    () =>
      telling(async () => {
        const owned = await site.createMachine('gate-removed');
        await onHome(device, owned);
        await configure(device, owned);
        const { seconds } = await timed(() => untilCondition(device, owned, true, 600));
        await keep('the only network is removed, until it is rolled back and reported', 'radios', seconds);
        assert.equal(await usedBy(device), home.ssid);
        await untilSaved(device, 'home', true, 1);
        await untilOnline(device, owned, nowMs(), 200);

        await world.accessPoint('cafe', cafe);
        await world.uplink(true);
        await configure(device, owned, networks.home, networks.cafe);
        await untilSaved(device, 'cafe', true);
        await untilCondition(device, owned, false, 300);
        await configure(device, owned, networks.cafe);
        const other = await timed(async () => {
          await untilUsed(device, cafe.ssid);
          await untilOnline(device, owned, nowMs() + 10_000, 400);
        });
        await keep('the network in use is removed, until online by the other one', 'radios', other.seconds);
        await untilSaved(device, 'home', false, 1);
        await untilCondition(device, owned, false, 100);
      }),
  );

  await t.test('factory networks: joined without a hotspot before, fresh and with credentials', () =>
    telling(async () => {
      await fromFactory(device);
      await untilUsed(device, home.ssid);
      assert.equal(await hotspotStarts(device), '');

      const owned = await site.createMachine('gate-preinstalled');
      const since = nowMs();
      const { seconds } = await timed(async () => {
        await fromFactory(device, owned.credentialsJson);
        await untilOnline(device, owned, since, 400);
      });
      await keep('credentials and factory networks, nothing saved: until online', 'radios', seconds);
      assert.equal(await usedBy(device), home.ssid);
      assert.equal(await hotspotStarts(device), '');
    }),
  );

  await t.test(
    'credentials of a server with an unknown authority: the hotspot is back, says why, and takes others',
    () =>
      telling(async () => {
        const owned = await site.createMachine('gate-unknown-authority');
        await fromFactory(device, withoutAuthority(owned.credentialsJson));
        await joinHotspot(device, 600);
        const page = await untilPage(device, /credentials of this device have never worked.*not trusted/s, 300);
        assert.match(page.text, new RegExp(home.ssid));
        const since = nowMs();
        await submit(device.phone, page, {
          ssid: home.ssid,
          password: home.security.psk,
          platformconfig: owned.credentialsJson,
        });
        await untilOnline(device, owned, since, 600);
        assert.ok(!(await device.phone.sees()).includes(hotspot.ssid));
      }),
  );

  await t.test('a correct change that an outage spoiled is applied later', () =>
    telling(async () => {
      const owned = await site.createMachine('gate-spoiled');
      await onHome(device, owned);
      await configure(device, owned, { ...networks.home, priority: 9 });
      await world.internet('blackhole');
      await eventually('the change is rolled back', 600, async () =>
        (await machine.exec('journalctl -u platform-agent -o cat | grep -q "a change of networks is rolled back"'))
          .code === 0
          ? true
          : undefined,
      );
      await world.internet('ok');
      await untilCondition(device, owned, true, 400);
      const { seconds } = await timed(() => untilCondition(device, owned, false, 1_800));
      await keep('a change that an outage spoiled, until it is applied', 'radios', seconds);
      assert.match(
        await machine.must('nmcli -g connection.autoconnect-priority connection show "platform home"'),
        /^9$/m,
      );
    }),
  );
});
