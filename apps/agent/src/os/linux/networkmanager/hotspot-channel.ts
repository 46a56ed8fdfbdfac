// On which channel a hotspot runs. Pure.
import type { Hotspot, VisibleNetwork } from '../../network-port.ts';
import type { RadioChannel } from '../kernel/radio-rules.ts';

export interface Channel {
  /** In the words of NetworkManager. */
  band: 'bg' | 'a';
  number: number;
  frequencyMhz: number;
}

type Neighbour = Pick<VisibleNetwork, 'frequencyMhz' | 'signalPercent'>;

const is24 = (mhz: number): boolean => mhz > 2400 && mhz < 2500;
/** Above is the band of 6 GHz, where WPA2 is forbidden. */
const is5 = (mhz: number): boolean => mhz > 5150 && mhz < 5900;
/** The channels of 2.4 GHz that do not overlap, and that phones of every country see. */
const usual = [2412, 2437, 2462];
/** Networks nearer than this disturb each other. */
const overlapMhz = { bg: 25, a: 20 } as const;

/** Undefined: the rules allow no channel for an access point. */
export function hotspotChannel(
  channels: readonly RadioChannel[],
  band: Hotspot['band'],
  neighbours: readonly Neighbour[],
): Channel | undefined {
  const allowed = channels.filter(({ mayStart }) => mayStart);
  const low = allowed.filter(({ frequencyMhz }) => is24(frequencyMhz));
  const common = low.filter(({ frequencyMhz }) => usual.includes(frequencyMhz));
  const high = allowed.filter(({ frequencyMhz }) => is5(frequencyMhz));
  const outdoor = high.filter(({ isIndoorOnly }) => !isIndoorOnly);
  const byPreference = [
    ...(common.length > 0 ? [common] : [low]),
    // Where the machine stands is not known.
    ...(outdoor.length > 0 ? [outdoor] : [high]),
  ];
  const lists = band === '5' ? byPreference.toReversed() : byPreference;
  const [first] = lists.find((list) => list.length > 0)?.toSorted(byLoad(neighbours)) ?? [];
  return first && channelAt(first.frequencyMhz);
}

const byLoad =
  (neighbours: readonly Neighbour[]) =>
  (a: RadioChannel, b: RadioChannel): number =>
    loadOf(a.frequencyMhz, neighbours) - loadOf(b.frequencyMhz, neighbours) || a.frequencyMhz - b.frequencyMhz;

function loadOf(mhz: number, neighbours: readonly Neighbour[]): number {
  const limit = overlapMhz[is24(mhz) ? 'bg' : 'a'];
  return neighbours
    .filter(({ frequencyMhz }) => Math.abs(frequencyMhz - mhz) < limit)
    .reduce((sum, { signalPercent }) => sum + signalPercent, 0);
}

const lastOf24 = 2484;

function channelAt(frequencyMhz: number): Channel {
  if (!is24(frequencyMhz)) return { band: 'a', number: (frequencyMhz - 5000) / 5, frequencyMhz };
  return { band: 'bg', number: frequencyMhz === lastOf24 ? 14 : (frequencyMhz - 2407) / 5, frequencyMhz };
}

/** Whether a hotspot on this frequency may stay there. Not known rules forbid nothing. */
export const mayStay = (frequencyMhz: number, channels: readonly RadioChannel[]): boolean =>
  channels.length === 0 || channels.some((one) => one.frequencyMhz === frequencyMhz && one.mayStart);
