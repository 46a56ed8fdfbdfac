// Rules across fields, as pure functions. The server applies them when a user saves, a device when it receives.
import type { Breach } from './config-breach.ts';
import { addressBreaches, eapBreaches } from './network-rules.ts';
import type { AdditionalNetwork, MaintenanceWindow, NetworkConfiguration } from './gen/agent-config.gen.ts';

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
  const found: Breach[] = [];
  if (network.type === 'wifi' && network.ssid === '') {
    found.push({
      key: 'ssid',
      message: 'must be given for a network of type "wifi".',
      remedy: 'Write the name of the WiFi network.',
      isError: true,
    });
  }
  if (network.type === 'wifi') found.push(...eapBreaches(network));
  const key = wifiKeys.find((one) => network[one] !== '' && network[one] !== false);
  if (network.type === 'wired' && key !== undefined) {
    found.push({
      key,
      message: 'has no meaning for a network of type "wired".',
      remedy: 'Remove the key, or set type to "wifi".',
      isError: false,
    });
  }
  return [...found, ...addressBreaches(network)];
}

const wifiKeys = ['ssid', 'psk', 'hidden', 'eap_method'] as const;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    // RangeError: unknown time zone.
    return false;
  }
}

export function windowBreaches(window: MaintenanceWindow): Breach[] {
  const found: Breach[] = [];
  if (window.from === window.to) {
    found.push({
      key: 'to',
      message: `must differ from "from" (${window.from}).`,
      remedy: 'Remove maintenance_window to allow every time.',
      isError: true,
    });
  }
  if (!isTimeZone(window.time_zone)) {
    found.push({
      key: 'time_zone',
      message: `must be an IANA time zone, such as Europe/Berlin, not ${JSON.stringify(window.time_zone)}.`,
      remedy: 'Write the name of a time zone, or remove the key: the default is "UTC".',
      isError: true,
    });
  }
  return found;
}
