import type { ErrorRow } from '../error-row.ts';

/** The operating system of a machine: system_configuration and upgrades. */
export const systemErrors = {
  SYSTEM_NOT_APPLIED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The system_configuration is not applied ({part}): {reason}.',
    remedy:
      'Correct the cause on the machine, for example free disk space or remount the file system; the agent tries again with growing delay. Or remove the fields from system_configuration.',
  },
  OS_UPGRADES_UNSUPPORTED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The field os_auto_upgrade_type has no effect: this system has no apt.',
    remedy: 'Remove os_auto_upgrade_type, and set up upgrades with the tools of this system.',
  },
  OS_UPGRADES_NO_ORIGIN: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'No package repository of this machine matches os_auto_upgrade_type "{type}". Nothing was changed.',
    remedy: 'Add the repository of security updates to the sources of apt, or choose another os_auto_upgrade_type.',
  },
  OS_UPGRADES_OVERRIDDEN: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'Automatic upgrades do not follow os_auto_upgrade_type: {difference}.',
    remedy: 'Look in /etc/apt/apt.conf.d for the file that says otherwise, or enable the timer with systemctl.',
  },
  OS_REPOSITORIES_NOT_INCLUDED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Automatic upgrades leave out repositories that were added after os_auto_upgrade_type was set: {repositories}.',
    remedy: 'To include them, set os_auto_upgrade_type to "" and save, then set it again.',
  },
  OS_PACKAGES_WAIT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The package manager waits for {program} (process {pid}), which holds its lock.',
    remedy: 'Nothing: it continues when that program has ended. If it never ends, look at that process on the machine.',
  },
  OS_PACKAGES_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The package manager failed to {task}: {problem}.',
    remedy: 'Check network, disk and repositories of the machine. The agent tries again with growing delay.',
  },
  OS_REBOOT_NEEDED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The machine needs a reboot because of {causes}: {wait}.',
    remedy: 'Reboot it at a good moment, or configure a maintenance_window in which the agent may.',
  },
} as const satisfies Record<string, ErrorRow>;
