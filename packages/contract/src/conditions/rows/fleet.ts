import type { ConditionRow } from '../condition-row.ts';

/** What the management server measures of machines, jobs and runners. */
export const fleetConditions = {
  MACHINE_OFFLINE: {
    severity: 'error',
    message: 'The machine has stopped checking in.[ {last}]',
    cause: 'It has not checked in for 5 minutes. A server that has just started waits as long.',
    remedy:
      'Check its power and its network. `platform-agent status` on the machine shows why it cannot reach the server.',
    ends: 'It ends with the next check.',
  },
  MACHINE_NEVER_SEEN: {
    severity: 'note',
    message: 'The machine was created more than a day ago and has never checked in.',
    cause: 'No agent uses its credentials.',
    remedy: 'Install the agent on it: the tab CONNECT of its page has the command. Delete it if it is not needed.',
    ends: 'It ends with its first check.',
  },
  MACHINE_DISK_LOW: {
    severity: 'warning',
    message: '{free} of {size} are free on the disk of the machine.',
    cause: 'By its last report, less than 10 % and less than 2 GB are free.',
    remedy: 'Delete files there. A full disk stores no log lines, images or updates.',
    ends: 'It ends when there is room.',
  },
  JOB_FAILED: {
    severity: 'error',
    message: 'Job {job} failed[ ({code})].[ {problem}]',
    cause: 'The newest job of the model failed.',
    remedy: 'Read its log, remove the cause, and submit it again.',
    ends: 'It ends with the next job of the model, or after 7 days.',
  },
  JOB_WAITS: {
    severity: 'warning',
    message: '{count} jobs are waiting, and no runner can take them.[ {reason}]',
    cause: 'Jobs have waited for 5 minutes, and no runner can take them.',
    remedy: 'Start a runner that can run them: docs/runners.md.',
    ends: 'It ends when a runner can take them.',
  },
  RUNNER_AWAY: {
    severity: 'warning',
    message: 'Runner {host} has stopped requesting work.',
    cause: 'It has not requested work for 15 minutes.',
    remedy: 'Start it again, or check why it cannot reach the server.',
    ends: 'It ends when it is back, or after 7 days.',
  },
} as const satisfies Record<string, ConditionRow>;
