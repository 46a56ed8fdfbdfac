import { type Cell, changedOr } from '@platform/kit';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import type { Device } from '../os/ports.ts';
import type { RestartDecision } from '../state/may-restart.ts';
import type { Settings } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { lockHolder } from './package-locks.ts';
import type { SystemStatus } from './system-status.ts';
import type { Context } from '../health/context.ts';

const stateFile = 'state/upgrade-reboot.json';
const code = 'OS_REBOOT_NEEDED';
const lookMs = 60_000;
/** A program that wants a reboot after each start must not reboot the machine all through a window. */
const spacingMs = 20 * 60 * 60_000;
const shownCauses = 5;

export interface RebootParts extends Pick<Context, 'wanted' | 'conditions' | 'disk' | 'clock' | 'log'> {
  status: Cell<SystemStatus | undefined>;
  /** Whether the maintenance windows allow a reboot that is needed since this time. */
  decide: (sinceWall: number) => RestartDecision;
  reboot: () => Promise<void>;
  /** The file system of the agent's folder. Absent: the platform does not report it. */
  fileSystem?: Device['fileSystem'];
  /** Left out: this system itself. */
  prefix?: string;
}

/**
 * Reboots for upgrades, only in a maintenance window and only if the configuration asks for upgrades. Until then, a
 * condition shows since when and why a reboot is needed.
 */
export async function rebootForUpgrades(parts: RebootParts, signal: AbortSignal): Promise<void> {
  const { status, wanted, clock } = parts;
  while (!signal.aborted) {
    // A full disk, for example, must not end the agent; without a record of the reboot there is none.
    await look(parts).catch((error: unknown) => parts.log.warn('the reboot for upgrades is not checked', { error }));
    await changedOr([status, wanted], lookMs, clock, signal);
  }
}

async function look(parts: RebootParts): Promise<void> {
  const { status, conditions, clock, log, disk } = parts;
  const need = status.get()?.reboot;
  if (!need) return clearCondition(conditions, code);
  const wait = await waitOf(need.sinceWall, parts);
  if (status.get()?.rebootWait !== wait) status.update((now) => now && { ...now, rebootWait: wait });
  const causes = need.causes.slice(0, shownCauses).join(', ') || 'an upgrade';
  if (wait === '') {
    log.warn('the machine reboots for upgrades', { since: new Date(need.sinceWall).toISOString(), causes });
    await writeChecked(disk, stateFile, { rebootedWall: clock.wall() });
    return parts.reboot();
  }
  setCondition(conditions, code, { causes, wait }, { sinceWall: need.sinceWall });
}

/** Why the reboot waits, as a clause; empty: it does not. */
async function waitOf(sinceWall: number, parts: RebootParts): Promise<string> {
  const { status, wanted, decide, disk, fileSystem, clock, prefix = '' } = parts;
  const { settings } = wanted.get();
  if (!isUpgrading(settings)) return 'os_auto_upgrade_type does not ask for upgrades';
  if (settings.maintenanceWindows.length === 0) return 'no maintenance window is configured';
  // Neither the upgrades nor the record of the reboot would survive it: the machine would reboot all through a window.
  if ((await fileSystem?.().catch(() => undefined))?.isVolatile)
    return "each boot loses what is written to the agent's folder, so a reboot would be repeated";
  const decision = decide(sinceWall);
  if (decision.is !== 'allowed') return decision.reason;
  const { value: last } = await readChecked(disk, stateFile, rebootedOf);
  if (last !== undefined && Math.abs(clock.wall() - last) < spacingMs)
    return 'the machine was rebooted for upgrades less than 20 hours ago';
  const task = status.get()?.task ?? '';
  const holder = task === '' ? await lockHolder(prefix) : undefined;
  if (task !== '' || holder) return `a package manager runs (${task || holder?.program})`;
  return '';
}

const isUpgrading = ({ isSystemDisabled, system }: Settings): boolean =>
  !isSystemDisabled && (system?.upgradeType === 'all' || system?.upgradeType === 'security');

function rebootedOf(value: unknown): number {
  const { rebootedWall } = value as { rebootedWall?: unknown };
  if (typeof rebootedWall !== 'number') throw new Error('it names no time');
  return rebootedWall;
}
