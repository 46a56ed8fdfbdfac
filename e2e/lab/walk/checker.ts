// The checker of the random walk: from what was measured outside the machine to whether it kept its promise. Pure.
import { type Expectation, type Place, primaryOf, type WalkWorld } from './world.ts';

/** One measurement. Nothing of it comes from the agent. */
export interface Sample {
  /** Counted seconds since the step; see `countedSeconds`. */
  seconds: number;
  /** The phone's scan found the hotspot. */
  isHotspotOnAir: boolean;
  /** The access point on which the machine is associated and authorized, by the station table of the access point. */
  station: Place | null;
  /** Seconds from the step to the last contact with the management server, by its clock; negative: before the step. */
  contactSeconds: number;
}

export type Outcome =
  | { is: 'met'; seconds: number }
  | { is: 'open' }
  | { is: 'missed' }
  /** The world is not what the walk made of it: the measurement proves nothing. */
  | { is: 'contradiction'; why: string };

/**
 * A contact this soon may come from before: while the server holds a check, it counts the machine as seen, for up to a
 * minute after the link has died. On a busy host this and the step itself come later. A later contact came by what
 * works now.
 */
const provenSeconds = 120;
/** `connected` is met only if no hotspot opens for this long: more than the offline minute. */
const steadySeconds = 150;

export interface Expected {
  expectation: Expectation;
  world: WalkWorld;
  limitSeconds: number;
}

/** @param samples - in order */
export function outcomeOf(samples: readonly Sample[], expected: Expected): Outcome {
  const last = samples.at(-1);
  if (!last) return { is: 'open' };
  const { expectation, limitSeconds } = expected;
  if (expectation === 'hotspot' && last.contactSeconds > provenSeconds)
    return { is: 'contradiction', why: `the server heard the machine ${Math.round(last.contactSeconds)} s after` };
  const since = metSince(samples, expected);
  const needed = expectation === 'connected' ? steadySeconds : 0;
  if (since !== undefined && last.seconds - since >= needed) return { is: 'met', seconds: since };
  const isOver = last.seconds > limitSeconds && (since === undefined || since > limitSeconds);
  return isOver ? { is: 'missed' } : { is: 'open' };
}

/** Seconds of the first of the last samples that all agree with the expectation; undefined: the last does not. */
function metSince(samples: readonly Sample[], expected: Expected): number | undefined {
  let since: number | undefined;
  for (const sample of samples) since = agrees(sample, expected) ? (since ?? sample.seconds) : undefined;
  return since;
}

function agrees(sample: Sample, { expectation, world }: Expected): boolean {
  const isOnline = sample.contactSeconds > provenSeconds && !sample.isHotspotOnAir;
  switch (expectation) {
    case 'online':
      return isOnline;
    case 'connected':
      return isOnline || (sample.station !== null && sample.station === primaryOf(world) && !sample.isHotspotOnAir);
    case 'hotspot':
      return sample.isHotspotOnAir;
    case 'either':
      return isOnline || sample.isHotspotOnAir;
  }
}

/** A measurement that took longer than this shows a busy host: the rest of its time is not counted. */
const longestCountedSeconds = 20;

/** What a measurement adds to the counted time: nothing if it failed, so a lost connection is not a violation. */
export const countedSeconds = (tookSeconds: number, isMeasured: boolean): number =>
  isMeasured ? Math.min(tookSeconds, longestCountedSeconds) : 0;

const scanned = 'scanned 0';
const end = 'end of measurement';

/** Frequencies of the access points and of the hotspot. Passive: answers to probes come too late under emulation. */
const scan = 'ip link set wlan2 up; iw dev wlan2 scan freq 2412 2437 2462 5180 flush passive';

/** One command measures all that is in the machine's surroundings. */
export const measureCommand = [
  `ip netns exec phone sh -c '${scan}'`,
  'echo; echo scanned $?; echo at home',
  'ip netns exec router iw dev wlan1 station dump',
  'echo at cafe',
  'ip netns exec cafe iw dev wlan3 station dump',
  `echo '${end}'`,
].join('; ');

/** @returns undefined if the output is incomplete or the scan failed */
export function parseMeasurement(
  output: string,
  device: { hotspot: string; address: string },
): { isHotspotOnAir: boolean; station: Place | null; ssids: string[] } | undefined {
  const lines = output
    .trimEnd()
    .split('\n')
    .map((line) => line.trim());
  if (!lines.includes(scanned) || lines.at(-1) !== end) return undefined;
  const ssids = lines.flatMap((line) => (line.startsWith('SSID: ') ? [line.slice(6)] : []));
  const stationsOf = (place: Place): string => {
    const text = output.slice(output.indexOf(`at ${place}\n`));
    return text.slice(0, Math.max(text.indexOf('\nat '), 0) || undefined);
  };
  const isAt = (place: Place): boolean =>
    stationsOf(place)
      .split('Station ')
      .some((station) => station.startsWith(device.address) && /authorized:\s+yes/.test(station));
  const station = isAt('home') ? 'home' : isAt('cafe') ? 'cafe' : null;
  return { isHotspotOnAir: ssids.includes(device.hotspot), station, ssids };
}
