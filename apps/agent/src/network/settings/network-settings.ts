import type { AgentConfig } from '@platform/contract/config/agent-config';
import type { ConditionCode } from '@platform/contract/conditions/conditions';
import { ssidOfHotspot } from '@platform/contract/provisioning/hotspot';
import type { Mode } from '../../state-machines/network-rules.ts';
import { limitsFrom, type Settings } from '../../state-machines/provisioning-state.ts';
import type { Hotspot } from '../../os/network-port.ts';
import type { ConfigContent, NetworkSources, Wanted } from '../../state/state.ts';

export type AdditionalNetwork = AgentConfig['additional_networks'][number];

/** What the configuration says about the network. */
export interface NetworkSettings extends ConfigContent {
  /** The configuration of the management server is not known yet: nothing of this agent is given up. */
  isPreliminary: boolean;
  /** It is known, if only that none is saved: networks of this agent may be changed and removed for it. */
  isKnown: boolean;
  isDisabled: boolean;
  config: AgentConfig['network_configuration'];
  additional: readonly AdditionalNetwork[];
  /** Networks that no server can accept, and why, as a clause. Absent: none. */
  unusable?: readonly { network: AdditionalNetwork; code: ConditionCode; reason: string }[];
  /** Absent: not known. */
  sources?: NetworkSources;
}

export const networkSettingsOf = (
  { revision, configSha256, settings, isFresh, networkSources }: Wanted,
  hasCredentials: boolean,
): NetworkSettings => ({
  revision,
  configSha256,
  isPreliminary: revision === 0 && !isFresh && hasCredentials,
  isKnown: revision > 0 || isFresh,
  isDisabled: settings.isNetworkDisabled,
  config: settings.network,
  additional: settings.additionalNetworks,
  ...(networkSources && { sources: networkSources }),
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
    hotspot: JSON.stringify(hotspotFields(settings, hostname)),
  };
}

/** What a running hotspot must be started again for, by the name of its field. */
const hotspotFields = (settings: NetworkSettings, hostname: string): Readonly<Record<string, string | boolean>> => {
  const { config: network_configuration } = settings;
  return {
    SSID: hotspotSsid(settings, hostname).ssid,
    hotspot_password: network_configuration.hotspot_password,
    hotspot_interface: network_configuration.hotspot_interface,
    disable_captive_portal_redirect: network_configuration.disable_captive_portal_redirect,
    disable_wifi_provisioning: network_configuration.disable_wifi_provisioning,
    hotspot_band: network_configuration.hotspot_band,
    hotspot_share_internet: network_configuration.hotspot_share_internet,
    disable_bt_provisioning:
      network_configuration.disable_wifi_provisioning && network_configuration.disable_bt_provisioning,
  };
};

/** The fields whose newest values the running hotspot does not have; both as in `Settings.hotspot`. */
export function waitingFields(running: string, newest: string): readonly string[] {
  if (running === newest) return [];
  const [now, next] = [running, newest].map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
  return Object.keys(next ?? {}).filter((name) => now?.[name] !== next?.[name]);
}

/** The hotspot as it is configured. */
export function hotspotOf(settings: NetworkSettings, hostname: string): Omit<Hotspot, 'interface'> {
  const { config: network_configuration } = settings;
  return {
    ssid: hotspotSsid(settings, hostname).ssid,
    password: network_configuration.hotspot_password,
    isRedirecting: !network_configuration.disable_captive_portal_redirect,
    isSharing: network_configuration.hotspot_share_internet,
    band: network_configuration.hotspot_band,
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
