// Generated from config-schema.ts by tools/gen.ts. Do not edit.
import type { Section } from '../config/field-row.ts';

/** Versions of agent and machine server. */
export interface VersionControl {
  /** Version of the agent. With "stable" it is upgraded when a new version is released. Default: "stable". */
  readonly agent: string;
  /** Version of the machine server: a semantic version, "stable", "dev", a URL, or a file:// URL to a local binary. Default: "stable". */
  readonly 'platform-server': string;
}

/** Switches for what the agent does at run time. */
export interface AdvancedSettings {
  /** Sets the log level of the agent to debug. Default: false. */
  readonly debug: boolean;
  /** Turns off network and hotspot configuration and additional networks. Default: false. */
  readonly disable_network_configuration: boolean;
  /** Turns off the system configuration. The agent restores what it changed. Default: false. */
  readonly disable_system_configuration: boolean;
  /** Stops the machine server and keeps it stopped, for example while a user runs it by hand. Default: false. */
  readonly disable_platform_server: boolean;
  /** A machine server that has not started successfully after this long is killed and started again. Unit: min. Default: 10. */
  readonly platform_server_start_timeout_minutes: number;
  /** At start, wait for a network and check for updates before the machine server is started. Later checks are the same either way. Default: false. */
  readonly wait_for_update_check: boolean;
  /** The agent restarts itself into a newly installed version of its own instead of waiting for the next restart. Default: false. */
  readonly agent_auto_restart: boolean;
  /** A restart for a new version that has waited for this long no longer waits for a maintenance window or the maintenance sensor. Unit: h. Default: 0. */
  readonly maintenance_longest_deferral_hours: number;
  /** Sends repeated log lines one by one. Default: false. */
  readonly disable_log_deduplication: boolean;
  /** Environment variables of the machine server. Default: see the table. */
  readonly platform_server_env: Readonly<Record<string, string>>;
}

/** Provisioning hotspot and network behaviour. */
export interface NetworkConfiguration {
  /** The device reboots after it was offline this long. 0: never. Raised to offline_before_starting_hotspot_minutes plus user_idle_minutes; each further reboot waits twice as long. Unit: min. Default: 0. */
  readonly device_reboot_after_offline_minutes: number;
  /** When false, every name looked up on the hotspot leads to the device; when true, only names that end in .setup. Default: false. */
  readonly disable_captive_portal_redirect: boolean;
  /** Fragment that configures new machines; required with the mobile provisioning app. Default: "". */
  readonly fragment_id: string;
  /** Interface for hotspot, provisioning and WiFi. Default: "". */
  readonly hotspot_interface: string;
  /** WiFi password of the provisioning hotspot. Default: see the table. */
  readonly hotspot_password: string;
  /** Goes before the hostname of the device to form the SSID of the hotspot. Default: "platform-setup". */
  readonly hotspot_prefix: string;
  /** Shown on the captive portal and in the provisioning app. Default: "platform". */
  readonly manufacturer: string;
  /** Shown on the captive portal and in the provisioning app. Default: "custom". */
  readonly model: string;
  /** The hotspot starts only after the device was offline longer than this. Unit: min. Default: 2. */
  readonly offline_before_starting_hotspot_minutes: number;
  /** Provisioning ends after this long, so that other connections are tried. Unit: min. Default: 10. */
  readonly retry_connection_timeout_minutes: number;
  /** When true, all configured networks are tried and only a reachable internet counts as online; when false, one WiFi connection is enough. Default: false. */
  readonly turn_on_hotspot_if_wifi_has_no_internet: boolean;
  /** A user of the portal or of the provisioning app counts as idle after this long. Unit: min. Default: 5. */
  readonly user_idle_minutes: number;
  /** Turns power save of all managed WiFi connections on or off. Default: null. */
  readonly wifi_power_save: boolean | null;
  /** SSID of the hotspot, in place of prefix and hostname. Default: "". */
  readonly hotspot_ssid: string;
  /** Turns off provisioning over Bluetooth. Default: false. */
  readonly disable_bt_provisioning: boolean;
  /** Turns off the provisioning hotspot. Provisioning over Bluetooth stays. Default: false. */
  readonly disable_wifi_provisioning: boolean;
  /** Band of the hotspot in GHz. The other band is used where the country or the radio allows no channel in this one. Default: "". */
  readonly hotspot_band: '5' | '' | '2.4';
  /** Lets clients of the hotspot reach the machine's other networks and, with `disable_captive_portal_redirect`, look up names there. Whoever knows `hotspot_password` can then use them. Default: false. */
  readonly hotspot_share_internet: boolean;
  /** Country whose rules the WiFi radio obeys: allowed channels and power. Default: "". */
  readonly wifi_country: string;
}

/** Networks to fall back to. Also accepted as an object from name to network. */
export interface AdditionalNetwork {
  /** Kind of network. */
  readonly type: 'wifi' | 'wired';
  /** Interface name; empty: any. Default: "". */
  readonly interface: string;
  /** WiFi SSID; needed for WiFi only. Default: "". */
  readonly ssid: string;
  /** Passkey of the network. Default: see the table. */
  readonly psk: string;
  /** The network with the higher number is preferred. Default: 0. */
  readonly priority: number;
  /** IPv4 address in CIDR form, or "auto". Default: "auto". */
  readonly ipv4_address: string;
  /** IPv4 gateway. Default: "". */
  readonly ipv4_gateway: string;
  /** IPv4 DNS servers. Default: []. */
  readonly ipv4_dns: readonly string[];
  /** The route with the lower number is preferred. 0: 100 for wired, 600 for wireless. Default: 0. */
  readonly ipv4_route_metric: number;
  /** Name of the network; the key, where the networks are written as an object. Default: "". */
  readonly name: string;
  /** The WiFi network does not announce its SSID, so the radio asks for it by name. Default: false. */
  readonly hidden: boolean;
  /** Sign-in to a WPA2- or WPA3-enterprise network; "" for any other network. Default: "". */
  readonly eap_method: '' | 'peap' | 'ttls' | 'tls';
  /** How peap and ttls send the password in their tunnel: peap by mschapv2 or gtc, ttls by any of them. Default: "". */
  readonly eap_inner_method: '' | 'mschapv2' | 'gtc' | 'pap' | 'chap' | 'mschap';
  /** Identity that signs in, for example a user name. Default: "". */
  readonly eap_identity: string;
  /** Identity that is sent in clear text before the server has proven itself. Default: "". */
  readonly eap_anonymous_identity: string;
  /** Password of the identity, for peap and ttls. Default: see the table. */
  readonly eap_password: string;
  /** Certificate of the authority that issued the certificate of the authentication server. Default: "". */
  readonly eap_ca_certificate: string;
  /** Name that the certificate of the authentication server must have; empty: any. Default: "". */
  readonly eap_server_name: string;
  /** Certificate of this machine, for tls. Default: "". */
  readonly eap_client_certificate: string;
  /** Private key of the certificate of this machine, for tls. Default: see the table. */
  readonly eap_client_key: string;
  /** Password of an encrypted private key. Default: see the table. */
  readonly eap_client_key_password: string;
}

/** Logging and upgrades of the operating system. */
export interface SystemConfiguration {
  /** Space for temporary logs. -1: the limit of the system holds. Unit: MB. Default: 512. */
  readonly logging_journald_runtime_max_use_megabytes: number;
  /** Disk space for persistent logs. -1: the limit of the system holds. Unit: MB. Default: 512. */
  readonly logging_journald_system_max_use_megabytes: number;
  /** Automatic upgrades: "all" packages, only "security", "disable", or "" for what the system is set to. The managed- forms mean the same as the others. Default: "". */
  readonly os_auto_upgrade_type: '' | 'all' | 'security' | 'disable' | 'managed-all' | 'managed-security';
}

export interface MaintenanceWindow {
  /** Days on which the window begins. Default: ["mon","tue","wed","thu","fri","sat","sun"]. */
  readonly days: readonly ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[];
  /** Time at which it begins. */
  readonly from: string;
  /** Time at which it ends; on the next day when it is earlier than `from`. Give either `to` or `duration_minutes`. */
  readonly to?: string;
  /** How long it is open, in place of `to`. Unit: min. */
  readonly duration_minutes?: number;
  /** Time zone of the times by its IANA name, such as Europe/Berlin; "device": the time zone that the machine is set to. Default: "UTC". */
  readonly time_zone: string;
}

/** The `agent` object with every default filled in. */
export interface AgentConfig {
  readonly version_control: VersionControl;
  readonly advanced_settings: AdvancedSettings;
  readonly network_configuration: NetworkConfiguration;
  readonly additional_networks: readonly AdditionalNetwork[];
  readonly system_configuration: SystemConfiguration;
  readonly maintenance_window: readonly MaintenanceWindow[];
}

/** Every field by section and key. */
export const fieldTable = {
  version_control: {
    agent: { type: 'string', default: 'stable', pattern: /^(?:stable|dev|v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?|https?:\/\/[^\s/]+\/\S+|file:\/\/\/\S+)$/, expected: 'a version such as 1.4.0, "stable", "dev", an http(s):// URL or a file:/// URL', since: '0.1.0' },
    'platform-server': { type: 'string', default: 'stable', pattern: /^(?:stable|dev|v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?|https?:\/\/[^\s/]+\/\S+|file:\/\/\/\S+)$/, alias: 'viam-server', expected: 'a version such as 1.4.0, "stable", "dev", an http(s):// URL or a file:/// URL', since: '0.1.0' },
  },
  advanced_settings: {
    debug: { type: 'boolean', default: false, since: '0.1.0' },
    disable_network_configuration: { type: 'boolean', default: false, since: '0.1.0', platforms: ['linux'] },
    disable_system_configuration: { type: 'boolean', default: false, since: '0.1.0', platforms: ['linux'] },
    disable_platform_server: { type: 'boolean', default: false, alias: 'disable_viam_server', since: '0.1.0' },
    platform_server_start_timeout_minutes: { type: 'integer', default: 10, min: 1, max: 10080, unit: 'min', alias: 'viam_server_start_timeout_minutes', since: '0.1.0' },
    wait_for_update_check: { type: 'boolean', default: false, since: '0.1.0' },
    agent_auto_restart: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0' },
    maintenance_longest_deferral_hours: { type: 'integer', default: 0, min: 0, max: 8784, unit: 'h', isBeyondSpec: true, since: '0.1.0' },
    disable_log_deduplication: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0' },
    platform_server_env: { type: 'map', default: {}, pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, isSecret: true, alias: 'viam_server_env', isBeyondSpec: true, expected: 'an object of environment variables with text values', since: '0.1.0' },
  },
  network_configuration: {
    device_reboot_after_offline_minutes: { type: 'integer', default: 0, min: 0, max: 43200, unit: 'min', since: '0.1.0', platforms: ['linux'] },
    disable_captive_portal_redirect: { type: 'boolean', default: false, since: '0.1.0', platforms: ['linux'] },
    fragment_id: { type: 'string', default: '', since: '0.1.0', platforms: ['linux'] },
    hotspot_interface: { type: 'string', default: '', pattern: /^[!-.0-~]{0,15}$/, expected: 'an interface name of at most 15 ASCII characters without blanks', since: '0.1.0', platforms: ['linux'] },
    hotspot_password: { type: 'string', default: 'platformsetup', pattern: /^[\x20-\x7e]{8,63}$/, isSecret: true, expected: '8 to 63 ASCII characters', since: '0.1.0', platforms: ['linux'] },
    hotspot_prefix: { type: 'string', default: 'platform-setup', minLength: 1, maxBytes: 31, since: '0.1.0', platforms: ['linux'] },
    manufacturer: { type: 'string', default: 'platform', since: '0.1.0', platforms: ['linux'] },
    model: { type: 'string', default: 'custom', since: '0.1.0', platforms: ['linux'] },
    offline_before_starting_hotspot_minutes: { type: 'integer', default: 2, min: 1, max: 10080, unit: 'min', since: '0.1.0', platforms: ['linux'] },
    retry_connection_timeout_minutes: { type: 'integer', default: 10, min: 1, max: 10080, unit: 'min', since: '0.1.0', platforms: ['linux'] },
    turn_on_hotspot_if_wifi_has_no_internet: { type: 'boolean', default: false, since: '0.1.0', platforms: ['linux'] },
    user_idle_minutes: { type: 'integer', default: 5, min: 1, max: 10080, unit: 'min', since: '0.1.0', platforms: ['linux'] },
    wifi_power_save: { type: 'boolean', default: null, isNullable: true, since: '0.1.0', platforms: ['linux'] },
    hotspot_ssid: { type: 'string', default: '', maxBytes: 32, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    disable_bt_provisioning: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    disable_wifi_provisioning: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    hotspot_band: { type: 'string', default: '', values: ['5', '', '2.4'], isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    hotspot_share_internet: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    wifi_country: { type: 'string', default: '', pattern: /^(?:[A-Z]{2})?$/, isBeyondSpec: true, expected: 'empty, or a country code of ISO 3166 in two capital letters, such as DE', since: '0.1.0', platforms: ['linux'] },
  },
  additional_networks: {
    type: { type: 'string', values: ['wifi', 'wired'], since: '0.1.0', platforms: ['linux'] },
    interface: { type: 'string', default: '', pattern: /^[!-.0-~]{0,15}$/, expected: 'an interface name of at most 15 ASCII characters without blanks', since: '0.1.0', platforms: ['linux'] },
    ssid: { type: 'string', default: '', maxBytes: 32, since: '0.1.0', platforms: ['linux'] },
    psk: { type: 'string', default: '', pattern: /^(?:[\x20-\x7e]{8,63}|[0-9A-Fa-f]{64})?$/, isSecret: true, expected: 'empty, 8 to 63 ASCII characters, or 64 hexadecimal digits', since: '0.1.0', platforms: ['linux'] },
    priority: { type: 'integer', default: 0, min: -999, max: 999, since: '0.1.0', platforms: ['linux'] },
    ipv4_address: { type: 'string', default: 'auto', pattern: /^(?:auto|(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\/(?:3[0-2]|[12]?\d))?$/, expected: '"auto" or an address with its prefix length, such as 192.168.1.20/24', since: '0.1.0', platforms: ['linux'] },
    ipv4_gateway: { type: 'string', default: '', pattern: /^(?:(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d))?$/, expected: 'an IPv4 address, such as 192.168.1.1', since: '0.1.0', platforms: ['linux'] },
    ipv4_dns: { type: 'strings', default: [], pattern: /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/, expected: 'a list of IPv4 addresses', since: '0.1.0', platforms: ['linux'] },
    ipv4_route_metric: { type: 'integer', default: 0, min: 0, max: 4294967295, since: '0.1.0', platforms: ['linux'] },
    name: { type: 'string', default: '', isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    hidden: { type: 'boolean', default: false, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_method: { type: 'string', default: '', values: ['', 'peap', 'ttls', 'tls'], isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_inner_method: { type: 'string', default: '', values: ['', 'mschapv2', 'gtc', 'pap', 'chap', 'mschap'], isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_identity: { type: 'string', default: '', maxBytes: 253, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_anonymous_identity: { type: 'string', default: '', maxBytes: 253, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_password: { type: 'string', default: '', maxBytes: 253, isSecret: true, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_ca_certificate: { type: 'string', default: '', maxBytes: 16384, pattern: /^(?:[\s\S]*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s:,-]+-----END CERTIFICATE-----[\s\S]*)?$/, isBeyondSpec: true, expected: 'empty, or a certificate in PEM form of at most 16384 bytes', since: '0.1.0', platforms: ['linux'] },
    eap_server_name: { type: 'string', default: '', maxBytes: 253, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
    eap_client_certificate: { type: 'string', default: '', maxBytes: 16384, pattern: /^(?:[\s\S]*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s:,-]+-----END CERTIFICATE-----[\s\S]*)?$/, isBeyondSpec: true, expected: 'empty, or a certificate in PEM form of at most 16384 bytes', since: '0.1.0', platforms: ['linux'] },
    eap_client_key: { type: 'string', default: '', maxBytes: 16384, pattern: /^(?:[\s\S]*-----BEGIN (?:[A-Z]{1,20} )?PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]+-----END (?:[A-Z]{1,20} )?PRIVATE KEY-----[\s\S]*)?$/, isSecret: true, isBeyondSpec: true, expected: 'empty, or a private key in PEM form of at most 16384 bytes', since: '0.1.0', platforms: ['linux'] },
    eap_client_key_password: { type: 'string', default: '', maxBytes: 253, isSecret: true, isBeyondSpec: true, since: '0.1.0', platforms: ['linux'] },
  },
  system_configuration: {
    logging_journald_runtime_max_use_megabytes: { type: 'integer', default: 512, min: -1, max: 1048576, unit: 'MB', since: '0.1.0', platforms: ['linux'] },
    logging_journald_system_max_use_megabytes: { type: 'integer', default: 512, min: -1, max: 1048576, unit: 'MB', since: '0.1.0', platforms: ['linux'] },
    os_auto_upgrade_type: { type: 'string', default: '', values: ['', 'all', 'security', 'disable', 'managed-all', 'managed-security'], since: '0.1.0', platforms: ['linux'] },
  },
  maintenance_window: {
    days: { type: 'strings', default: ["mon","tue","wed","thu","fri","sat","sun"], values: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], minItems: 1, isBeyondSpec: true, expected: 'a list of mon, tue, wed, thu, fri, sat, sun', since: '0.1.0' },
    from: { type: 'string', pattern: /^(?:[01]\d|2[0-3]):[0-5]\d$/, isBeyondSpec: true, expected: 'a time from 00:00 to 23:59, such as 02:30', since: '0.1.0' },
    to: { type: 'string', isOptional: true, pattern: /^(?:[01]\d|2[0-3]):[0-5]\d$/, isBeyondSpec: true, expected: 'a time from 00:00 to 23:59, such as 02:30', since: '0.1.0' },
    duration_minutes: { type: 'integer', isOptional: true, min: 1, max: 10080, unit: 'min', isBeyondSpec: true, since: '0.1.0' },
    time_zone: { type: 'string', default: 'UTC', isBeyondSpec: true, expected: 'an IANA time zone, such as Europe/Berlin, or "device"', since: '0.1.0' },
  },
} as const satisfies Record<string, Section>;
