import type { AgentConfig } from '@platform/contract/agent-config';
import type { Settings } from './state.ts';

/** The fields that this agent acts on, in its own units. */
export const settingsOf = (config: AgentConfig, { isFastStart }: { isFastStart: boolean }): Settings => ({
  debug: config.advanced_settings.debug,
  isDeduplicationOff: config.advanced_settings.disable_log_deduplication,
  isServerDisabled: config.advanced_settings.disable_platform_server,
  isAgentRestartAllowed: config.advanced_settings.agent_auto_restart,
  startTimeoutMs: config.advanced_settings.platform_server_start_timeout_minutes * 60_000,
  isUpdateCheckFirst: config.advanced_settings.wait_for_update_check && !isFastStart,
  serverEnv: config.advanced_settings.platform_server_env,
  maintenanceWindow: config.maintenance_window,
  isNetworkDisabled: config.advanced_settings.disable_network_configuration,
  network: config.network_configuration,
  additionalNetworks: config.additional_networks,
});
