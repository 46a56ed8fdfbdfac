import type { AgentConfig } from '@platform/contract/config/agent-config';
import type { Settings, SystemSettings } from './state.ts';

/** The fields that this agent acts on, in its own units. */
export const settingsOf = (
  config: AgentConfig,
  { isFastStart, hasSystem = false }: { isFastStart: boolean; hasSystem?: boolean },
): Settings => ({
  debug: config.advanced_settings.debug,
  isDeduplicationOff: config.advanced_settings.disable_log_deduplication,
  isServerDisabled: config.advanced_settings.disable_platform_server,
  isAgentRestartAllowed: config.advanced_settings.agent_auto_restart,
  startTimeoutMs: config.advanced_settings.platform_server_start_timeout_minutes * 60_000,
  isUpdateCheckFirst: config.advanced_settings.wait_for_update_check && !isFastStart,
  serverEnv: config.advanced_settings.platform_server_env,
  maintenanceWindows: config.maintenance_window,
  longestDeferralHours: config.advanced_settings.maintenance_longest_deferral_hours,
  isNetworkDisabled: config.advanced_settings.disable_network_configuration,
  network: config.network_configuration,
  additionalNetworks: config.additional_networks,
  isSystemDisabled: config.advanced_settings.disable_system_configuration,
  system: hasSystem ? systemOf(config) : undefined,
});

const systemOf = (config: AgentConfig): SystemSettings => ({
  runtimeMaxMegabytes: config.system_configuration.logging_journald_runtime_max_use_megabytes,
  systemMaxMegabytes: config.system_configuration.logging_journald_system_max_use_megabytes,
  upgradeType: upgradeTypes[config.system_configuration.os_auto_upgrade_type],
});

/** The managed- forms of the public agent upgrade the same packages. */
const upgradeTypes = {
  '': '',
  all: 'all',
  security: 'security',
  disable: 'disable',
  'managed-all': 'all',
  'managed-security': 'security',
} as const;
