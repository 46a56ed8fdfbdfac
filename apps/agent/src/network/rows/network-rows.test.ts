// From what is observed to one row for each configured network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import type { LinkDevice, NetworkState, SavedProfile, VisibleNetwork } from '../../os/network-port.ts';
import { digestOf } from '../profiles/additional-plan.ts';
import { configuredNetworks, ineffectiveNetworks, withSince, type NetworkRow, type RowSource } from './network-rows.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkAttempt } from './network-status.ts';
import { noMemory, remember, type RowMemory } from './row-memory.ts';

const wall = 1_795_000_000_000;
const now = 10_000_000;
const minute = 60_000;

const device = (name: string, more: Partial<LinkDevice> = {}): LinkDevice => ({
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
const connected = (name: string, profile: string, ssid = ''): LinkDevice =>
  device(name, { state: 'connected', profile, ssid });
const sees = (ssid: string, agoMs = 1_000, radio = 'wlan0'): VisibleNetwork => ({
  ssid,
  interface: radio,
  security: 'wpa-psk',
  signalPercent: 60,
  frequencyMhz: 2412,
  seen: now - agoMs,
});
const attempt = (network: string, result: NetworkAttempt['result'], text: string): NetworkAttempt => ({
  network,
  interface: 'wlan0',
  wall: wall - 5 * minute,
  result,
  text,
});

const home = { type: 'wifi', ssid: 'Home', psk: 'password1', priority: 10 };
const spare = { type: 'wifi', ssid: 'Spare', psk: 'password1', priority: 5 };
const cable = { type: 'wired', interface: 'eth7', priority: 1 };

function settingsOf(networks: Record<string, object>, config: object = {}, isDisabled = false): NetworkSettings {
  const { config: read, networkPlaces } = resolveAgentConfig({
    cloud: { network_configuration: config, additional_networks: networks },
  });
  return {
    revision: 3,
    configSha256: 'a',
    isPreliminary: false,
    isKnown: true,
    isDisabled,
    config: read.network_configuration,
    additional: read.additional_networks,
    sources: { networks: networkPlaces, fields: {} },
  };
}

interface World {
  networks: Record<string, object>;
  config?: object;
  isDisabled?: boolean;
  manager?: NetworkState['manager'];
  isSilent?: boolean;
  devices?: LinkDevice[];
  /** Networks that the operating system does not have; those of `stale` it has in an earlier form. */
  unstored?: string[];
  stale?: string[];
  others?: SavedProfile[];
  visible?: VisibleNetwork[];
  attempts?: NetworkAttempt[];
  failure?: RowSource['failure'];
  memory?: Partial<RowMemory>;
}

function source(of: World): RowSource {
  const settings = settingsOf(of.networks, of.config, of.isDisabled);
  const profiles = settings.additional
    .filter(({ name }) => !of.unstored?.includes(name))
    .map((network): SavedProfile => ({
      uuid: `uuid-${network.name}`,
      name: `platform ${network.name}`,
      type: network.type,
      ssid: network.ssid,
      interface: network.interface,
      priority: network.priority,
      isAutoconnect: true,
      isHidden: network.hidden,
      isHotspot: false,
      mark: {
        kind: 'additional',
        name: network.name,
        digest: of.stale?.includes(network.name) ? 'earlier' : digestOf(network),
      },
    }));
  const network: NetworkState = {
    manager: of.manager ?? 'ready',
    version: '1.42.4',
    connectivity: 'full',
    checkedAt: null,
    nameServers: [],
    devices: of.devices ?? [],
    profiles: [...profiles, ...(of.others ?? [])],
    visible: of.visible ?? [],
  };
  const remembered = remember({ ...noMemory, ...of.memory }, { network, settings, now, wall });
  return {
    settings,
    network,
    links: network.devices.map((link) => ({ ...link, sinceWall: wall - 60 * minute, why: '' })),
    attempts: of.attempts ?? [],
    failure: of.failure,
    memory: remembered,
    isSilent: of.isSilent ?? false,
    now,
    wall,
  };
}

const wlan0 = device('wlan0');
const roaming = { turn_on_hotspot_if_wifi_has_no_internet: true };
const foreign: SavedProfile = {
  uuid: 'uuid-foreign',
  name: 'Wired connection 1',
  type: 'wired',
  ssid: '',
  interface: '',
  priority: 0,
  isAutoconnect: true,
  isHidden: false,
  isHotspot: false,
  mark: undefined,
};

/** State and text of the first network, and what else must be so. */
const table: [name: string, world: World, state: NetworkRow['state'], text: RegExp, more?: Partial<NetworkRow>][] = [
  [
    'in use, since the link is up',
    { networks: { Home: home }, devices: [connected('wlan0', 'uuid-Home', 'Home')], visible: [sees('Home')] },
    'in-use',
    /^connected on wlan0$/,
    { interface: 'wlan0', sinceWall: wall - 60 * minute, measuredWall: wall },
  ],
  [
    'joining',
    { networks: { Home: home }, devices: [device('wlan0', { state: 'connecting', profile: 'uuid-Home' })] },
    'joining',
    /^wlan0 is being connected$/,
  ],
  [
    'out of range since it was seen last',
    {
      networks: { Home: home },
      devices: [wlan0],
      visible: [sees('Neighbour')],
      memory: { lastSeen: { Home: wall - 40 * minute } },
    },
    'out-of-range',
    /not seen any more/,
    { sinceWall: wall - 40 * minute, lastSeenWall: wall - 40 * minute, measuredWall: wall - 1_000 },
  ],
  [
    'never seen in this run',
    { networks: { Home: home }, devices: [wlan0], visible: [sees('Neighbour')] },
    'out-of-range',
    /not seen since the agent started/,
    { lastSeenWall: null },
  ],
  [
    'missed by one scan: still in range',
    {
      networks: { Home: home },
      devices: [wlan0],
      visible: [sees('Neighbour')],
      memory: { lastSeen: { Home: wall - minute } },
    },
    'not-tried',
    /^it is in range$/,
  ],
  [
    'nothing was seen: not measured',
    { networks: { Home: home }, devices: [wlan0] },
    'not-known',
    /wlan0 has seen no network yet/,
    { measuredWall: null },
  ],
  [
    'the radio is the hotspot: not measured',
    { networks: { Home: home }, devices: [device('wlan0', { state: 'connected', isHotspot: true })] },
    'not-known',
    /is the hotspot and sees no other network/,
    { measuredWall: null },
  ],
  [
    'no radio: never',
    { networks: { Home: home }, devices: [connected('eth0', 'x')] },
    'no-radio',
    /^this machine has no WiFi radio$/,
    { hasNoEffect: true },
  ],
  [
    'the radio on USB was there before: it may come back',
    { networks: { Home: home }, memory: { interfaces: { wlan1: { isRadio: true, wall: wall - minute } } } },
    'no-radio',
    /used when the radio is back/,
    { hasNoEffect: false },
  ],
  [
    'another radio than the named one',
    { networks: { Home: { ...home, interface: 'wlan9' } }, devices: [wlan0] },
    'no-interface',
    /^this machine has no interface wlan9$/,
    { hasNoEffect: true, interface: 'wlan9' },
  ],
  [
    'another radio than hotspot_interface',
    { networks: { Home: home }, config: { hotspot_interface: 'wlan9' }, devices: [wlan0] },
    'no-interface',
    /no interface wlan9 \(hotspot_interface\)/,
  ],
  [
    'WiFi on a cable',
    { networks: { Home: { ...home, interface: 'eth0' } }, devices: [wlan0, device('eth0')] },
    'no-radio',
    /^eth0 is not a WiFi radio$/,
    { hasNoEffect: true },
  ],
  [
    'the radio is off',
    { networks: { Home: home }, devices: [device('wlan0', { state: 'unavailable' })] },
    'no-radio',
    /wlan0 is switched off or not ready/,
    { hasNoEffect: false },
  ],
  [
    'the radio is left alone',
    { networks: { Home: home }, devices: [device('wlan0', { state: 'unmanaged' })] },
    'no-radio',
    /NetworkManager does not manage wlan0/,
  ],
  [
    'no such interface',
    { networks: { cable }, devices: [connected('eth0', 'uuid-foreign')], others: [foreign] },
    'no-interface',
    /^this machine has no interface eth7$/,
    { hasNoEffect: true },
  ],
  [
    'an interface that was there before may come back',
    { networks: { cable }, memory: { interfaces: { eth7: { isRadio: false, wall: wall - minute } } } },
    'no-interface',
    /used when the interface is back/,
    { hasNoEffect: false },
  ],
  [
    'an adapter on USB may be plugged in',
    { networks: { cable: { ...cable, interface: 'enx001122334455' } } },
    'no-interface',
    /enx001122334455 now; it is used when the interface is back/,
    { hasNoEffect: false },
  ],
  [
    'any wired interface, and there is none now',
    { networks: { cable: { type: 'wired' } }, devices: [wlan0] },
    'no-interface',
    /no wired interface now/,
    { hasNoEffect: false },
  ],
  [
    'no cable',
    { networks: { cable }, devices: [device('eth7', { state: 'unavailable' })] },
    'out-of-range',
    /no cable is plugged in at eth7/,
  ],
  [
    'wired, in use',
    { networks: { cable: { type: 'wired' } }, devices: [connected('eth0', 'uuid-cable')] },
    'in-use',
    /connected on eth0/,
  ],
  [
    'the cable carries another profile',
    {
      networks: { cable: { ...cable, interface: 'eth0' } },
      devices: [connected('eth0', 'uuid-foreign')],
      others: [foreign],
    },
    'waiting',
    /eth0 uses Wired connection 1, of lower priority \(0\)/,
  ],
  [
    'wired, and NetworkManager gave up',
    { networks: { cable }, devices: [device('eth7')], memory: { failed: { 'uuid-cable': wall - minute } } },
    'failed',
    /could not connect eth7/,
    { sinceWall: wall - minute },
  ],
  [
    'waits for priority',
    {
      networks: { Spare: spare, Home: home },
      config: roaming,
      devices: [connected('wlan0', 'uuid-Home', 'Home')],
      visible: [sees('Home'), sees('Spare')],
    },
    'waiting',
    /wlan0 uses Home, of higher priority \(10\)/,
  ],
  [
    'waits for provisioning in single mode',
    { networks: { Spare: spare, Home: home }, devices: [wlan0], visible: [sees('Spare')] },
    'waiting',
    /Home comes first, and others are tried during provisioning only/,
  ],
  [
    'failed last time',
    {
      networks: { Home: home },
      devices: [wlan0],
      visible: [sees('Home')],
      attempts: [attempt('Home', 'wrong-password', 'The password of Home is wrong.')],
    },
    'failed',
    /^The password of Home is wrong$/,
    { sinceWall: wall - 5 * minute },
  ],
  [
    'joined before, not in use now',
    {
      networks: { Home: home },
      config: roaming,
      devices: [wlan0],
      visible: [sees('Home')],
      attempts: [attempt('Home', 'ok', '')],
    },
    'not-in-use',
    /^it is in range$/,
  ],
  [
    'hidden: a scan proves nothing',
    { networks: { Home: { ...home, hidden: true } }, devices: [wlan0], visible: [sees('Neighbour')] },
    'not-tried',
    /only an attempt shows/,
    { measuredWall: null },
  ],
  [
    'not stored yet',
    { networks: { Home: home }, devices: [wlan0], unstored: ['Home'] },
    'not-stored',
    /does not have it yet/,
  ],
  [
    'changed while offline',
    { networks: { Home: home }, devices: [connected('wlan0', 'uuid-Home', 'Home')], stale: ['Home'] },
    'not-stored',
    /earlier form is in use on wlan0; a change is made while the machine is online/,
  ],
  [
    'rolled back',
    {
      networks: { Home: home },
      devices: [wlan0],
      unstored: ['Home'],
      failure: { code: 'NETWORK_CHANGE_ROLLED_BACK', reason: 'rolled back: Home could not be joined' },
    },
    'refused',
    /^rolled back: Home could not be joined$/,
    { code: 'NETWORK_CHANGE_ROLLED_BACK' },
  ],
  [
    'no NetworkManager',
    { networks: { Home: home }, manager: 'absent' },
    'refused',
    /NetworkManager 1.30 or newer is needed, and it does not run/,
    { code: 'NETWORK_NOT_APPLIED' },
  ],
  [
    'not observed yet',
    { networks: { Home: home }, manager: 'starting' },
    'not-known',
    /not known yet/,
    { measuredWall: null },
  ],
  [
    'NetworkManager does not answer any more',
    { networks: { Home: home }, devices: [wlan0], isSilent: true },
    'not-known',
    /^NetworkManager does not answer$/,
    { measuredWall: null },
  ],
  ['disabled', { networks: { Home: home }, isDisabled: true }, 'refused', /disable_network_configuration is true/],
  [
    'left out, because it is invalid',
    { networks: { Home: { ...home, psk: 'short' } }, devices: [wlan0] },
    'refused',
    /^it is left out: agent\.additional_networks\.Home\.psk /,
    { code: 'CONFIG_CORRECTED' },
  ],
];

for (const [name, world, state, text, more = {}] of table) {
  test(`row: ${name}`, () => {
    const rows = configuredNetworks(source(world));
    assert.equal(rows.length, Object.keys(world.networks).length);
    const [row] = rows;
    assert.ok(row);
    assert.equal(row.state, state, row.text);
    assert.match(row.text, text);
    assert.equal(row.path, `agent.additional_networks.${Object.keys(world.networks)[0]}`);
    for (const [key, value] of Object.entries(more)) assert.equal(row[key as keyof NetworkRow], value, key);
    assert.equal(row.text.includes('password1') || row.text.includes('short'), false, 'no secret');
  });
}

test('networks that can never act are reported with their reason, others are not', () => {
  const rows = configuredNetworks(source({ networks: { Home: home, cable, usb: { ...cable, interface: 'enx1' } } }));
  assert.deepEqual(
    ineffectiveNetworks(rows).map(({ path, reason }) => `${path}: ${reason}`),
    [
      'agent.additional_networks.Home: this machine has no WiFi radio',
      'agent.additional_networks.cable: this machine has no interface eth7',
    ],
  );
});

test('at most 64 rows', () => {
  const networks = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`n${n}`, { ...home, ssid: `Net ${n}` }]));
  assert.equal(configuredNetworks(source({ networks, devices: [wlan0] })).length, 64);
});

test('a row keeps its instant while it looks as before', () => {
  const world: World = { networks: { Home: home }, devices: [wlan0], visible: [sees('Home')] };
  const first = withSince(configuredNetworks(source(world)), [], wall);
  const again = withSince(configuredNetworks(source(world)), first, wall + minute);
  assert.equal(again[0]?.sinceWall, wall);
  const gone = withSince(configuredNetworks(source({ ...world, devices: [] })), again, wall + 2 * minute);
  assert.equal(gone[0]?.sinceWall, wall + 2 * minute);
});

test('a profile that the operating system tried in vain is remembered until it works', () => {
  const settings = settingsOf({ cable: { ...cable, interface: 'eth0' } });
  const at = (devices: LinkDevice[], before: RowMemory): RowMemory => {
    const { network } = source({ networks: { cable: { ...cable, interface: 'eth0' } }, devices });
    return remember(before, { network, settings, now, wall });
  };
  const connecting = at([device('eth0', { state: 'connecting', profile: 'uuid-cable' })], noMemory);
  assert.deepEqual(connecting.failed, {});
  const failed = at([device('eth0')], connecting);
  assert.deepEqual(failed.failed, { 'uuid-cable': wall });
  assert.deepEqual(at([connected('eth0', 'uuid-cable')], failed).failed, {});
  assert.deepEqual(at([connected('eth0', 'uuid-foreign')], connecting).failed, {}, 'another profile took the link');
});
