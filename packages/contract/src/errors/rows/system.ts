import type { ErrorRow } from '../error-row.ts';

/** The operating system of a machine: system_configuration and upgrades. */
export const systemErrors = {
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
    remedy: 'Find the file in /etc/apt/apt.conf.d that overrides this setting, or enable the timer with systemctl.',
  },
  OS_PACKAGES_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The package manager failed to {task}: {problem}.',
    remedy: 'Check the network, the disk and the repositories of the machine. The agent retries with increasing delay.',
  },
} as const satisfies Record<string, ErrorRow>;
