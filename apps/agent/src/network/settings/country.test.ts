import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell, createLog } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import type { Condition } from '../../health/conditions.ts';
import { SimNetwork } from '../../os/sim/network.ts';
import { keepCountry } from './country.ts';
import type { NetworkSettings } from './network-settings.ts';

const settingsOf = (country: string, more: Partial<NetworkSettings> = {}): NetworkSettings => {
  const { config } = resolveAgentConfig({ cloud: { network_configuration: { wifi_country: country } } });
  return {
    revision: 1,
    configSha256: '',
    isPreliminary: false,
    isKnown: true,
    isDisabled: false,
    config: config.network_configuration,
    additional: [],
    ...more,
  };
};
const hotspot = {
  interface: 'wlan0',
  ssid: 'box',
  password: 'platformsetup',
  isRedirecting: true,
  isSharing: false,
  band: '5',
} as const;

interface World {
  clock: FakeClock;
  network: SimNetwork;
  settings: Cell<NetworkSettings>;
  lines: string[];
  moved: string[];
  codes: () => string[];
}

/** A story on a simulated network. */
function on(name: string, first: NetworkSettings, tell: (world: World) => Promise<void>): void {
  test(name, async () => {
    const clock = new FakeClock();
    const network = new SimNetwork(clock);
    const settings = new Cell(first);
    const conditions = new Cell<readonly Condition[]>([]);
    const [lines, moved]: [string[], string[]] = [[], []];
    const log = createLog({
      name: 'network',
      clock,
      level: 'info',
      sink: ({ level, message }) => void lines.push(`${level} ${message}`),
    });
    const stop = new AbortController();
    const running = [
      network.run(stop.signal),
      keepCountry({ network, settings, conditions, move: () => moved.push('moves'), clock, log }, stop.signal),
    ];
    await clock.advance(1_000);
    const codes = (): string[] => conditions.get().map(({ code, message }) => `${code}: ${message}`);
    await tell({ clock, network, settings, lines, moved, codes });
    stop.abort();
    await clock.advance(1_000);
    await Promise.all(running);
  });
}

on('the country of the configuration is set, and given back when it is removed', settingsOf('DE'), async (world) => {
  const { clock, network, settings, lines } = world;
  assert.equal(network.country, 'DE');
  settings.set(settingsOf(''));
  await clock.advance(1_000);
  assert.equal(network.country, '00');
  settings.set(settingsOf('US'));
  await clock.advance(1_000);
  settings.set(settingsOf('US', { isDisabled: true }));
  await clock.advance(1_000);
  assert.equal(network.country, '00', 'networks are left to the operating system');
  assert.deepEqual(lines, ['info the radio obeys a country', 'info the radio obeys a country']);
});

on(
  'what others change is set again: at a new radio at once, else within 5 minutes',
  settingsOf('DE'),
  async (world) => {
    const { clock, network } = world;
    network.country = '00';
    network.setRadios(['wlan0', 'wlan1']);
    await clock.advance(1_000);
    assert.equal(network.country, 'DE');
    network.country = 'US';
    await clock.advance(5 * 60_000 - 2_000);
    assert.equal(network.country, 'US');
    await clock.advance(4_000);
    assert.equal(network.country, 'DE');
  },
);

on('a country that is not in effect is one condition and one line', settingsOf('DE'), async (world) => {
  const { clock, network, settings, lines, codes } = world;
  network.unknownCountries = ['XX'];
  settings.set(settingsOf('XX'));
  await clock.advance(60 * 60_000);
  assert.equal(codes().length, 1);
  assert.match(codes()[0] ?? '', /^WIFI_COUNTRY_NOT_APPLIED: .*XX.*the kernel has no rules for this country/);
  assert.deepEqual(
    lines.filter((line) => line.startsWith('warn')),
    ['warn the country of the radio is not in effect'],
  );
  network.unknownCountries = [];
  await clock.advance(6 * 60_000);
  assert.deepEqual(codes(), []);
});

on('without a country nothing is set', settingsOf(''), async ({ clock, network, lines, codes }) => {
  network.country = 'GB';
  await clock.advance(60 * 60_000);
  assert.deepEqual([network.country, lines, codes()], ['GB', [], []]);
});

on(
  'until the configuration of the management server is known, nothing is given back',
  settingsOf('DE'),
  async ({ clock, network, settings }) => {
    settings.set(settingsOf('', { isPreliminary: true }));
    await clock.advance(10 * 60_000);
    assert.equal(network.country, 'DE');
    settings.set(settingsOf(''));
    await clock.advance(1_000);
    assert.equal(network.country, '00');
  },
);

on('a hotspot on a channel that the new country forbids moves', settingsOf('DE'), async (world) => {
  const { clock, network, settings, moved, lines } = world;
  network.forbidding = ['00'];
  const starting = network.startHotspot(hotspot, new AbortController().signal);
  await clock.advance(5_000);
  await starting;
  assert.deepEqual(moved, []);
  settings.set(settingsOf(''));
  await clock.advance(1_000);
  assert.deepEqual(moved, ['moves']);
  assert.equal(lines.at(-1), 'info the hotspot moves');
  await clock.advance(10_000);
  assert.equal(moved.length, 2, 'one that was opening did not move: once more');
});
