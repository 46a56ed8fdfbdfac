import type { AgentConfig } from '@platform/contract/agent-config';
import { ssidOfHotspot } from '@platform/contract/hotspot';
import type { Mode } from '../machines/network-rules.ts';
import { limitsFrom, type Settings } from '../machines/provisioning-state.ts';
import type { Wanted } from '../state/state.ts';

export type AdditionalNetwork = AgentConfig['additional_networks'][number];

/** What the configuration says about the network. */
export interface NetworkSettings {
  revision: number;
  /** The configuration of the management server is not known yet: nothing of this agent is changed or removed. */
  isPreliminary: boolean;
  isDisabled: boolean;
  config: AgentConfig['network_configuration'];
  additional: readonly AdditionalNetwork[];
}

export const networkSettingsOf = ({ revision, settings }: Wanted, hasCredentials: boolean): NetworkSettings => ({
  revision,
  isPreliminary: revision === 0 && hasCredentials,
  isDisabled: settings.isNetworkDisabled,
  config: settings.network,
  additional: settings.additionalNetworks,
});

export const modeOf = ({ config: network_configuration }: NetworkSettings): Mode =>
  network_configuration.turn_on_hotspot_if_wifi_has_no_internet ? 'roaming' : 'single';

const minuteMs = 60_000;

/** The settings of the state machine. */
export function machineSettings(settings: NetworkSettings, hostname: string): Settings {
  const { config: network_configuration } = settings;
  const reboot = network_configuration.device_reboot_after_offline_minutes;
  return {
    isManaged: !settings.isDisabled,
    mode: modeOf(settings),
    limits: limitsFrom({
      serverStartMs: 0,
      offlineBeforeHotspotMs: network_configuration.offline_before_starting_hotspot_minutes * minuteMs,
      retryConnectionMs: network_configuration.retry_connection_timeout_minutes * minuteMs,
      userIdleMs: network_configuration.user_idle_minutes * minuteMs,
      rebootAfterOfflineMs: reboot === 0 ? Infinity : reboot * minuteMs,
    }),
    hotspot: JSON.stringify([
      hotspotSsid(settings, hostname).ssid,
      network_configuration.hotspot_password,
      network_configuration.hotspot_interface,
      network_configuration.disable_captive_portal_redirect,
      network_configuration.disable_wifi_provisioning,
      network_configuration.hotspot_band,
      network_configuration.disable_wifi_provisioning && network_configuration.disable_bt_provisioning,
    ]),
  };
}

/** `wanted`: the name before it was cut to what a WiFi network can have. */
export const hotspotSsid = (
  { config: network_configuration }: NetworkSettings,
  hostname: string,
): { ssid: string; wanted: string } =>
  ssidOfHotspot({
    ssid: network_configuration.hotspot_ssid,
    prefix: network_configuration.hotspot_prefix,
    hostname,
  });
