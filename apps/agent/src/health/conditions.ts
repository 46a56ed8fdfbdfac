import { conditionOf, type ConditionCode } from '@platform/contract/conditions/conditions';
import type { Severity } from '@platform/contract/conditions/severity';
import { ineffectiveTexts } from '@platform/contract/config/effect';
import { allIneffective } from '../state/slices.ts';
import { isBefore } from '@platform/contract/releases/semantic-version';
import {
  idOf,
  versionOf,
  type Actual,
  type Correction,
  type InstallStatus,
  type Release,
  type Wanted,
} from '../state/state.ts';
import { desiredId, describeRequested, shownVersion } from '../state/version-names.ts';
import { isQuarantined } from '../state/trial-file.ts';

export interface Condition {
  code: string;
  /** Distinguishes conditions of one code; undefined: there is only one. Not reported. */
  subject?: string;
  severity: Severity;
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
  ...conditionOf('CONFIG_CORRECTED', {
    path,
    source: sourceText(file, revision),
    problem,
    used,
    ...(file === '' ? { place: 'the configuration of the machine' } : { place: file, next: 'restart the agent' }),
  }),
  // A path in the configuration of the management server; its editor marks the field.
  ...(file === '' && { path }),
});

/** Where the field stands; a management server without revisions is not named. */
function sourceText(file: string, revision: number): string {
  if (file !== '') return file;
  return revision === 0 ? '' : `revision ${revision}`;
}

/** Failures and conflicts of the server's process. */
function ofServer({ server, install }: Actual): Condition[] {
  const list: Condition[] = [];
  const isFailing = server.at === 'waiting' || server.at === 'starting';
  if (isFailing && server.isInBackground) {
    list.push(conditionOf('SERVER_IN_BACKGROUND', { exit: server.lastExit }));
  } else if (isFailing && server.lacks === 'files') {
    list.push(conditionOf('OUT_OF_FILES', { problem: server.lastExit.replace(/^not started: /, '') }));
  } else if (isFailing && server.lacks === undefined && server.failures >= crashesBeforeReport) {
    const line = install.lastExit?.lines.at(-1)?.slice(0, 200);
    list.push(conditionOf('SERVER_CRASHES', { failures: server.failures, exit: server.lastExit, line }));
  }
  if (server.conflict !== '') list.push(conditionOf('SERVER_CONFLICT', { conflict: server.conflict }));
  return list;
}

function ofRestarts(actual: Actual): Condition[] {
  const list: Condition[] = [];
  if (isRestartNeeded(actual)) {
    const reason = `${otherServer(actual)}${because(actual.install.wait)}`;
    list.push(conditionOf('RESTART_NEEDED', { reason }));
  } else if (actual.slices.settings?.code === 'RESTART_NEEDED') {
    const reason = 'The machine server runs with an earlier platform_server_env';
    const path = 'agent.advanced_settings.platform_server_env';
    list.push({ ...conditionOf('RESTART_NEEDED', { reason }), path });
  }
  if (isAgentRestartNeeded(actual))
    list.push(conditionOf('AGENT_RESTART_NEEDED', { reason: actual.agentInstall.wait?.reason }));
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
  ineffectiveTexts(fields).map(({ path, message: problem, remedy }) => ({
    ...conditionOf('NO_EFFECT_HERE', { problem, remedy }),
    path,
  }));

const mostResources = 50;

/** Failures that the machine server reports of its configuration. A resource that only waits is not a condition. */
function ofResources({ at, config }: Actual['server']): Condition[] {
  if (at !== 'running') return [];
  const bad =
    config?.report?.resources.filter(
      ({ state, error }) => state === 'failed' || (state === 'unhealthy' && error?.code !== 'RESOURCE_WAITS'),
    ) ?? [];
  const list = bad.slice(0, mostResources).map(({ path, name, state, sinceWall, error }): Condition => ({
    ...conditionOf('RESOURCE_FAILED', { name }),
    ...(error?.code && { code: error.code }),
    ...(error?.message && { message: error.message }),
    ...(error?.remedy && { remedy: error.remedy }),
    severity: state === 'failed' ? 'error' : 'warning',
    sinceWall,
    path,
  }));
  if (bad.length > mostResources)
    list.push({
      ...conditionOf('RESOURCE_FAILED', { name: '' }),
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
    list.push({
      code: code || ('UPDATE_FAILED' satisfies ConditionCode),
      severity: 'error',
      message: text,
      remedy,
      sinceWall,
    });
  }
  const id = wanted && wanted.sha256 !== '' ? idOf(wanted.version, wanted.sha256) : (desiredId(install) ?? '');
  const bad = isQuarantined(quarantined, id, clearance);
  if (bad && wanted) {
    const version = describeRequested(wanted, id, urls);
    list.push({
      ...conditionOf('VERSION_QUARANTINED', { version, program: name, reason: bad.reason }),
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
