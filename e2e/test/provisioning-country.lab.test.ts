// The country of the radio: channels of 5 GHz, and a hotspot that leaves a channel that becomes forbidden.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factoryDevice, hotspot, nowMs, provisioned, tellingNetwork, untilOnline } from '../lab/factory-device.ts';
import { eventually } from '../lab/machine.ts';
import { untilSeen } from '../lab/radio.ts';
import { keep, timed } from '../lab/results.ts';

/** The lab's kernel starts with Germany. All radios of the lab share one country. */
const ofSystem = 'DE';

test('a device obeys the country of its configuration', { timeout: 2_400_000 }, async (t) => {
  await using device = await factoryDevice();
  const { site, machine, phone, world } = device;
  const telling = <T>(f: () => Promise<T>): Promise<T> => tellingNetwork(machine, f);
  const owned = await site.createMachine('gate-abroad');
  const configure = (network_configuration: object, additional_networks: object = {}): Promise<void> =>
    site.configure(owned.partId, {
      advanced_settings: { disable_platform_server: true },
      network_configuration: { retry_connection_timeout_minutes: 30, ...network_configuration },
      additional_networks,
    });
  const untilCountry = (country: string, seconds = 180): Promise<true> =>
    eventually(`the radio obeys ${country}`, seconds, async () =>
      (await machine.must('iw reg get')).includes(`country ${country}:`) ? true : undefined,
    );
  /** MHz of the hotspot; 0: none runs. */
  const frequency = async (): Promise<number> => {
    const { stdout } = await machine.exec('iw dev wlan0 info');
    return stdout.includes('type AP') ? Number(/channel \d+ \((\d+) MHz\)/.exec(stdout)?.[1] ?? 0) : 0;
  };

  await t.test('a network at 5 GHz is seen and joined where it is allowed', () =>
    telling(async () => {
      await provisioned(device, owned, { by: 'cable' });
      const { seconds } = await timed(async () => {
        await configure({ wifi_country: 'US' });
        await untilCountry('US');
      });
      await keep('a country, from the saved configuration until the radio obeys it', 'radios', seconds);
      const extra = "AP_EXTRA='hw_mode=a\nieee80211n=1'";
      await machine.must(`CH=149 ${extra} world ap on Barn barn12345 router`, 120);
      await configure({ wifi_country: 'US' }, { barn: { type: 'wifi', ssid: 'Barn', psk: 'barn12345' } });
      await eventually('the device is connected at 5 GHz', 300, async () => {
        const { stdout } = await machine.exec('iw dev wlan0 link');
        return /SSID: Barn[\s\S]*freq: 5745/.test(stdout) ? true : undefined;
      });
    }),
  );

  await t.test('a power cut: the country is set again', () =>
    telling(async () => {
      await machine.kill();
      await machine.up();
      // The radios and namespaces come up after the machine answers.
      await eventually('the cable is in', 120, () =>
        world.cable(true).then(
          () => true as const,
          () => undefined,
        ),
      );
      await untilOnline(device, owned, nowMs(), 400);
      await untilCountry('US', 300);
    }),
  );

  await t.test('a hotspot at 5 GHz leaves a channel that the new country forbids', () =>
    telling(async () => {
      await configure({ wifi_country: 'US', hotspot_band: '5' });
      await eventually('the networks are removed', 300, async () =>
        (await machine.exec('nmcli -t -f NAME connection | grep -q barn')).code === 1 ? true : undefined,
      );
      await machine.must('/opt/platform/bin/platform-agent provision --hotspot --yes', 120);
      await untilSeen(phone, hotspot.ssid, 300);
      assert.equal(await frequency(), 5180);
      // Pakistan has no rules for 5180 MHz.
      const { seconds } = await timed(async () => {
        await configure({ wifi_country: 'PK', hotspot_band: '5' });
        await untilCountry('PK');
        await eventually('the hotspot runs on an allowed channel', 300, async () => {
          const now = await frequency();
          return now !== 0 && now !== 5180 ? true : undefined;
        });
      });
      assert.equal(await frequency(), 5745);
      await keep('a new country forbids the channel of the hotspot, until it runs on another one', 'radios', seconds);
    }),
  );

  await t.test('a country that the kernel does not know is reported, and without one the old country is back', () =>
    telling(async () => {
      await configure({ wifi_country: 'XX' });
      await site.until(owned.partId, 'the country is reported', 180, ({ report }) =>
        (report?.conditions ?? []).some(({ code }) => code === 'WIFI_COUNTRY_NOT_APPLIED'),
      );
      await configure({});
      await untilCountry(ofSystem);
      await site.until(owned.partId, 'nothing is reported any more', 180, ({ report }) =>
        (report?.conditions ?? []).every(({ code }) => code !== 'WIFI_COUNTRY_NOT_APPLIED'),
      );
    }),
  );
});
