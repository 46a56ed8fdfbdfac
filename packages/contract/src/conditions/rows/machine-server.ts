import { machineServerErrors as errors } from '../../errors/rows/machine-server.ts';
import { registryErrors } from '../../errors/rows/registry.ts';
import { textsOf, type ConditionRow } from '../condition-row.ts';

const entryEnds = 'It ends when the entry works, or is removed from the configuration.';
/** Error: the entry does not run. Warning: it runs as configured, but does not work now. */
const entry = { severity: ['error', 'warning'], ends: entryEnds } as const;

/** The machine server, and what it reports of the entries of the configuration. */
export const machineServerConditions = {
  SERVER_CRASHES: {
    severity: 'error',
    message: 'The machine server failed {failures} times in a row; last: {exit}[, after "{line}"].',
    cause: 'The program ended three times or more before it ran for long.',
    remedy: 'Read its last lines in the logs. Select another version in version_control.platform-server.',
    ends: 'It ends when the machine server runs.',
  },
  SERVER_IN_BACKGROUND: {
    severity: 'error',
    message: 'The machine server moved to the background, where the agent cannot supervise it: {exit}.',
    cause: 'The first process of the program ended, and another one continued.',
    remedy: 'Run the program in the foreground: its first process must keep running until it is stopped.',
    ends: 'It ends when the machine server runs in the foreground.',
  },
  OUT_OF_FILES: {
    severity: 'error',
    message: 'The machine server cannot be started: {problem}.',
    cause:
      'The agent or the whole machine reached its limit of open files. It is tried every 30 seconds, and this does not count as a failure.',
    remedy:
      'Close programs, or raise the limit: LimitNOFILE of the agent, or fs.file-max of the machine. The machine server is started as soon as there is a free file descriptor.',
    ends: 'It ends when the machine server is started.',
  },
  SERVER_CONFLICT: {
    severity: 'warning',
    message: '{conflict}.',
    cause: 'Another machine server, or a program that the agent did not start, uses its port.',
    remedy: 'Stop that program, or configure the machine server to use another port.',
    ends: 'It ends when that process has ended.',
  },
  SERVER_FLOODS: {
    severity: 'warning',
    message:
      'The machine server writes more log lines than the agent keeps: the limit is {linesPerSecond} lines or {kilobytesPerSecond} kB per second. The agent dropped lines; the log contains their number.',
    cause: 'The output exceeds the limits of `packages/contract/src/logs/limits.ts`.',
    remedy: 'Reduce the log output of the machine server, for example with a higher log level.',
    ends: 'It ends five minutes after the last dropped line.',
  },
  RESOURCE_INVALID: {
    severity: 'error',
    ...textsOf(errors.RESOURCE_INVALID),
    cause: 'A value of the entry is missing or wrong. The editor marks the path.',
    ends: entryEnds,
  },
  RESOURCE_UNKNOWN: {
    severity: 'error',
    ...textsOf(errors.RESOURCE_UNKNOWN),
    cause: 'The type or model of the entry is misspelled, or of another version of the machine server.',
    ends: entryEnds,
  },
  RESOURCE_FAILED: { ...entry, ...textsOf(errors.RESOURCE_FAILED), cause: 'A valid entry did not start, or failed.' },
  RESOURCE_NOT_FOUND: {
    ...entry,
    ...textsOf(errors.RESOURCE_NOT_FOUND),
    cause: 'The entry uses another one that the configuration does not have.',
  },
  CAMERA_FAILED: {
    ...entry,
    ...textsOf(errors.CAMERA_FAILED),
    cause:
      'The device, folder or service of the camera does not answer. Each camera is checked every 30 seconds, also one that nothing reads.',
  },
  MODEL_UNUSABLE: {
    ...entry,
    ...textsOf(errors.MODEL_UNUSABLE),
    cause: 'This machine cannot run the file as a model.',
  },
  MODEL_WITHOUT_UNLIKE: {
    ...entry,
    ...textsOf(errors.MODEL_WITHOUT_UNLIKE),
    cause: 'The version was trained without what `reject_unlike` needs.',
  },
  PACKAGE_NOT_FOUND: {
    ...entry,
    ...textsOf(registryErrors.PACKAGE_NOT_FOUND),
    cause: 'The package or its version does not exist, or belongs to another organization.',
  },
  PACKAGE_CORRUPT: {
    ...entry,
    ...textsOf(registryErrors.PACKAGE_CORRUPT),
    cause: 'The download does not have the expected hash, or cannot be unpacked.',
  },
} as const satisfies Record<string, ConditionRow>;
