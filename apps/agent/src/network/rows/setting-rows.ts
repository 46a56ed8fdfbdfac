// Rows of the settings of a radio, and the settings that can never act on a machine without one. Pure.
import type { Ineffective } from '@platform/contract/config/effect';
import type { NetworkState } from '../../os/network-port.ts';
import type { CountryOutcome } from '../settings/country.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkRow } from './network-rows.ts';
import { radioOf } from '../checks/observation.ts';
import { hasHadRadio, mayComeBack, type RowMemory } from './row-memory.ts';

/** Whether a radio saves power, as the kernel says; undefined: not measured. */
export interface PowerSaveReading {
  isOn: boolean | undefined;
  measuredWall: number;
}

export interface SettingSource {
  settings: NetworkSettings;
  network: NetworkState;
  memory: RowMemory;
  /** Undefined: not measured. */
  country: CountryOutcome | undefined;
  powerSave: PowerSaveReading | undefined;
  /** NetworkManager runs and does not answer. */
  isSilent?: boolean;
  wall: number;
}

/** Fields that need a WiFi radio. The informative ones (manufacturer, model, fragment_id) are left out. */
const radioFields = [
  'disable_captive_portal_redirect',
  'disable_wifi_provisioning',
  'hotspot_band',
  'hotspot_interface',
  'hotspot_password',
  'hotspot_prefix',
  'hotspot_ssid',
  'offline_before_starting_hotspot_minutes',
  'retry_connection_timeout_minutes',
  'turn_on_hotspot_if_wifi_has_no_internet',
  'user_idle_minutes',
  'wifi_country',
  'wifi_power_save',
];

const section = 'network_configuration';

/** Why no radio can act on the settings, as a clause, and whether that can change; undefined: there is one. */
function missing(of: SettingSource): { text: string; isForGood: boolean; isNamed: boolean } | undefined {
  const { settings, network, memory } = of;
  const radios = network.devices.filter(({ type }) => type === 'wifi');
  const name = settings.config.hotspot_interface;
  if (radios.length === 0) {
    const isForGood = !hasHadRadio(memory) && !(name !== '' && mayComeBack(name, memory));
    return { text: `this machine has no WiFi radio${isForGood ? '' : ' now'}`, isForGood, isNamed: false };
  }
  if (name === '' || radios.some((one) => one.interface === name)) return undefined;
  const isOther = network.devices.some((one) => one.interface === name);
  const isForGood = isOther || !mayComeBack(name, memory);
  const text = isOther
    ? `${name} is not a WiFi radio`
    : `${name} (hotspot_interface) is not there${isForGood ? '' : ' now'}`;
  return { text, isForGood, isNamed: true };
}

/** Settings that a user made and that can never act on this machine as it is. */
export function ineffectiveSettings(of: SettingSource): readonly Ineffective[] {
  const { settings, network } = of;
  if (settings.isDisabled || network.manager !== 'ready') return [];
  const found = missing(of);
  if (!found?.isForGood) return [];
  const remedy = found.isNamed
    ? 'Correct hotspot_interface, or plug in that radio.'
    : 'Plug in a WiFi radio, or remove it.';
  // The country and power save are those of all radios.
  const isOfAll = (key: string): boolean => found.isNamed && (key === 'wifi_country' || key === 'wifi_power_save');
  return radioFields.flatMap((key) => {
    const path = settings.sources?.fields[key];
    return path === undefined || isOfAll(key) ? [] : [{ section, path, reason: found.text, remedy }];
  });
}

type Outcome = Pick<NetworkRow, 'state' | 'text'> & Partial<NetworkRow>;

/** A row for each setting whose effect on a radio can be seen. */
export function settingRows(of: SettingSource): readonly NetworkRow[] {
  const { settings, wall } = of;
  const { hotspot_interface: name, wifi_country: country, wifi_power_save: powerSave } = settings.config;
  const outcomes: [key: string, outcome: Outcome][] = [];
  if (name !== '') outcomes.push(['hotspot_interface', { ...radioRow(of), interface: name }]);
  if (country !== '') outcomes.push(['wifi_country', countryRow(of)]);
  if (powerSave !== null) outcomes.push(['wifi_power_save', powerSaveRow(of)]);
  return outcomes.map(([key, outcome]) => ({
    path: settings.sources?.fields[key] ?? `agent.${section}.${key}`,
    name: '',
    interface: '',
    code: '',
    sinceWall: null,
    measuredWall: wall,
    lastSeenWall: null,
    hasNoEffect: false,
    ...outcome,
  }));
}

/** Undefined: a radio can be observed. */
function unobserved({ settings, network, isSilent }: SettingSource): Outcome | undefined {
  if (settings.isDisabled)
    return { state: 'refused', text: 'disable_network_configuration is true', hasNoEffect: true };
  if (network.manager === 'ready' && isSilent !== true) return undefined;
  return { state: 'not-known', text: 'NetworkManager does not answer', measuredWall: null };
}

function radioRow(of: SettingSource): Outcome {
  const name = of.settings.config.hotspot_interface;
  const hidden = unobserved(of);
  if (hidden) return hidden;
  const found = missing(of);
  if (found)
    return { state: found.isNamed ? 'no-interface' : 'no-radio', text: found.text, hasNoEffect: found.isForGood };
  const isUsed = radioOf(of.network, name) === name;
  return isUsed
    ? { state: 'in-use', text: `${name} is the radio for the hotspot and for WiFi` }
    : { state: 'refused', text: `NetworkManager does not manage ${name}` };
}

const withoutRadio = (of: SettingSource): Outcome | undefined => {
  const found = missing(of);
  return found && !found.isNamed ? { state: 'no-radio', text: found.text, hasNoEffect: found.isForGood } : undefined;
};

function countryRow(of: SettingSource): Outcome {
  const { settings, country } = of;
  const none = unobserved(of) ?? withoutRadio(of);
  if (none && none.state !== 'not-known') return none;
  if (country?.country !== settings.config.wifi_country)
    return { state: 'not-known', text: 'the radio has not been asked yet', measuredWall: null };
  const { problem, measuredWall } = country;
  return problem === ''
    ? { state: 'in-use', text: 'the radios obey it', measuredWall }
    : { state: 'refused', text: problem, code: 'WIFI_COUNTRY_NOT_APPLIED', measuredWall };
}

function powerSaveRow(of: SettingSource): Outcome {
  const { settings, powerSave } = of;
  const none = unobserved(of) ?? withoutRadio(of);
  if (none) return none;
  if (powerSave?.isOn === undefined)
    return { state: 'not-known', text: 'the radio does not say whether it saves power', measuredWall: null };
  const { isOn, measuredWall } = powerSave;
  const is = `the radio ${isOn ? 'saves power' : 'does not save power'}`;
  return isOn === settings.config.wifi_power_save
    ? { state: 'in-use', text: is, measuredWall }
    : { state: 'waiting', text: `${is}; it changes with the next connection`, measuredWall };
}
