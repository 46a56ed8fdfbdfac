// Rules across fields, as pure functions. The server applies them when a user saves, a device when it receives.
import type { Breach } from './breach.ts';
import { addressBreaches, eapBreaches } from './network-rules.ts';
import type { AdditionalNetwork, NetworkConfiguration } from '../gen/agent-config.gen.ts';
import type { Json } from '../text/json-object.ts';

type RebootFields = Pick<
  NetworkConfiguration,
  'device_reboot_after_offline_minutes' | 'offline_before_starting_hotspot_minutes' | 'user_idle_minutes'
>;

/** Least offline time before a reboot: the hotspot starts, and a user who found it finishes. */
export const leastRebootMinutes = (network: RebootFields): number =>
  network.offline_before_starting_hotspot_minutes + network.user_idle_minutes;

/**
 * If a device reboots before its hotspot starts, or while a user configures it, it can never be set up again. The device
 * raises the value, therefore this is a warning.
 */
export function rebootBreach(network: RebootFields): Breach | undefined {
  const reboot = network.device_reboot_after_offline_minutes;
  const least = leastRebootMinutes(network);
  if (reboot === 0 || reboot >= least) return undefined;
  const [hotspot, idle] = [network.offline_before_starting_hotspot_minutes, network.user_idle_minutes];
  return {
    key: 'device_reboot_after_offline_minutes',
    message: `is ${reboot}; the device uses ${least} minutes: its hotspot starts after ${hotspot} minutes offline, and a user needs ${idle} minutes.`,
    remedy: `Write 0 (never) or ${least} or more, or lower offline_before_starting_hotspot_minutes or user_idle_minutes.`,
    isError: false,
  };
}

/** Broken rules within one network. */
export function networkBreaches(network: Omit<AdditionalNetwork, 'name'>): Breach[] {
  const breaches: Breach[] = [];
  if (network.type === 'wifi' && network.ssid === '') {
    breaches.push({
      key: 'ssid',
      message: 'must be given for a network of type "wifi".',
      remedy: 'Write the name of the WiFi network.',
      isError: true,
    });
  }
  if (network.type === 'wifi') breaches.push(...eapBreaches(network));
  const key = wifiKeys.find((one) => network[one] !== '' && network[one] !== false);
  if (network.type === 'wired' && key !== undefined) {
    breaches.push({
      key,
      message: 'has no meaning for a network of type "wired".',
      remedy: 'Remove the key, or set type to "wifi".',
      isError: false,
    });
  }
  return [...breaches, ...addressBreaches(network)];
}

const wifiKeys = ['ssid', 'psk', 'hidden', 'eap_method'] as const;

function isTimeZone(name: string): boolean {
  try {
    return name === 'device' || new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    // RangeError: unknown time zone.
    return false;
  }
}

/** Broken rules across the fields of a window; a field of a wrong type is left to the schema. */
export function windowBreaches({ from, to, duration_minutes: duration, time_zone: zone }: Json): Breach[] {
  const found: Breach[] = [];
  const add = (key: string, message: string, remedy: string): void =>
    void found.push({ key, message, remedy, isError: true });
  const [hasEnd, hasDuration] = [to !== undefined, duration !== undefined];
  if (!hasEnd && !hasDuration)
    add('to', 'is required, unless duration_minutes is given.', 'Write the time at which the window ends.');
  if (hasEnd && hasDuration) add('duration_minutes', 'must not be given together with "to".', 'Remove one of the two.');
  if (hasEnd && !hasDuration && from === to)
    add('to', `must differ from "from" (${String(from)}).`, 'Remove maintenance_window to allow every time.');
  if (typeof zone === 'string' && !isTimeZone(zone))
    add(
      'time_zone',
      `must be an IANA time zone, such as Europe/Berlin, or "device", not ${JSON.stringify(zone)}.`,
      'Write the name of a time zone, or remove the key: the default is "UTC".',
    );
  return found;
}
