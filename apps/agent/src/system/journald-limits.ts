import type { SystemSettings } from '../state/state.ts';

export const journaldFile = '/etc/systemd/journald.conf.d/90-platform.conf';

/** The drop-in; undefined: no limit is set, so the limits of journald or of the owner's files hold. */
export function journaldText(limits: SystemSettings | undefined): string | undefined {
  if (!limits) return undefined;
  const lines = [
    ['SystemMaxUse', limits.systemMaxMegabytes],
    ['RuntimeMaxUse', limits.runtimeMaxMegabytes],
  ] as const;
  const set = lines.filter(([, megabytes]) => megabytes >= 0);
  if (set.length === 0) return undefined;
  return [
    '# Written by platform-agent from agent.system_configuration, which overwrites changes.',
    '[Journal]',
    ...set.map(([name, megabytes]) => `${name}=${megabytes}M`),
    '',
  ].join('\n');
}
