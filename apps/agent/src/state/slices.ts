import { actedOn } from '@platform/contract/config-effect';
import type { ResourceState } from '@platform/contract/resource-report';
import {
  sliceNames,
  type Actual,
  type InstallStatus,
  type SliceName,
  type Slices,
  type SliceStatus,
  type Wanted,
} from './state.ts';
import { isQuarantined } from './trial-file.ts';
import { shownVersion } from './version-names.ts';

/** The current status of a slice. Only a caller that checks repeatedly knows since when it holds. */
export type SliceLook = Pick<SliceStatus, 'at' | 'code' | 'reason' | 'ineffective'>;

/** The machine that applies the configuration. */
export interface Actor {
  /** linux/amd64 … */
  platform: string;
  /** The agent may change the networks of this machine; left out: it may not. */
  managesNetworks?: boolean;
  /** The agent may change files and packages of the operating system; left out: it may not. */
  managesSystem?: boolean;
  /** The agent was started from bin/, so it can be replaced. */
  isReplaceable: boolean;
  /** Checksum of an environment of the machine server. */
  markOf: (environment: Readonly<Record<string, string>>) => string;
}

const sectionsOf: Record<SliceName, readonly string[]> = {
  settings: ['advanced_settings', 'maintenance_window'],
  versions: ['version_control'],
  network: ['network_configuration', 'additional_networks'],
  system: ['system_configuration'],
  server: [],
};

type Observed = Omit<SliceLook, 'ineffective'>;
const inEffect: Observed = { at: 'in effect', code: '', reason: '' };
const lagging = (reason: string, code = ''): Observed => ({ at: 'lagging', code, reason });
const noEffect = (reason: string): Observed => ({ at: 'no effect', code: '', reason });

/** Which slices have applied the desired configuration, and why the others have not. */
export function lookAtSlices(wanted: Wanted, actual: Actual, actor: Actor): Record<SliceName, SliceLook> {
  const acted = new Set(
    actedOn(actor.platform, {
      managesNetworks: actor.managesNetworks ?? false,
      managesSystem: actor.managesSystem ?? false,
    }).map((field) => field.split('.')[0] ?? ''),
  );
  const look = (name: SliceName): SliceLook => {
    const sections = sectionsOf[name];
    const isActing = name === 'server' || sections.some((section) => acted.has(section));
    return {
      ...(isActing ? observers[name](wanted, actual, actor) : noEffect('this agent does not act on it')),
      ineffective: [
        ...wanted.ineffective.filter(({ section }) => sections.includes(section)).map(({ path }) => path),
        ...(name === 'versions' && !actor.isReplaceable && wanted.versions.agent !== ''
          ? ['agent.version_control.agent']
          : []),
      ],
    };
  };
  return Object.fromEntries(sliceNames.map((name) => [name, look(name)])) as Record<SliceName, SliceLook>;
}

const observers: Record<SliceName, (wanted: Wanted, actual: Actual, actor: Actor) => Observed> = {
  settings: lookAtSettings,
  versions: lookAtVersions,
  network: lookAtNetwork,
  system: lookAtSystem,
  server: lookAtServer,
};

const lookAtLoop = (wanted: Wanted, revision = 0): Observed =>
  revision >= wanted.revision ? inEffect : lagging('the agent is applying it');

function lookAtNetwork(wanted: Wanted, { acted, networkFailure }: Actual): Observed {
  const status = lookAtLoop(wanted, acted.network);
  return status.at === 'lagging' && networkFailure ? lagging(networkFailure.reason, networkFailure.code) : status;
}

function lookAtSystem(wanted: Wanted, { acted, systemFailure }: Actual): Observed {
  const status = lookAtLoop(wanted, acted.system);
  return systemFailure ? lagging(systemFailure.reason, systemFailure.code) : status;
}

function lookAtSettings(wanted: Wanted, { acted, server }: Actual, { markOf }: Actor): Observed {
  const { isServerDisabled, serverEnv } = wanted.settings;
  if ((acted.settings ?? 0) < wanted.revision) return lagging('the agent is applying it');
  if (isServerDisabled && server.at !== 'disabled') return lagging('the machine server is being stopped');
  if (!isServerDisabled && server.at === 'disabled') return lagging('the machine server is being started');
  const isStale =
    server.running !== null && server.environment !== undefined && server.environment !== markOf(serverEnv);
  if (isStale)
    return lagging('the machine server runs with an earlier platform_server_env; restart it', 'RESTART_NEEDED');
  return inEffect;
}

function lookAtVersions(wanted: Wanted, actual: Actual, { isReplaceable }: Actor): Observed {
  const server = lookAtProgram(
    'machine server',
    wanted,
    actual.install,
    wanted.versions.server,
    wanted.server !== undefined,
  );
  if (server.at !== 'in effect' || !isReplaceable) return server;
  return lookAtProgram('agent', wanted, actual.agentInstall, wanted.versions.agent, wanted.agent !== undefined);
}

/** @param text - version as the user wrote it; empty: not set. */
function lookAtProgram(
  name: string,
  { revision, clearance }: Wanted,
  install: InstallStatus,
  text: string,
  isNamed: boolean,
): Observed {
  const { look, installed, running, quarantined, failure, pin, lastUpdate, urls, wait } = install;
  if (pin !== '') return lagging(`the ${name} is pinned to ${pin} on this machine`);
  if (look.revision < revision)
    return lagging(
      lastUpdate?.at === 'downloading'
        ? `${name} ${lastUpdate.version} is being downloaded`
        : `the ${name} is being checked`,
    );
  if (!isNamed)
    return text === '' || text === 'stable'
      ? inEffect
      : lagging(`the management server has no ${name} ${text} for this machine`, 'RELEASE_NOT_FOUND');
  const bad = isQuarantined(quarantined, look.desired ?? '', clearance);
  if (bad)
    return lagging(
      `${name} ${shownVersion(look.desired ?? '', urls)} failed on this machine: ${bad.reason}`,
      'VERSION_QUARANTINED',
    );
  if (failure) return lagging(failure.text.replace(/\.$/, ''), failure.code || 'UPDATE_FAILED');
  if (look.desired === null || look.desired !== installed) return lagging(`the ${name} is being installed`);
  if (running !== null && running !== installed)
    return lagging(
      `${name} ${shownVersion(installed, urls)} is installed and starts at the next restart${wait ? `; ${wait.reason}` : ''}`,
      name === 'agent' ? 'AGENT_RESTART_NEEDED' : 'RESTART_NEEDED',
    );
  return inEffect;
}

function lookAtServer({ revision, settings, server: release }: Wanted, { server, install }: Actual): Observed {
  if (settings.isServerDisabled) return noEffect('agent.advanced_settings.disable_platform_server is true');
  if (install.installed === null && server.running === null)
    return release ? lagging('the machine server is not installed yet') : noEffect('no machine server is installed');
  if (server.at !== 'running') {
    const end = server.lastExit === '' ? '' : `; last end: ${server.lastExit}`;
    return server.at === 'waiting'
      ? lagging(`the machine server ended by itself${end}`, 'SERVER_CRASHES')
      : lagging(`the machine server is not ready (${server.at})${end}`);
  }
  const { config } = server;
  if (!config) return lagging('the machine server has not reported yet');
  if (config.revision === undefined)
    return { at: 'not reported', code: '', reason: 'this machine server does not report what it has put in effect' };
  if (config.revision < revision) return lagging(`the machine server uses revision ${config.revision}`);
  const { report } = config;
  if (config.etag !== '' && !report) return lagging('the machine server has not reported its entries yet');
  const bad = report?.resources.filter(({ state }) => state === 'failed') ?? [];
  const [first] = bad;
  if (first)
    return lagging(`${textOf(first)}${bad.length > 1 ? ` (and ${bad.length - 1} more)` : ''}`, first.error?.code);
  const waiting = report?.resources.find(({ state }) => state === 'waiting');
  if (waiting) return lagging(textOf(waiting), waiting.error?.code);
  return config.isChanging ? lagging('the machine server is applying it') : inEffect;
}

function textOf({ path, name, error }: ResourceState): string {
  const message = (error?.message ?? 'it is not ready').replace(/\.$/, '');
  const [entry = ''] = /^\w+\[\d+\]/.exec(path) ?? [];
  return entry !== '' && message.includes(entry) ? message : `${path || name}: ${message}`;
}

/** The revision that the slice itself has put in effect; 0: it has no effect or no report. */
export const revisionOf = ({ at, revision }: Pick<SliceStatus, 'at' | 'revision'>): number =>
  at === 'in effect' || at === 'lagging' ? revision : 0;

/**
 * The newest revision that is in effect as a whole. It is never above the smallest one over the slices. It is below
 * that if two slices failed in turn: then no revision in between was ever in effect.
 */
export function appliedRevision(wanted: Wanted, slices: Slices, before: number): number {
  const acting = Object.values(slices).filter(({ at }) => at === 'in effect' || at === 'lagging');
  const isWhole = acting.length > 0 && acting.every(({ at }) => at === 'in effect');
  return isWhole ? wanted.revision : Math.min(before, wanted.revision);
}
