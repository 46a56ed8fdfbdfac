import type { ConfigContent, SystemSettings, Wanted } from '../state/state.ts';

/** What the configuration asks of the operating system. */
export interface SystemGoal extends ConfigContent {
  /** Only the manufacturer's defaults are known: what an earlier configuration asked for stays. */
  isPreliminary: boolean;
  /** disable_system_configuration: what was restored and left is reported. */
  isDisabled: boolean;
  /** Undefined: nothing, so the state before this agent is restored. */
  system: SystemSettings | undefined;
}

export const systemGoalOf = ({ settings, revision, configSha256, isFresh }: Wanted): SystemGoal => ({
  revision,
  configSha256,
  isPreliminary: revision === 0 && !isFresh,
  isDisabled: settings.isSystemDisabled,
  system: settings.isSystemDisabled ? undefined : settings.system,
});
