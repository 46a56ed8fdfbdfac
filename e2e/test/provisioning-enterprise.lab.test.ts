// Networks of an organization with an authentication server: hostapd's own server on a simulated radio.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkAttemptResult } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { attemptResults } from '@platform/contract/machine/network-states';
import { authenticationServer, enterpriseOn, user } from '../lab/enterprise.ts';
import { factoryDevice, nowMs, provisioned, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';

const textOfResult = (result: NetworkAttemptResult): string =>
  Object.values(attemptResults).find(({ wire }) => wire === result)?.text ?? '';

test('a device signs in to an enterprise network, and names what is refused', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, world } = device;
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);
  const owned = await site.createMachine('gate-office');
  await telling(() => provisioned(device, owned, { by: 'cable' }));
  const office = await enterpriseOn(machine, nowMs());
  await world.accessPoint('router', { ssid: 'Office', security: { is: 'enterprise', folder: office.folder } });

  const base = {
    type: 'wifi',
    ssid: 'Office',
    eap_identity: user.name,
    eap_ca_certificate: office.authority,
    eap_server_name: authenticationServer,
  };
  const peap = { ...base, eap_method: 'peap', eap_password: user.password };
  const tls = {
    ...base,
    eap_method: 'tls',
    eap_client_certificate: office.client.cert,
    eap_client_key: office.client.key,
  };
  const configure = (additional_networks: object): Promise<void> =>
    site.configure(owned.partId, { advanced_settings: { disable_platform_server: true }, additional_networks });

  for (const [name, network] of [
    ['PEAP', peap],
    ['TTLS', { ...peap, eap_method: 'ttls', eap_inner_method: 'pap', eap_anonymous_identity: 'anyone' }],
    ['TLS', tls],
  ] as const) {
    await t.test(`${name}: the device joins`, () =>
      telling(async () => {
        const { seconds } = await timed(async () => {
          await configure({ [name]: network });
          await eventually(`the device is connected by ${name}`, 300, async () => {
            const { stdout } = await machine.exec('nmcli -t -f NAME,DEVICE,STATE connection show --active');
            return stdout.includes(`platform ${name}:wlan0:activated`) ? true : undefined;
          });
        });
        await keep(`WPA2-enterprise by ${name}, from the saved configuration until connected`, 'radios', seconds);
      }),
    );
  }

  await t.test('wrong authority, wrong password, expired certificate: each is named, and the next one is tried', () =>
    telling(async () => {
      await configure({});
      await eventually('the networks before are removed', 300, async () =>
        (await machine.exec('nmcli -t -f NAME connection | grep -q "^platform "')).code === 1 ? true : undefined,
      );
      await configure({
        authority: { ...peap, priority: 40, eap_ca_certificate: office.otherAuthority },
        password: { ...peap, priority: 30, eap_password: 'not in the hay' },
        expired: {
          ...tls,
          priority: 20,
          eap_client_certificate: office.expired.cert,
          eap_client_key: office.expired.key,
        },
        right: { ...peap, priority: 10 },
        damaged: { ...tls, priority: 50, eap_client_key: office.expired.key },
      });
      const named = await site.until(owned.partId, 'both certificates are named', 300, ({ report }) => {
        const codes = report?.conditions.map(({ code }) => code) ?? [];
        return codes.includes('NETWORK_CERTIFICATE_UNUSABLE') && codes.includes('NETWORK_CERTIFICATE_EXPIRED');
      });
      const conditions = named.report?.conditions.map(({ message }) => message).join('\n') ?? '';
      assert.match(conditions, /damaged is not used: eap_client_key does not belong to eap_client_certificate/);
      assert.match(conditions, /expired probably cannot be joined: .* eap_client_certificate expired on/);
      await eventually('the networks are saved', 180, async () =>
        (await machine.exec('nmcli -t -f NAME connection | grep -qx "platform right"')).code === 0 ? true : undefined,
      );
      await world.cable(false);
      const { seconds, value: after } = await timed(() =>
        site.until(owned.partId, 'online by the last one, with the attempts before it', 900, ({ report }) =>
          (report?.network?.attempts ?? []).some(({ result }) => result === NetworkAttemptResult.OK),
        ),
      );
      const attempts = after.report?.network?.attempts.map(({ result }) => textOfResult(result)) ?? [];
      const status = await machine.must('/opt/platform/bin/platform-agent status --json');
      for (const expected of [
        'authentication-server-not-trusted',
        'refused-by-authentication-server',
        'client-certificate-refused',
        'ok',
      ] as const) {
        const { text } = attemptResults[expected];
        assert.ok(attempts.includes(text), `${text}, in ${attempts.join('; ')}`);
        assert.ok(status.includes(`"${expected}"`), `${expected}, in ${status}`);
      }
      assert.ok(status.includes('NETWORK_CERTIFICATE_EXPIRED'), status);
      await keep('WPA2-enterprise: three refused networks, until online by the fourth', 'radios', seconds);
    }),
  );

  await t.test('no secret is in the log, and none stays on the disk when its network is removed', () =>
    telling(async () => {
      const key = office.client.key.split('\n')[1] ?? '';
      const { stdout: log } = await machine.exec('journalctl -u platform-agent --no-pager', 60);
      assert.ok(log.includes('Office') && !log.includes(user.password) && !log.includes(key));
      await world.cable(true);
      await untilOnline(device, owned, nowMs(), 300);
      await configure({});
      await eventually('certificates and keys are gone', 300, async () =>
        (await machine.exec('ls /etc/NetworkManager/system-connections | grep -q "[.]pem$"')).code === 1
          ? true
          : undefined,
      );
    }),
  );
});
