import { systemErrors as errors } from '../../errors/rows/system.ts';
import { textsOf, type ConditionRow } from '../condition-row.ts';

const applied = 'It ends when the setting is applied or removed.';

/** The operating system of a machine: system_configuration and upgrades. */
export const systemConditions = {
  SYSTEM_NOT_APPLIED: {
    severity: 'error',
    message: 'The system_configuration is not applied ({group}): {reason}.',
    cause:
      'A file of the operating system cannot be written, for example because `/etc` is read-only, or a program of it failed. Each group of settings is one condition.',
    remedy:
      'Correct the cause on the machine, for example free disk space or remount the file system. The agent tries again after 10 seconds, later every 6 hours. Or remove the fields from system_configuration.',
    ends: applied,
  },
  OS_UPGRADES_UNSUPPORTED: {
    severity: 'error',
    ...textsOf(errors.OS_UPGRADES_UNSUPPORTED),
    cause: 'Only systems with apt are supported.',
    ends: applied,
  },
  OS_UPGRADES_NO_ORIGIN: {
    severity: 'error',
    ...textsOf(errors.OS_UPGRADES_NO_ORIGIN),
    cause: 'No repository has "security" in its codename or archive.',
    ends: applied,
  },
  OS_UPGRADES_OVERRIDDEN: {
    severity: 'error',
    ...textsOf(errors.OS_UPGRADES_OVERRIDDEN),
    cause: 'Another file of `/etc/apt/apt.conf.d` overrides the setting, or a timer of apt is off.',
    ends: 'It ends when nothing overrides the setting; the agent checks every 30 minutes.',
  },
  OS_REPOSITORIES_NOT_INCLUDED: {
    severity: 'note',
    message:
      'Automatic upgrades leave out repositories that were added after os_auto_upgrade_type was set: {repositories}.',
    cause: 'The repositories are chosen when the value is set or changed.',
    remedy: 'To include them, set os_auto_upgrade_type to "" and save, then set it again.',
    ends: 'It ends when they are included or removed.',
  },
  OS_PACKAGES_WAIT: {
    severity: 'note',
    message: 'The package manager waits for {program} (process {pid}), which holds its lock.',
    cause: 'Another program uses apt or dpkg.',
    remedy:
      'No action is needed: the agent continues when that program has ended. If it never ends, check that process on the machine.',
    ends: 'It ends with the lock.',
  },
  OS_PACKAGES_FAILED: {
    severity: 'error',
    ...textsOf(errors.OS_PACKAGES_FAILED),
    cause: 'apt or dpkg failed: no network, a full disk, or a broken repository.',
    ends: 'It ends with a run that succeeds.',
  },
  OS_REBOOT_NEEDED: {
    severity: 'note',
    message: 'The machine needs a reboot because of {causes}: {wait}.',
    cause: 'An upgrade replaced what only a reboot loads.',
    remedy: 'Reboot it at a good moment, or configure a maintenance_window in which the agent may.',
    ends: 'It ends with the reboot.',
  },
} as const satisfies Record<string, ConditionRow>;
