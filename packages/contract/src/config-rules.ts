// Rules across fields, as pure functions. The server applies them when a user saves, a device when it receives.
import type { AdditionalNetwork, MaintenanceWindow, NetworkConfiguration } from './gen/agent-config.gen.ts';

/** A broken rule: the invalid key, the requirement and the remedy. */
export interface Breach {
  readonly key: string;
  readonly message: string;
  readonly remedy: string;
  readonly isError: boolean;
}

type RebootFields = Pick<
  NetworkConfiguration,
  'device_reboot_after_offline_minutes' | 'offline_before_starting_hotspot_minutes' | 'user_idle_minutes'
>;

/** If a device reboots before its hotspot starts, or while a user configures it, it can never be set up again. */
export function rebootBreach(network: RebootFields): Breach | undefined {
  const reboot = network.device_reboot_after_offline_minutes;
  const least = Math.max(network.offline_before_starting_hotspot_minutes, network.user_idle_minutes);
  if (reboot === 0 || reboot >= least) return undefined;
  return {
    key: 'device_reboot_after_offline_minutes',
    message: `must be 0 or at least ${least} minutes, not ${reboot}: it must not be shorter than offline_before_starting_hotspot_minutes and user_idle_minutes.`,
    remedy: `Write 0 (never) or ${least} or more, or shorten the two others.`,
    isError: true,
  };
}

/** Broken rules within one network. */
export function networkBreaches(
  network: Pick<AdditionalNetwork, 'type' | 'ssid' | 'psk' | 'ipv4_address' | 'ipv4_gateway'>,
): Breach[] {
  const found: Breach[] = [];
  if (network.type === 'wifi' && network.ssid === '') {
    found.push({
      key: 'ssid',
      message: 'must be given for a network of type "wifi".',
      remedy: 'Write the name of the WiFi network.',
      isError: true,
    });
  }
  if (network.type === 'wired' && (network.ssid !== '' || network.psk !== '')) {
    found.push({
      key: network.ssid === '' ? 'psk' : 'ssid',
      message: 'has no meaning for a network of type "wired".',
      remedy: 'Remove the key, or set type to "wifi".',
      isError: false,
    });
  }
  if ((network.ipv4_address === 'auto' || network.ipv4_address === '') && network.ipv4_gateway !== '') {
    found.push({
      key: 'ipv4_gateway',
      message: 'is not used while ipv4_address is "auto".',
      remedy: 'Remove the key, or write a fixed ipv4_address.',
      isError: false,
    });
  }
  return found;
}

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
