import { accessErrors } from '../../errors/rows/access.ts';
import { agentLinkErrors } from '../../errors/rows/agent-link.ts';
import { machinesErrors } from '../../errors/rows/machines.ts';
import { textsOf, type ConditionRow } from '../condition-row.ts';

const restoreFile =
  'Copy the credentials of this machine from the web app (or `platform machine credentials`) to {file}. The agent takes them over at once.';
const roomForFiles = "Make room on the disk and make the agent's folder writable; the agent tries again.";
const restart = 'It stays until the agent restarts.';

/** The agent itself: its credentials, files, clock, disk and tasks. */
export const agentConditions = {
  CREDENTIALS_MISSING: {
    severity: 'error',
    ...textsOf(agentLinkErrors.CREDENTIALS_MISSING),
    cause: 'There is no credentials file, or it is unusable and no earlier credentials are known.',
    ends: 'It ends when usable credentials are in place.',
  },
  CREDENTIALS_DAMAGED: {
    severity: 'error',
    message: 'The credentials file {file} cannot be used ({problem}); the last valid credentials are used.',
    cause: 'The file was overwritten or is damaged. The last valid credentials are in `state/credentials.last-good`.',
    remedy: restoreFile,
    ends: 'It ends when the file is usable.',
  },
  CREDENTIALS_REMOVED: {
    severity: 'warning',
    message: 'The credentials file {file} was removed; the agent uses its credentials until it is restarted.',
    cause: 'The file was removed while the agent runs.',
    remedy:
      'Restore the file from the web app (or `platform machine credentials`). To make the machine forget its credentials, restart the agent.',
    ends: 'It ends when the file is back.',
  },
  SET_UP_CODE_WAITS: {
    severity: 'warning',
    message: 'The set-up code is not redeemed at {server} yet: {problem}.',
    cause: 'The management server was not reached, or it did not answer as expected.',
    remedy: 'The agent tries again within a minute. If it still fails, correct the network or the URL of the server.',
    ends: 'It ends when the code is redeemed or refused.',
  },
  SET_UP_CODE_INVALID: {
    severity: 'error',
    ...textsOf(accessErrors.SET_UP_CODE_INVALID),
    cause: 'The management server refuses the code that was entered, so the machine has no credentials.',
    ends: 'It ends when another code is entered.',
  },
  AGENT_TASK_FAILED: {
    severity: 'error',
    message: 'The task {task} of the agent does not run: {problem}.',
    cause: 'A task without which the agent works, for example the network, ended or failed.',
    remedy:
      'The agent starts the task again, after 1 second at first and later every 5 minutes; its other tasks run. If it continues, read the log of the agent.',
    ends: 'It ends when the task has run for 5 minutes.',
  },
  CONFIG_CACHE_DAMAGED: {
    severity: 'warning',
    message: 'The stored configuration cannot be read ({problem}); {used}.',
    cause: 'A file of the agent was damaged, for example by a worn disk.',
    remedy:
      'No action is needed: the next answer of the management server is stored. If it comes back, check the disk.',
    ends: 'It ends with the next configuration of the management server.',
  },
  DEFAULTS_UNUSABLE: {
    severity: 'error',
    message: "The manufacturer's defaults are not used: {problem}.",
    cause: 'The file that `--defaults` names is missing, or is not a JSON object. The built-in defaults apply.',
    remedy: 'Correct or remove the file, and restart the agent.',
    ends: restart,
  },
  STATE_NOT_STORED: {
    severity: 'error',
    message: 'The configuration is in effect, but cannot be stored: {problem}.',
    cause: 'The disk is full or read-only. A start without a network would use the configuration before.',
    remedy: roomForFiles,
    ends: 'It ends when the configuration is stored.',
  },
  LOGS_NOT_STORED: {
    severity: 'error',
    message: 'Log lines cannot be stored: {problem}.',
    cause: 'The disk is full or read-only. At most 5,000 lines or 4 MiB wait in memory.',
    remedy: `${roomForFiles} Some lines may be lost.`,
    ends: 'It ends when lines are stored.',
  },
  LOGS_DAMAGED: {
    severity: 'warning',
    message: 'Some stored log lines cannot be read: {problem}[, and {more} more].',
    cause: 'Files of the spool were damaged, for example by a power cut.',
    remedy: 'No action is needed: the agent sends what can be read. If it comes back, check the disk.',
    ends: restart,
  },
  CLOCK_WRONG: {
    severity: 'warning',
    message: 'The clock of this machine shows {system}, and that of the management server {server}.',
    cause:
      'The clocks differ by more than two minutes. Log lines get their time from the server, and the agent stays online.',
    remedy: 'Set the clock of this machine, or let a time server set it. Certificates depend on it.',
    ends: 'It ends within a minute after the clock was set, also without a connection.',
  },
  PROXY_UNSUPPORTED: {
    severity: 'warning',
    message: '{problem} The agent connects without a proxy.',
    cause: 'A proxy variable of the agent (`state/environment`) names a SOCKS proxy, or is not a URL.',
    remedy: '{remedy}.',
    ends: restart,
  },
  ROOT_NOEXEC: {
    severity: 'error',
    ...textsOf(machinesErrors.ROOT_NOEXEC),
    cause: 'The mount options forbid running programs. `install`, `run` and `supervise` refuse such a folder.',
    ends: 'It ends within a minute after the file system is mounted with exec.',
  },
  DISK_FULL: {
    severity: 'error',
    // The error of this code is about one file; the condition is about the file system and what the machine server lacks.
    message: '{lack} on {place}, which holds {root}: {effect}.',
    cause:
      'No space or no inodes are left, or an update found too little room. A machine server that cannot start for it is tried every 30 seconds, and this does not count as a failure.',
    remedy:
      'Delete files there[: {hint}]. The machine server is started as soon as there is room, and an update is tried again.',
    ends: 'It ends when a measurement shows room.',
  },
} as const satisfies Record<string, ConditionRow>;
