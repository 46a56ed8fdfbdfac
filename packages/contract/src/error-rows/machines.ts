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
  LOCATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no location[ {locationId}].',
    remedy: 'Check location_id; locations of other organizations are not visible.',
  },
  INVALID_CONFIG: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The configuration has {count} error(s); nothing was saved[. First: {path}: {problem}].',
    remedy: 'Correct every path that is listed and save again.',
  },
  CONFIG_CONFLICT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The configuration was changed meanwhile: it is at revision {revision}[, not {expectedRevision}].',
    remedy: 'Load the newest revision, make your change again and save.',
  },
  UNSIGNED_PIN_REFUSED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'Only an owner may choose a program that no release key signed: {pins}.',
    remedy: 'Ask an owner to save it, which is recorded as consent, or choose stable, dev or a published version.',
  },
  MIGRATION_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Machine {name} cannot be moved to platform-agent: {problem}.',
    remedy:
      'Only a machine that checks in with the agent of another product can be moved, to a published platform-agent for its platform. Publish that, or install it there as docs/install.md says.',
  },
  MIGRATION_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'The agent of this platform could not take over from the other one: {problem}. The other agent runs again.',
    remedy: 'Remove the cause and ask again: platform machine migrate NAME.',
  },
} as const satisfies Record<string, ErrorRow>;
