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
  BULK_MACHINE_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Machine {name} is left out: {problem}.',
    remedy: 'The other machines are changed. Remove the cause, then repeat the operation for this one.',
  },
  BULK_TARGET_CHANGED: {
    rpc: 'aborted',
    retry: 'never',
    message: '{changing} machines would change now, but the preview showed {expected}. Nothing was changed.',
    remedy: 'Open the preview again, and start the operation with the new number.',
  },
  BULK_OPERATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no bulk operation[ {operationId}].',
    remedy: 'Check the ID; operations of other organizations are not visible.',
  },
  IDENTITY_NOT_SHARED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message:
      'Only one computer has used the credentials of machine {name} in the last {minutes} minutes, as far as its agent reports.',
    remedy:
      'Wait about 3 minutes after both have started. An old agent does not report this: then create a machine for the other computer, and enter its set-up code there: `sudo platform-agent provision --force --code CODE`.',
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
    message: 'The filter "{filter}" is invalid: {problem}.',
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
    message: 'The regular expression {expression} cannot be used to search log lines: {problem}.',
    remedy: 'Change the expression, or search for a text in quotation marks.',
  },
  LOG_SEARCH_TOO_LONG: {
    rpc: 'deadline_exceeded',
    retry: 'never',
    message: 'The log search exceeded the limit of {seconds} seconds and was stopped.',
    remedy: 'Choose a shorter period, or search for text instead of a regular expression.',
  },
  LOG_SEARCH_BUSY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The server already runs {searches} log searches, its limit, and none ended within {seconds} seconds.',
    remedy: 'Try again in a moment, or choose a shorter period.',
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
      'Another user or program changed the configuration: it is now at revision {revision}[, not {expectedRevision}].',
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
  ORDER_UNSUPPORTED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Machine {name} cannot carry out the command "{order}": {problem}.',
    remedy:
      'If the agent is the cause, update it (version_control.agent), and check that systemd or "platform-agent supervise" starts it. Or run the command on the machine: systemctl restart platform-agent, or reboot.',
  },
  MIGRATION_WITHOUT_TLS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Machine {name} cannot be moved to platform-agent: it reaches this server at {url}, without TLS, so platform-agent would not trust the release keys.',
    remedy:
      'Give the server a certificate, and write its https URL as app_address into the credentials of the other agent on the machine. Or install platform-agent there with --trusted-root: docs/install.md.',
  },
} as const satisfies Record<string, ErrorRow>;
