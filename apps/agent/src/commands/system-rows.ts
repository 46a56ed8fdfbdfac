import type { AgentStatus } from '@platform/contract/machine/agent-status';

const mostNames = 5;

const named = (names: readonly string[]): string =>
  names.length > mostNames
    ? `${names.slice(0, mostNames).join(', ')} and ${names.length - mostNames} more`
    : names.join(', ');

/** Upgrades that wait, the last run, and the reboot that is needed. Empty: not known. */
export function systemRows(
  { system }: Pick<AgentStatus, 'system'>,
  since: (time: string | null) => string,
): [name: string, text: string][] {
  if (!system) return [];
  const { waiting_count: count, security_count: security, last_run: run, reboot, task, why } = system;
  const waits = count === 0 ? 'no upgrade waits' : count === 1 ? '1 upgrade waits' : `${count} upgrades wait`;
  const rows: [string, string][] = [
    ...(why ? [`not managed by the agent: ${why}`] : []),
    ...(system.has_apt === false ? [] : [`${waits}${security > 0 ? `, ${security} for security` : ''}`]),
  ].map((text, at) => [at === 0 ? 'system' : '', text]);
  if (task !== '') rows.push(['  now', task]);
  if (run) {
    const ago = run.started === null ? '' : `${since(run.started)} ago: `;
    const packages = named(run.packages.map((one) => `${one.package} ${one.to}`));
    rows.push(['  last', `upgraded ${ago}${packages}${run.problem === '' ? '' : `; ${run.problem}`}`]);
  }
  if (reboot) {
    const began = reboot.since === null ? '' : ` for ${since(reboot.since)}`;
    const wait = reboot.wait === '' ? '' : `: ${reboot.wait}`;
    rows.push(['  reboot', `needed${began} because of ${named(reboot.causes) || 'an upgrade'}${wait}`]);
  }
  return rows;
}
