import type { ConditionRow } from '../condition-row.ts';

/** What of the configuration is not in effect as it was written. */
export const configConditions = {
  CONFIG_CORRECTED: {
    severity: 'warning',
    message: '{path}[ in {source}]: {problem} Used: {used}.',
    cause: 'A value is invalid, so the agent uses another one.',
    remedy: 'Correct this field in {place}[, and {next}].',
    ends: 'It ends with a valid value.',
  },
  NO_EFFECT_HERE: {
    severity: ['warning', 'note'],
    message: '{problem}.',
    cause:
      'The agent is too old, the platform does not support the fields, a setting disables them, or the machine lacks the device. A note is about a file of the machine. docs/generated/config.md lists the first version that supports each field.',
    remedy: '{remedy}.',
    ends: 'It ends when the fields have an effect, or are removed.',
  },
} as const satisfies Record<string, ConditionRow>;
