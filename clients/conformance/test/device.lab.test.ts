// An app with the public SDK, on a phone that has joined the hotspot of a real agent: the five provisioning calls.
import { test } from 'node:test';
import {
  factoryDevice,
  hotspot,
  joinHotspot,
  nowMs,
  pushText,
  tellingNetwork,
  untilOnline,
} from '../../../e2e/lab/factory-device.ts';
import { home, untilSeen } from '../../../e2e/lab/radio.ts';
import { keep, timed } from '../../../e2e/lab/results.ts';
import { freePort } from '../../../e2e/src/proxies.ts';
import { pytest, storyFolder } from '../python/environment.ts';

const port = 4772;

test(
  'the unmodified public Python SDK provisions a device from the phone on its hotspot',
  { timeout: 2_400_000 },
  async (t) => {
    const here = await freePort();
    await using device = await factoryDevice({ forwarded: { host: here, router: port } });
    const { site, machine, world, phone } = device;

    await t.test('the device trusts the server: these calls carry no authority', () =>
      tellingNetwork(machine, async () => {
        await device.reset();
        await pushText(machine, '/usr/local/share/ca-certificates/lab.crt', site.authority);
        await machine.must('update-ca-certificates && systemctl restart platform-agent', 300);
        await joinHotspot(device);
        await device.saveAtHotspot();
      }),
    );

    for (const name of ['viam', 'platform']) {
      await t.test(`under the package name ${name}`, () =>
        tellingNetwork(machine, async () => {
          const owned = await site.createMachine(`gate-by-${name}`);
          await device.atHotspot();
          await world.relay(port, `${hotspot.address}:${port}`);
          const env = {
            PROVISIONING_PORT: `${here}`,
            PROVISIONING_PACKAGE: name,
            PROVISIONING_SSID: home.ssid,
            PROVISIONING_PSK: home.security.psk,
            PROVISIONING_CREDENTIALS: owned.credentialsJson,
          };
          const since = nowMs();
          const { seconds } = await timed(async () => {
            await pytest(['test_public_device.py'], env, storyFolder);
            await untilOnline(device, owned, since);
          });
          await untilSeen(phone, hotspot.ssid, 120, false);
          await keep(`five calls of an app under the package name ${name}, until online over TLS`, 'radios', seconds);
        }),
      );
    }
  },
);
