// What the settings of a radio do on machines with and without one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import type { LinkDevice, NetworkState } from '../../os/network-port.ts';
import type { NetworkRow } from './network-rows.ts';
import { noMemory } from './row-memory.ts';
import { ineffectiveSettings, settingRows, type SettingSource } from './setting-rows.ts';

const wall = 1_795_000_000_000;
const radio = (name: string, more: Partial<LinkDevice> = {}): LinkDevice => ({
  interface: name,
  type: name.startsWith('wl') ? 'wifi' : 'wired',
  state: 'disconnected',
  profile: '',
  ssid: '',
  isHotspot: false,
  addresses: [],
  gateway: '',
  signalPercent: 0,
  hasDefaultRoute: false,
  ...more,
});

const all = {
  hotspot_interface: 'wlan9',
  hotspot_password: 'password1',
  wifi_country: 'DE',
  wifi_power_save: true,
  turn_on_hotspot_if_wifi_has_no_internet: true,
  device_reboot_after_offline_minutes: 60,
  manufacturer: 'acme',
};

function source(config: object, devices: LinkDevice[], more: Partial<SettingSource> = {}): SettingSource {
  const read = resolveAgentConfig({ cloud: { network_configuration: config } }).config;
  const fields = Object.fromEntries(Object.keys(config).map((key) => [key, `agent.network_configuration.${key}`]));
  const network: NetworkState = {
    manager: 'ready',
    version: '1.42.4',
    connectivity: 'full',
    checkedAt: null,
    nameServers: [],
    devices,
    profiles: [],
    visible: [],
  };
  return {
    settings: {
      revision: 1,
      configSha256: 'a',
      isPreliminary: false,
      isKnown: true,
      isDisabled: false,
      config: read.network_configuration,
      additional: [],
      sources: { networks: [], fields },
    },
    network,
    memory: noMemory,
    country: undefined,
    powerSave: undefined,
    wall,
    ...more,
  };
}

const paths = (of: SettingSource): string[] =>
  ineffectiveSettings(of).map(({ path, reason }) => `${path.split('.').at(-1)}: ${reason}`);

test('without a radio, each field that needs one has no effect, with the reason', () => {
  const reason = 'this machine has no WiFi radio';
  assert.deepEqual(paths(source(all, [radio('eth0', { state: 'connected' })])), [
    `hotspot_interface: ${reason}`,
    `hotspot_password: ${reason}`,
    `turn_on_hotspot_if_wifi_has_no_internet: ${reason}`,
    `wifi_country: ${reason}`,
    `wifi_power_save: ${reason}`,
  ]);
});

test('a radio that was there before may come back: no field is reported as without effect', () => {
  const memory = { ...noMemory, interfaces: { wlan9: { isRadio: true, wall } } };
  assert.deepEqual(paths(source(all, [], { memory })), []);
});

test('another radio than the named one: the hotspot has no effect, the fields of all radios have', () => {
  const reason = 'wlan9 (hotspot_interface) is not there';
  assert.deepEqual(paths(source(all, [radio('wlan0')])), [
    `hotspot_interface: ${reason}`,
    `hotspot_password: ${reason}`,
    `turn_on_hotspot_if_wifi_has_no_internet: ${reason}`,
  ]);
});

test('what is not observed is not called without effect', () => {
  const of = source(all, []);
  assert.deepEqual(paths({ ...of, network: { ...of.network, manager: 'absent' } }), []);
  assert.deepEqual(paths({ ...of, settings: { ...of.settings, isDisabled: true } }), []);
});

const rows: [
  name: string,
  of: SettingSource,
  state: NetworkRow['state'],
  text: RegExp,
  measuredWall?: number | null,
][] = [
  ['the named radio is used', source({ hotspot_interface: 'wlan0' }, [radio('wlan0')]), 'in-use', /wlan0 is the radio/],
  ['the named radio is missing', source({ hotspot_interface: 'wlan9' }, [radio('wlan0')]), 'no-interface', /not there/],
  [
    'a cable is named',
    source({ hotspot_interface: 'eth0' }, [radio('wlan0'), radio('eth0')]),
    'no-interface',
    /eth0 is not a WiFi radio/,
  ],
  [
    'the named radio is left alone',
    source({ hotspot_interface: 'wlan0' }, [radio('wlan0', { state: 'unmanaged' })]),
    'refused',
    /does not manage wlan0/,
  ],
  [
    'a country that was not tried yet',
    source({ wifi_country: 'DE' }, [radio('wlan0')]),
    'not-known',
    /not been asked/,
    null,
  ],
  [
    'a country that was obeyed before the change of the field',
    source({ wifi_country: 'DE' }, [radio('wlan0')], { country: { country: 'US', problem: '', measuredWall: wall } }),
    'not-known',
    /not been asked/,
    null,
  ],
  [
    'a country that the radio obeys',
    source({ wifi_country: 'DE' }, [radio('wlan0')], {
      country: { country: 'DE', problem: '', measuredWall: wall - 9 },
    }),
    'in-use',
    /obey/,
    wall - 9,
  ],
  [
    'a country that the firmware refuses',
    source({ wifi_country: 'DE' }, [radio('wlan0')], {
      country: { country: 'DE', problem: 'wlan0 obeys US', measuredWall: wall },
    }),
    'refused',
    /^wlan0 obeys US$/,
  ],
  ['a country without a radio', source({ wifi_country: 'DE' }, []), 'no-radio', /no WiFi radio/],
  ['power save, not measured', source({ wifi_power_save: true }, [radio('wlan0')]), 'not-known', /does not say/, null],
  [
    'power save, in effect',
    source({ wifi_power_save: false }, [radio('wlan0')], { powerSave: { isOn: false, measuredWall: wall } }),
    'in-use',
    /does not save power/,
  ],
  [
    'power save, not in effect yet',
    source({ wifi_power_save: false }, [radio('wlan0')], { powerSave: { isOn: true, measuredWall: wall } }),
    'waiting',
    /saves power; it changes with the next connection/,
  ],
];

for (const [name, of, state, text, measuredWall = wall] of rows) {
  test(`setting: ${name}`, () => {
    const found = settingRows(of);
    assert.equal(found.length, 1);
    assert.equal(found[0]?.state, state, found[0]?.text);
    assert.match(found[0]?.text ?? '', text);
    assert.equal(found[0]?.measuredWall, measuredWall);
  });
}

test('settings that the configuration does not have get no row', () => {
  assert.deepEqual(settingRows(source({ manufacturer: 'acme', wifi_power_save: null }, [radio('wlan0')])), []);
});
