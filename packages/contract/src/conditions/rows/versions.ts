import { releasesErrors as errors } from '../../errors/rows/releases.ts';
import { textsOf, type ConditionRow } from '../condition-row.ts';

const failed = {
  severity: 'error',
  ends: 'It ends with a try that succeeds, or with another desired version.',
} as const;
const restarted = 'It ends with the restart.';

/** The versions of agent and machine server on a machine. While an update fails, the running version stays. */
export const versionConditions = {
  VERSION_QUARANTINED: {
    severity: 'error',
    message: 'Version {version} of the {program} failed on this machine and is not used: {reason}.',
    cause: 'The version did not pass its health check, so the agent returned to the version before.',
    remedy: 'Choose another version, or clear the quarantine of the machine to try it again.',
    ends: 'It ends when another version is desired, or the quarantine is cleared.',
  },
  VERSION_NOT_ALLOWED: {
    severity: 'error',
    message: '{path} {problem}.',
    cause: 'The version that the configuration names cannot be installed.',
    remedy: '{remedy}.',
    ends: 'It ends with a configuration that names another version.',
  },
  VERSION_NOT_PUBLISHED: {
    severity: 'warning',
    message: '{path} {problem}.',
    cause: 'No release matches the version that the configuration names.',
    remedy: '{remedy}.',
    ends: 'It ends when such a release is published, or the configuration names another version.',
  },
  UPDATE_FAILED: {
    ...failed,
    ...textsOf(errors.UPDATE_FAILED),
    cause: 'A step of the update failed in a way that has no code of its own.',
  },
  DOWNLOAD_FAILED: {
    ...failed,
    ...textsOf(errors.DOWNLOAD_FAILED),
    cause: 'The URL is out of reach, or does not lead to the file.',
  },
  DOWNLOAD_CORRUPT: {
    ...failed,
    ...textsOf(errors.DOWNLOAD_CORRUPT),
    cause: 'Another file is at the URL, or it changed on its way.',
  },
  PROGRAM_REFUSED: {
    ...failed,
    ...textsOf(errors.PROGRAM_REFUSED),
    cause: 'The file is not the program, or not for this platform.',
  },
  RELEASE_UNSIGNED: { ...failed, ...textsOf(errors.RELEASE_UNSIGNED), cause: 'It was published without a signature.' },
  RELEASE_UNTRUSTED: {
    ...failed,
    ...textsOf(errors.RELEASE_UNTRUSTED),
    cause: 'The signed metadata does not name these bytes, or its signatures do not match.',
  },
  TRUSTED_ROOT_MISSING: {
    ...failed,
    ...textsOf(errors.TRUSTED_ROOT_MISSING),
    cause: 'The agent reaches the management server without TLS and was installed without --trusted-root.',
  },
  METADATA_UNREACHABLE: {
    ...failed,
    ...textsOf(errors.METADATA_UNREACHABLE),
    cause: 'The management server was not reached, or it failed.',
  },
  METADATA_EXPIRED: {
    severity: ['warning', 'error'],
    // The error of this code refuses a release; here the clock cannot prove the expiry, so the release is used.
    message:
      'A release was used although its signed {role} document looks expired ({expires}): no time server sets the clock of this machine, so it proves nothing.',
    cause:
      'The clock is wrong, or the management server serves old documents. With a proven time, the release is refused.',
    remedy:
      'Let a time server set the clock. If the clock is right, the management server serves old documents: read its log.',
    ends: 'It ends when a check finds no expired metadata.',
  },
  UNIT_CHANGED: {
    severity: 'warning',
    message: '{file} was changed after it was written, so it was not renewed for this version of the agent.',
    cause: "The agent's unit was edited. The agent runs with the edited unit.",
    remedy:
      'Put changes into a drop-in (systemctl edit platform-agent) and run `platform-agent install`, which writes the unit anew.',
    ends: 'It ends when the unit is renewed.',
  },
  UNIT_REFUSED: {
    severity: 'warning',
    message: 'The agent keeps its old unit, because systemd rejects the new one: {problem}.',
    cause: 'A setting of the unit of the new version is not accepted here. The agent uses the new version.',
    remedy: 'Correct that setting. Drop-ins of the unit count, too: systemctl cat platform-agent.',
    ends: 'It ends when the unit is renewed.',
  },
  RESTART_NEEDED: {
    severity: 'note',
    message: '{reason}.',
    cause: 'Another version, a replaced file or a new environment is in place since the machine server started.',
    remedy: 'Restart the machine server to use it.',
    ends: restarted,
  },
  AGENT_RESTART_NEEDED: {
    severity: 'note',
    message: 'Another version of the agent is installed than the one that runs[: {reason}].',
    cause: 'The agent was updated, and its restart waits.',
    remedy:
      'No action is needed: the next restart of the agent or of the machine uses it. The machine server keeps running.',
    ends: restarted,
  },
} as const satisfies Record<string, ConditionRow>;
