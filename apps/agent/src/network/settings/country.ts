import { changedOr, errorText, type Cell } from '@platform/kit';
import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { Network, NetworkState } from '../../os/network-port.ts';
import type { NetworkSettings } from './network-settings.ts';
import type { Context } from '../../health/context.ts';

const code = 'WIFI_COUNTRY_NOT_APPLIED';
/** Another program, or an access point, may change the country without a sign. */
const checkEveryMs = 5 * 60_000;
/** A hotspot that is still opening cannot be moved yet. */
const moveAgainMs = 10_000;

/** Whether the radios obey the country. */
export interface CountryOutcome {
  country: string;
  /** Why they do not, as a clause; empty: they do. */
  problem: string;
  /** ms since 1970. */
  measuredWall: number;
}

export interface CountryParts extends Pick<Context, 'conditions' | 'clock' | 'log'> {
  network: Network;
  settings: Cell<NetworkSettings>;
  /** Gets what came of each attempt; absent: none is reported. */
  outcome?: Cell<CountryOutcome | undefined>;
  /** The hotspot may not stay on its channel. */
  move: () => void;
}

/** Keeps the country of the radios: over reboots, over radios that come and go, and over changes by others. */
export async function keepCountry(parts: CountryParts, signal: AbortSignal): Promise<void> {
  const { network, settings, log } = parts;
  let logged = '';
  while (!signal.aborted) {
    const goal = settings.get();
    const radios = radiosOf(network.state.get());
    const country = goal.isDisabled ? '' : goal.config.wifi_country;
    // The management server may know a country: until then nothing is given back.
    if (country !== '' || !goal.isPreliminary) {
      const problem = await network.setCountry(country).catch(errorText);
      report(country, problem, parts.conditions);
      parts.outcome?.set({ country, problem, measuredWall: parts.clock.wall() });
      const line = `${country} ${problem}`;
      if (line !== logged && problem !== '')
        log.warn('the country of the radio is not in effect', { country, problem });
      if (line !== logged && problem === '' && country !== '') log.info('the radio obeys a country', { country });
      logged = line;
    }
    const channel = await network.hotspotProblem().catch(() => '');
    if (channel !== '') {
      log.info('the hotspot moves', { because: channel });
      parts.move();
    }
    const checkMs = channel !== '' ? moveAgainMs : country !== '' ? checkEveryMs : undefined;
    await nextChange(parts, { goal, radios, checkMs }, signal);
  }
}

/** A new radio, and another access point, can change the rules in effect. */
const radiosOf = ({ devices }: NetworkState): string =>
  JSON.stringify(
    devices
      .filter(({ type }) => type === 'wifi')
      .map(({ interface: name, state, ssid, isHotspot }) => [name, state === 'connected' ? ssid : '', isHotspot]),
  );

async function nextChange(
  { network, settings, clock }: CountryParts,
  { goal, radios, checkMs }: { goal: NetworkSettings; radios: string; checkMs: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  const until = checkMs === undefined ? Infinity : clock.now() + checkMs;
  while (!signal.aborted && settings.get() === goal && radiosOf(network.state.get()) === radios) {
    const left = until - clock.now();
    if (left <= 0) return;
    await changedOr([settings, network.state], left, clock, signal);
  }
}

function report(country: string, reason: string, conditions: ConditionSet): void {
  if (country === '' || reason === '') return clearCondition(conditions, code);
  setCondition(conditions, code, { country, reason });
}
