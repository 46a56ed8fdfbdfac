import { ineffectiveTexts } from '@platform/contract/config-effect';
import { allIneffective } from '../state/slices.ts';
import { isBefore } from '@platform/contract/semantic-version';
import {
  idOf,
  versionOf,
  type Actual,
  type Correction,
  type InstallStatus,
  type Release,
  type Wanted,
} from '../state/state.ts';
import { desiredId, shownAsked, shownVersion } from '../state/version-names.ts';
import { isQuarantined } from '../state/trial-file.ts';

export interface Condition {
  code: string;
  /** Distinguishes conditions of one code; undefined: there is only one. Not reported. */
  subject?: string;
  severity: 'note' | 'warning' | 'error';
  message: string;
  remedy: string;
  /** ms since 1970; undefined: unknown. */
  sinceWall?: number;
  /** Path in the configuration. */
  path?: string;
}

const crashesBeforeReport = 3;

/** Conditions that follow from desired and observed state; not stored. */
export const deriveConditions = (wanted: Wanted, actual: Actual): readonly Condition[] => [
  ...wanted.corrections.map((correction) => correctionCondition(correction, wanted.revision)),
  ...ofIneffective(allIneffective(wanted, actual)),
  ...ofResources(actual.server),
  ...ofProgram('machine server', wanted.server, actual.install, wanted.clearance),
  ...ofProgram('agent', wanted.agent, actual.agentInstall, wanted.clearance),
  ...ofServer(actual),
  ...ofRestarts(actual),
];

const correctionCondition = ({ path, file, problem, used }: Correction, revision: number): Condition => ({
  code: 'CONFIG_CORRECTED',
  severity: 'warning',
  message: `${path}${sourceText(file, revision)}: ${problem} Used: ${used}.`,
  remedy:
    file === ''
      ? 'Correct this field in the configuration of the machine.'
      : `Correct this field in ${file}, and restart the agent.`,
  // A path in the configuration of the management server; its editor marks the field.
  ...(file === '' && { path }),
});

/** Where the field stands; a management server without revisions is not named. */
function sourceText(file: string, revision: number): string {
  if (file !== '') return ` in ${file}`;
  return revision === 0 ? '' : ` in revision ${revision}`;
}

/** Failures and conflicts of the server's process. */
function ofServer({ server, install }: Actual): Condition[] {
  const list: Condition[] = [];
  const isFailing = server.at === 'waiting' || server.at === 'starting';
  if (isFailing && server.isInBackground) {
    list.push({
      code: 'SERVER_IN_BACKGROUND',
      severity: 'error',
      message: `The machine server went into the background, where it cannot be supervised: ${server.lastExit}.`,
      remedy: 'Have the program run in the foreground: its first process must run until it is stopped.',
    });
  } else if (isFailing && server.lacks === 'files') {
    list.push({
      code: 'OUT_OF_FILES',
      severity: 'error',
      message: `The machine server cannot be started: ${server.lastExit.replace(/^not started: /, '')}.`,
      remedy:
        'Close programs, or raise the limit: LimitNOFILE of the agent, or fs.file-max of the machine. The machine server is started as soon as there is a free file descriptor.',
    });
  } else if (isFailing && server.lacks === undefined && server.failures >= crashesBeforeReport) {
    const last = install.lastExit?.lines.at(-1);
    list.push({
      code: 'SERVER_CRASHES',
      severity: 'error',
      message: `The machine server failed ${server.failures} times in a row; last: ${server.lastExit}${last === undefined ? '' : `, after "${last.slice(0, 200)}"`}.`,
      remedy: 'See its last lines in the logs. Another version can be chosen in version_control.platform-server.',
    });
  }
  if (server.conflict !== '') {
    list.push({
      code: 'SERVER_OBSTACLE',
      severity: 'warning',
      message: server.conflict,
      remedy: 'Stop that program, or configure the machine server so that they do not meet.',
    });
  }
  return list;
}

function ofRestarts(actual: Actual): Condition[] {
  const list: Condition[] = [];
  const server = { code: 'RESTART_NEEDED', severity: 'note', remedy: 'Restart the machine server to use it.' } as const;
  if (isRestartNeeded(actual)) {
    const message = `${otherServer(actual)}${because(actual.install.wait)}.`;
    list.push({ ...server, message });
  } else if (actual.slices.settings?.code === 'RESTART_NEEDED') {
    const message = 'The machine server runs with an earlier platform_server_env.';
    list.push({ ...server, message, path: 'agent.advanced_settings.platform_server_env' });
  }
  if (isAgentRestartNeeded(actual)) {
    list.push({
      code: 'AGENT_RESTART_NEEDED',
      severity: 'note',
      message: `Another version of the agent is installed than the one that runs${because(actual.agentInstall.wait)}.`,
      remedy: 'It is used from the next restart of the agent or of the machine on; the machine server keeps running.',
    });
  }
  return list;
}

/** What is installed beside what runs; the order of two versions is named only if it is known. */
function otherServer({ server, install: { installed, urls } }: Actual): string {
  if (server.running === null || installed === null || installed === server.running)
    return 'The file of the machine server was replaced since it started';
  const [runs, next] = [versionOf(server.running), versionOf(installed)];
  const order = isBefore(runs, next) ? 'A newer' : isBefore(next, runs) ? 'An older' : 'Another';
  const names = `${shownVersion(installed, urls)}, and ${shownVersion(server.running, urls)} runs`;
  return `${order} version of the machine server is installed than the one that runs (${names})`;
}

const because = (wait: InstallStatus['wait']): string => (wait ? `: ${wait.reason}` : '');

const ofIneffective = (fields: Wanted['ineffective']): Condition[] =>
  ineffectiveTexts(fields).map((text) => ({ code: 'NO_EFFECT_HERE', severity: 'warning', ...text }));

const mostResources = 50;

/** Failures that the machine server reports of its configuration. A resource that only waits is not a condition. */
function ofResources({ at, config }: Actual['server']): Condition[] {
  if (at !== 'running') return [];
  const bad =
    config?.report?.resources.filter(
      ({ state, error }) => state === 'failed' || (state === 'unhealthy' && error?.code !== 'RESOURCE_WAITS'),
    ) ?? [];
  const list = bad.slice(0, mostResources).map(({ path, name, state, sinceWall, error }): Condition => ({
    code: error?.code || 'RESOURCE_FAILED',
    severity: state === 'failed' ? 'error' : 'warning',
    message: error?.message || `${name} does not work.`,
    remedy: error?.remedy || 'See the logs of the machine server.',
    sinceWall,
    path,
  }));
  if (bad.length > mostResources)
    list.push({
      code: 'RESOURCE_FAILED',
      severity: 'error',
      message: `${bad.length - mostResources} more entries of the configuration do not work.`,
      remedy: 'GET /resource_status of the machine server lists all of them.',
    });
  return list;
}

function ofProgram(name: string, wanted: Release | undefined, install: InstallStatus, clearance: number): Condition[] {
  const { failure, quarantined, urls } = install;
  const list: Condition[] = [];
  if (failure) {
    const { code, text, remedy, sinceWall } = failure;
    list.push({ code: code || 'UPDATE_FAILED', severity: 'error', message: text, remedy, sinceWall });
  }
  const id = wanted && wanted.sha256 !== '' ? idOf(wanted.version, wanted.sha256) : (desiredId(install) ?? '');
  const bad = isQuarantined(quarantined, id, clearance);
  if (bad && wanted) {
    list.push({
      code: 'VERSION_QUARANTINED',
      severity: 'error',
      message: `Version ${shownAsked(wanted, id, urls)} of the ${name} failed on this machine and is not used: ${bad.reason}.`,
      remedy: 'Choose another version, or clear the quarantine of the machine to have it tried again.',
      sinceWall: bad.since * 1000,
    });
  }
  return list;
}

export const isRestartNeeded = ({ server, install }: Actual): boolean =>
  server.running !== null &&
  (server.isReplacedOnDisk || (install.installed !== null && server.running !== install.installed));

export const isAgentRestartNeeded = ({ agentInstall: { running, installed } }: Actual): boolean =>
  running !== null && installed !== null && running !== installed;
