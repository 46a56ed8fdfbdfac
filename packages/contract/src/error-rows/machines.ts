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
  MIGRATION_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The platform-agent could not replace the other agent: {problem}. The other agent runs again.',
    remedy: 'Remove the cause, then start the migration again: platform machine migrate NAME.',
  },
} as const satisfies Record<string, ErrorRow>;
