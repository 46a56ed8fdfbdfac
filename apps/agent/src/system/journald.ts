import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { applyFiles } from './system-files.ts';
import type { SystemGoal } from './system-goal.ts';
import type { SystemParts } from './system-parts.ts';
import type { SystemSettings } from '../state/state.ts';

const stateFile = 'state/journald.json';
const unit = 'systemd-journald.service';

/** Brings the limits of journald to the goal, and restarts it only if they changed. */
export async function applyJournald(
  { system, isPreliminary, isDisabled }: SystemGoal,
  parts: SystemParts,
): Promise<void> {
  const { value: loaded } = await readChecked(parts.disk, stateFile, loadedOf);
  if (isPreliminary && (loaded !== undefined || !system)) return;
  const text = journaldText(system);
  const changed = await applyFiles([{ file: journaldFile, text }], parts, { isReported: isDisabled });
  // Stored, so that a restart that failed is made up for.
  if (changed.length === 0 && (loaded ?? '') === (text ?? '')) return;
  const { programs, disk, log } = parts;
  if (await isMissing(parts)) throw new Error('this machine has no systemd-journald');
  // journald keeps its sockets and the streams of all programs over a restart: no line is lost.
  const { code, text: output } = await programs.run('systemctl', 'restart', unit);
  if (code !== 0) throw new Error(`systemd-journald could not be restarted: ${output.slice(-300)}`);
  await writeChecked(disk, stateFile, { loaded: text ?? '' });
  log.info('journald was restarted with other limits', { limits: text ?? 'its own' });
}

async function isMissing({ programs }: SystemParts): Promise<boolean> {
  const { code, text } = await programs.run('systemctl', 'show', '-p', 'LoadState', '--value', unit);
  return code !== 0 || text.trim() === 'not-found';
}

/** The text of the drop-in that journald was last restarted with; empty: none. */
function loadedOf(value: unknown): string {
  const { loaded } = value as { loaded?: unknown };
  if (typeof loaded !== 'string') throw new Error('it names no limits');
  return loaded;
}

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
