import type { ErrorRow } from '../error-row.ts';

/** Machines and their configuration. */
export const machinesErrors = {
  MACHINE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no machine[ {machineId}].',
    remedy: 'Check the machine ID; machines of other organizations are not visible.',
  },
  PART_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no machine part[ {partId}].',
    remedy: 'Check the part ID; parts of other organizations are not visible.',
  },
  IDENTITY_SHARED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Two computers use the credentials of this machine: {first} and {second}[, and {more} more]. The status shown is that of {kept}. Both follow the configuration, and the log lines of both arrive here.[ {split}]',
    remedy:
      'Make the one that appeared last a machine of its own: the button here, or `platform machine split {name}`. If it should not run at all, switch it off: this ends {minutes} minutes later.',
  },
  IDENTITY_NOT_SHARED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message:
      'Only one computer has used the credentials of machine {name} in the last {minutes} minutes, as far as its agent reports.',
    remedy:
      'Wait about 3 minutes after both have started. An agent that is too old does not report this: create a machine for the other computer, and enter its set-up code there: `sudo platform-agent provision --force --code CODE`.',
  },
  SPOOL_REPEATED: {
    rpc: 'already_exists',
    retry: 'never',
    message:
      '{count} came with numbers that others of this machine have, the last at {last}. All are stored. Two agents have continued one state: a copied or restored folder, or a virtual machine resumed twice.',
    remedy:
      'Check whether a second machine uses these credentials, and give it credentials of its own. Update an older agent. This condition clears {hours} hours after the last one.',
  },
  ROOT_NOEXEC: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      '{folder} is on the file system at {mountPoint}, which is mounted noexec: no program below it can be started.',
    remedy:
      'Mount it with exec (mount -o remount,exec {mountPoint}, and correct /etc/fstab), or choose a folder on another file system with --root.',
  },
  FILTER_FIELD_UNKNOWN: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'Machines have no field "{field}" to filter by.',
    remedy: 'Use one of: {fields}.',
  },
  FILTER_NOT_VALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The filter "{filter}" is not valid: {problem}.',
    remedy:
      'Write a field, a comparison and a value, for example architecture=aarch64, disk_free<2GB or reboot_needed.',
  },
  QUERY_NOT_VALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The query has an error at character {position}, {word}: {problem}.',
    remedy: 'Write {instead}.',
  },
  LOG_EXPRESSION_NOT_VALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The regular expression {expression} is not possible in a search of log lines: {problem}.',
    remedy: 'Change the expression, or search for a text in quotation marks.',
  },
  LOG_SEARCH_TOO_LONG: {
    rpc: 'deadline_exceeded',
    retry: 'never',
    message: 'The search of log lines took more than {seconds} seconds and was ended.',
    remedy: 'Choose a shorter time, or search for a text in place of a regular expression.',
  },
  LOG_SEARCH_BUSY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message:
      'This server runs {searches} searches of log lines at once, and none of them ended within {seconds} seconds.',
    remedy: 'Try again in a moment, or choose a shorter time.',
  },
  LOCATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no location[ {locationId}].',
    remedy: 'Check location_id; locations of other organizations are not visible.',
  },
  INVALID_CONFIG: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The configuration has {count} error(s) and was not saved[. First: {path}: {problem}].',
    remedy: 'Correct every listed path, then save again.',
  },
  CONFIG_TOO_LARGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The configuration has {sizeBytes} bytes; the limit is {limitBytes} bytes.',
    remedy: 'Move large values, such as tables or images, into a package that the configuration names.',
  },
  CONFIG_CONFLICT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Another user or program changed the configuration: it is at revision {revision}[, not {expectedRevision}].',
    remedy: 'Load the newest revision, make your change again and save.',
  },
  UNSIGNED_PIN_REFUSED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'Only an owner may choose a program without a release signature: {pins}.',
    remedy:
      'Ask an owner to save this configuration, which is recorded as consent. Or choose stable, dev or a published version.',
  },
  MIGRATION_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Machine {name} cannot be moved to platform-agent: {problem}.',
    remedy:
      'Check that the machine runs the agent of another product and that a platform-agent is published for its platform. Otherwise install the agent as described in docs/install.md.',
  },
  MIGRATION_WITHOUT_TLS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Machine {name} cannot be moved to platform-agent: it reaches this server at {url}, without TLS. platform-agent would not trust the release keys from there.',
    remedy:
      'Give the server a certificate, and write its https URL as app_address into the credentials of the other agent on the machine. Or install platform-agent there with --trusted-root: docs/install.md.',
  },
  OTHER_AGENT_NO_RELEASE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'No version of its own programs is published here for the agent of another product on this machine. It keeps what it has, and may log errors at each check, about every 5 s.',
    remedy:
      'Publish viam-agent and viam-server for its platform, pin them by URL in the configuration, or move the machine: platform machine migrate NAME. See docs/versions.md.',
  },
  AGENTS_BOTH_RUN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Two agents run with the credentials of this machine: platform-agent on {ours}, and the agent of another product at {other}. Each starts a machine server. The status shown is that of platform-agent.',
    remedy:
      'Keep one. On the machine, `systemctl disable --now viam-agent` keeps platform-agent, and `platform-agent migrate-back` keeps the other one. This condition ends {minutes} minutes later.',
  },
  MIGRATION_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The platform-agent could not replace the other agent and restores it: {problem}.',
    remedy: 'Remove the cause, then start the migration again: platform machine migrate NAME.',
  },
} as const satisfies Record<string, ErrorRow>;
