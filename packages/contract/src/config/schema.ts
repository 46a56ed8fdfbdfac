// The single source of the `agent` configuration: types, defaults, limits, units, descriptions. Generated from it: the
// JSON Schema, the tables in docs/generated/config.md, and the field table for devices (they do not load Zod).
import { z } from 'zod';
import { bytes, eapText, first, firstOnLinux, flag, matching, minutes, type Notes, pem, text } from './field-kinds.ts';
import { maintenanceWindow } from './window-schema.ts';
import { semanticVersion } from '../releases/semantic-version.ts';

const ipv4 = '(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const version = new RegExp(`^(?:stable|dev|v?${semanticVersion}|https?://[^\\s/]+/\\S+|file:///\\S+)$`);
const versionForms = 'a version such as 1.4.0, "stable", "dev", an http(s):// URL or a file:/// URL';

const week = 7 * 24 * 60;
const interfaceName = {
  pattern: /^[!-.0-~]{0,15}$/,
  expected: 'an interface name of at most 15 ASCII characters without blanks',
};

export const versionControl = z
  .looseObject({
    agent: matching(version, 'stable', {
      ...first,
      title: 'Agent version',
      description: 'Version of the agent. With "stable" it is upgraded when a new version is released.',
      expected: versionForms,
    }),
    'platform-server': matching(version, 'stable', {
      ...first,
      title: 'Machine server version',
      description:
        'Version of the machine server: a semantic version, "stable", "dev", a URL, or a file:// URL to a local binary.',
      alias: 'viam-server',
      expected: versionForms,
    }),
  })
  .meta({ title: 'Versions', description: 'Versions of agent and machine server.' });

export const advancedSettings = z
  .looseObject({
    debug: flag(false, { ...first, title: 'Debug log', description: 'Sets the log level of the agent to debug.' }),
    disable_network_configuration: flag(false, {
      ...firstOnLinux,
      title: 'Leave networks alone',
      description: 'Turns off network and hotspot configuration and additional networks.',
    }),
    disable_system_configuration: flag(false, {
      ...firstOnLinux,
      title: 'Leave the system alone',
      description: 'Turns off the system configuration. The agent restores what it changed.',
    }),
    disable_platform_server: flag(false, {
      ...first,
      title: 'Stop the machine server',
      description: 'Stops the machine server and keeps it stopped, for example while a user runs it by hand.',
      alias: 'disable_viam_server',
    }),
    platform_server_start_timeout_minutes: minutes(10, 1, week, {
      ...first,
      title: 'Start timeout of the machine server',
      description: 'A machine server that has not started successfully after this long is killed and started again.',
      alias: 'viam_server_start_timeout_minutes',
    }),
    wait_for_update_check: flag(false, {
      ...first,
      title: 'Check for updates before the start',
      description:
        'At start, wait for a network and check for updates before the machine server is started. Later checks are the same either way.',
    }),
    agent_auto_restart: flag(false, {
      ...first,
      title: 'Restart the agent for its new version',
      description:
        'The agent restarts itself into a newly installed version of its own instead of waiting for the next restart.',
      beyondSpec: true,
    }),
    maintenance_longest_deferral_hours: z
      .int()
      .min(0)
      .max(8784)
      .default(0)
      .meta({
        ...first,
        title: 'Longest wait for maintenance',
        description:
          'A restart for a new version that has waited for this long no longer waits for a maintenance window or the maintenance sensor.',
        defaultText: '0 (never)',
        unit: 'h',
        beyondSpec: true,
      } satisfies Notes),
    disable_log_deduplication: flag(false, {
      ...first,
      title: 'Send repeated log lines one by one',
      description: 'Sends repeated log lines one by one.',
      beyondSpec: true,
    }),
    platform_server_env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
      .default({})
      .meta({
        ...first,
        title: 'Environment of the machine server',
        description: 'Environment variables of the machine server.',
        alias: 'viam_server_env',
        secret: true,
        beyondSpec: true,
        expected: 'an object of environment variables with text values',
      }),
  })
  .meta({ title: 'Advanced', description: 'Switches for what the agent does at run time.' });

export const networkConfiguration = z
  .looseObject({
    device_reboot_after_offline_minutes: minutes(0, 0, 30 * 24 * 60, {
      ...firstOnLinux,
      title: 'Reboot after being offline',
      description:
        'The device reboots after it was offline this long. 0: never. Raised to offline_before_starting_hotspot_minutes plus user_idle_minutes; each further reboot waits twice as long.',
      defaultText: '0 (disabled)',
    }),
    disable_captive_portal_redirect: flag(false, {
      ...firstOnLinux,
      title: 'Redirect only names in .setup',
      description:
        'When false, every name looked up on the hotspot leads to the device; when true, only names that end in .setup.',
    }),
    fragment_id: text('', {
      ...firstOnLinux,
      title: 'Fragment of new machines',
      description: 'Fragment that configures new machines; required with the mobile provisioning app.',
    }),
    hotspot_interface: matching(interfaceName.pattern, '', {
      ...firstOnLinux,
      title: 'Hotspot interface',
      description: 'Interface for hotspot, provisioning and WiFi.',
      defaultText: 'first discovered 802.11 device',
      expected: interfaceName.expected,
    }),
    hotspot_password: matching(/^[\x20-\x7e]{8,63}$/, 'platformsetup', {
      ...firstOnLinux,
      title: 'Hotspot password',
      description: 'WiFi password of the provisioning hotspot.',
      secret: true,
      expected: '8 to 63 ASCII characters',
    }),
    hotspot_prefix: z
      .string()
      .min(1)
      .refine((s) => bytes(s) <= 31)
      .default('platform-setup')
      .meta({
        ...firstOnLinux,
        title: 'Hotspot prefix',
        description: 'Goes before the hostname of the device to form the SSID of the hotspot.',
        maxBytes: 31,
      } satisfies Notes),
    manufacturer: text('platform', {
      ...firstOnLinux,
      title: 'Manufacturer',
      description: 'Shown on the captive portal and in the provisioning app.',
    }),
    model: text('custom', {
      ...firstOnLinux,
      title: 'Model',
      description: 'Shown on the captive portal and in the provisioning app.',
    }),
    offline_before_starting_hotspot_minutes: minutes(2, 1, week, {
      ...firstOnLinux,
      title: 'Start the hotspot after being offline',
      description: 'The hotspot starts only after the device was offline longer than this.',
    }),
    retry_connection_timeout_minutes: minutes(10, 1, week, {
      ...firstOnLinux,
      title: 'Retry other connections after',
      description: 'Provisioning ends after this long, so that other connections are tried.',
    }),
    turn_on_hotspot_if_wifi_has_no_internet: flag(false, {
      ...firstOnLinux,
      title: 'WiFi must reach the internet',
      description:
        'When true, all configured networks are tried and only a reachable internet counts as online; when false, one WiFi connection is enough.',
    }),
    user_idle_minutes: minutes(5, 1, week, {
      ...firstOnLinux,
      title: 'User idle after',
      description: 'A user of the portal or of the provisioning app counts as idle after this long.',
    }),
    wifi_power_save: z
      .boolean()
      .nullable()
      .default(null)
      .meta({
        ...firstOnLinux,
        title: 'WiFi power save',
        description: 'Turns power save of all managed WiFi connections on or off.',
        defaultText: 'false (when unset, the system default applies; null is accepted)',
      } satisfies Notes),
    hotspot_ssid: text('', {
      ...firstOnLinux,
      title: 'Hotspot SSID',
      description: 'SSID of the hotspot, in place of prefix and hostname.',
      maxBytes: 32,
      beyondSpec: true,
    }),
    disable_bt_provisioning: flag(false, {
      ...firstOnLinux,
      title: 'Turn off Bluetooth set-up',
      description: 'Turns off provisioning over Bluetooth.',
      beyondSpec: true,
    }),
    disable_wifi_provisioning: flag(false, {
      ...firstOnLinux,
      title: 'Turn off the hotspot',
      description: 'Turns off the provisioning hotspot. Provisioning over Bluetooth stays.',
      beyondSpec: true,
    }),
    hotspot_band: z
      .enum(['', '2.4', '5'])
      .default('')
      .meta({
        ...firstOnLinux,
        title: 'Hotspot band',
        description:
          'Band of the hotspot in GHz. The other band is used where the country or the radio allows no channel in this one.',
        defaultText: '2.4, which every phone has',
        beyondSpec: true,
      } satisfies Notes),
    hotspot_share_internet: flag(false, {
      ...firstOnLinux,
      title: 'Share the internet on the hotspot',
      description:
        "Lets clients of the hotspot reach the machine's other networks and, with `disable_captive_portal_redirect`, look up names there. Whoever knows `hotspot_password` can then use them.",
      beyondSpec: true,
    }),
    wifi_country: matching(/^(?:[A-Z]{2})?$/, '', {
      ...firstOnLinux,
      title: 'WiFi country',
      description: 'Country whose rules the WiFi radio obeys: allowed channels and power.',
      defaultText: 'the country that the system is set to',
      expected: 'empty, or a country code of ISO 3166 in two capital letters, such as DE',
      beyondSpec: true,
    }),
  })
  .meta({ title: 'Network and hotspot', description: 'Provisioning hotspot and network behaviour.' });

export const additionalNetwork = z
  .looseObject({
    type: z
      .enum(['wifi', 'wired'])
      .meta({ ...firstOnLinux, title: 'Type', description: 'Kind of network.' } satisfies Notes),
    interface: matching(interfaceName.pattern, '', {
      ...firstOnLinux,
      title: 'Interface',
      description: 'Interface name; empty: any.',
      expected: interfaceName.expected,
    }),
    ssid: text('', { ...firstOnLinux, title: 'SSID', description: 'WiFi SSID; needed for WiFi only.', maxBytes: 32 }),
    psk: matching(/^(?:[\x20-\x7e]{8,63}|[0-9A-Fa-f]{64})?$/, '', {
      ...firstOnLinux,
      title: 'Passkey',
      description: 'Passkey of the network.',
      secret: true,
      expected: 'empty, 8 to 63 ASCII characters, or 64 hexadecimal digits',
    }),
    priority: z
      .int()
      .min(-999)
      .max(999)
      .default(0)
      .meta({
        ...firstOnLinux,
        title: 'Priority',
        description: 'The network with the higher number is preferred.',
      } satisfies Notes),
    ipv4_address: matching(new RegExp(`^(?:auto|${ipv4}/(?:3[0-2]|[12]?\\d))?$`), 'auto', {
      ...firstOnLinux,
      title: 'IPv4 address',
      description: 'IPv4 address in CIDR form, or "auto".',
      expected: '"auto" or an address with its prefix length, such as 192.168.1.20/24',
    }),
    ipv4_gateway: matching(new RegExp(`^(?:${ipv4})?$`), '', {
      ...firstOnLinux,
      title: 'IPv4 gateway',
      description: 'IPv4 gateway.',
      expected: 'an IPv4 address, such as 192.168.1.1',
    }),
    ipv4_dns: z
      .array(z.string().regex(new RegExp(`^${ipv4}$`)))
      .default([])
      .meta({
        ...firstOnLinux,
        title: 'IPv4 DNS servers',
        description: 'IPv4 DNS servers.',
        expected: 'a list of IPv4 addresses',
      } satisfies Notes),
    ipv4_route_metric: z
      .int()
      .min(0)
      .max(4_294_967_295)
      .default(0)
      .meta({
        ...firstOnLinux,
        title: 'IPv4 route metric',
        description: 'The route with the lower number is preferred. 0: 100 for wired, 600 for wireless.',
      } satisfies Notes),
    name: text('', {
      ...firstOnLinux,
      title: 'Name',
      description: 'Name of the network; the key, where the networks are written as an object.',
      beyondSpec: true,
    }),
    hidden: flag(false, {
      ...firstOnLinux,
      title: 'Hidden network',
      description: 'The WiFi network does not announce its SSID, so the radio asks for it by name.',
      beyondSpec: true,
    }),
    eap_method: z
      .enum(['', 'peap', 'ttls', 'tls'])
      .default('')
      .meta({
        ...firstOnLinux,
        title: 'Enterprise sign-in',
        description: 'Sign-in to a WPA2- or WPA3-enterprise network; "" for any other network.',
        beyondSpec: true,
      } satisfies Notes),
    eap_inner_method: z
      .enum(['', 'mschapv2', 'gtc', 'pap', 'chap', 'mschap'])
      .default('')
      .meta({
        ...firstOnLinux,
        title: 'Inner method',
        description:
          'How peap and ttls send the password in their tunnel: peap by mschapv2 or gtc, ttls by any of them.',
        defaultText: 'mschapv2',
        beyondSpec: true,
      } satisfies Notes),
    eap_identity: eapText('Identity', 'Identity that signs in, for example a user name.'),
    eap_anonymous_identity: eapText(
      'Anonymous identity',
      'Identity that is sent in clear text before the server has proven itself.',
    ),
    eap_password: eapText('Enterprise password', 'Password of the identity, for peap and ttls.', true),
    eap_ca_certificate: pem('CERTIFICATE', {
      ...firstOnLinux,
      title: 'Certificate of the authority',
      description: 'Certificate of the authority that issued the certificate of the authentication server.',
      defaultText: 'the authorities of the system',
      expected: 'empty, or a certificate in PEM form of at most 16384 bytes',
      beyondSpec: true,
    }),
    eap_server_name: eapText(
      'Name of the authentication server',
      'Name that the certificate of the authentication server must have; empty: any.',
    ),
    eap_client_certificate: pem('CERTIFICATE', {
      ...firstOnLinux,
      title: 'Client certificate',
      description: 'Certificate of this machine, for tls.',
      expected: 'empty, or a certificate in PEM form of at most 16384 bytes',
      beyondSpec: true,
    }),
    eap_client_key: pem('(?:[A-Z]{1,20} )?PRIVATE KEY', {
      ...firstOnLinux,
      title: 'Client key',
      description: 'Private key of the certificate of this machine, for tls.',
      secret: true,
      expected: 'empty, or a private key in PEM form of at most 16384 bytes',
      beyondSpec: true,
    }),
    eap_client_key_password: eapText('Password of the client key', 'Password of an encrypted private key.', true),
  })
  .meta({
    title: 'Additional networks',
    description: 'Networks to fall back to. Also accepted as an object from name to network.',
  });

export const systemConfiguration = z
  .looseObject({
    logging_journald_runtime_max_use_megabytes: z
      .int()
      .min(-1)
      .max(1_048_576)
      .default(512)
      .meta({
        ...firstOnLinux,
        title: 'Space for temporary logs',
        description: 'Space for temporary logs. -1: the limit of the system holds.',
        unit: 'MB',
      } satisfies Notes),
    logging_journald_system_max_use_megabytes: z
      .int()
      .min(-1)
      .max(1_048_576)
      .default(512)
      .meta({
        ...firstOnLinux,
        title: 'Space for persistent logs',
        description: 'Disk space for persistent logs. -1: the limit of the system holds.',
        unit: 'MB',
      } satisfies Notes),
    os_auto_upgrade_type: z
      .enum(['', 'all', 'security', 'disable', 'managed-all', 'managed-security'])
      .default('')
      .meta({
        ...firstOnLinux,
        title: 'Upgrades of the system',
        description:
          'Automatic upgrades: "all" packages, only "security", "disable", or "" for what the system is set to. The managed- forms mean the same as the others.',
      } satisfies Notes),
  })
  .meta({ title: 'System', description: 'Logging and upgrades of the operating system.' });

export const agentSchema = z
  .looseObject({
    version_control: versionControl.optional(),
    advanced_settings: advancedSettings.optional(),
    network_configuration: networkConfiguration.optional(),
    additional_networks: z.array(additionalNetwork).optional(),
    system_configuration: systemConfiguration.optional(),
  })
  .meta({ title: 'Agent', description: 'Configuration of the agent.' });

/** The known part of a machine part's configuration; other keys belong to the machine server. */
export const machineConfigSchema = z
  .looseObject({
    agent: agentSchema.optional(),
    maintenance_window: z.array(maintenanceWindow).min(1).max(32).optional(),
  })
  .meta({ title: 'Machine configuration' });
