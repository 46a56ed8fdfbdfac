import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hotspotChannel, mayStay } from './hotspot-channel.ts';
import type { RadioChannel } from '../kernel/radio-rules.ts';

const free = (...list: number[]): RadioChannel[] =>
  list.map((frequencyMhz) => ({ frequencyMhz, mayStart: true, isIndoorOnly: false }));
const listenOnly = (...list: number[]): RadioChannel[] => free(...list).map((one) => ({ ...one, mayStart: false }));
const indoor = (...list: number[]): RadioChannel[] => free(...list).map((one) => ({ ...one, isIndoorOnly: true }));
const at = (frequencyMhz: number, signalPercent = 50) => ({ frequencyMhz, signalPercent });

const low = free(2412, 2417, 2437, 2462, 2467, 2472);
const world = [...low.slice(0, 4), ...listenOnly(2467, 2472, 2484, 5180, 5745)];
const germany = [...low, ...indoor(5180, 5200), ...listenOnly(5260, 5500), ...free(5745, 5955)];

const rows: [
  name: string,
  channels: RadioChannel[],
  band: '' | '2.4' | '5',
  neighbours: ReturnType<typeof at>[],
  expected: string,
][] = [
  ['2.4 GHz, which every phone has', germany, '', [], 'bg 1 2412'],
  ['the same, asked for', germany, '2.4', [], 'bg 1 2412'],
  ['5 GHz, asked for: a channel for everywhere before one for buildings', germany, '5', [], 'a 149 5745'],
  ['only channels for buildings', [...low, ...indoor(5200, 5180)], '5', [], 'a 36 5180'],
  ['5 GHz is forbidden without a country', world, '5', [], 'bg 1 2412'],
  ['a radio for 5 GHz only', free(5180, 5200), '2.4', [], 'a 36 5180'],
  ['the least used of 1, 6 and 11', low, '', [at(2412), at(2437), at(2462, 49)], 'bg 11 2462'],
  ['a neighbour 24 MHz away disturbs', low, '', [at(2436)], 'bg 11 2462'],
  ['a neighbour 25 MHz away does not', low, '', [at(2437), at(2487)], 'bg 1 2412'],
  [
    'strong neighbours count more than many',
    low,
    '',
    [at(2412, 90), at(2437, 10), at(2437, 10), at(2462, 21)],
    'bg 6 2437',
  ],
  ['1, 6 and 11 before a less used channel between them', low, '', [at(2390), at(2459)], 'bg 1 2412'],
  ['in 5 GHz a neighbour 15 MHz away disturbs', free(5180, 5220), '5', [at(5195)], 'a 44 5220'],
  ['in 5 GHz a neighbour 20 MHz away does not disturb', free(5180, 5200), '5', [at(5200)], 'a 36 5180'],
  ['in 5 GHz one on the same channel does', free(5180, 5200), '5', [at(5180)], 'a 40 5200'],
  ['none of 1, 6 and 11', free(2467, 2472), '', [], 'bg 12 2467'],
  ['channel 14', free(2484), '', [], 'bg 14 2484'],
  ['6 GHz demands WPA3', free(5955), '5', [], 'none'],
  ['where an access point must listen first, none starts', listenOnly(2412, 5180), '', [], 'none'],
  ['no channel', [], '', [], 'none'],
];
for (const [name, channels, band, neighbours, expected] of rows)
  test(`the channel of a hotspot: ${name} → ${expected}`, () => {
    const found = hotspotChannel(channels, band, neighbours);
    assert.equal(found ? `${found.band} ${found.number} ${found.frequencyMhz}` : 'none', expected);
  });

test('a hotspot stays where it may start, and where the rules are not known', () => {
  assert.equal(mayStay(2412, world), true);
  assert.equal(mayStay(5180, world), false, 'listening only');
  assert.equal(mayStay(5200, world), false, 'not there any more');
  assert.equal(mayStay(5180, []), true);
});
