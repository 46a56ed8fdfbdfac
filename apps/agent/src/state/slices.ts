import type { ResourceState } from '@platform/contract/machine-server/resource-report';
import {
  contentOf,
  isSameConfig,
  noContent,
  sliceNames,
  type Actual,
  type ConfigContent,
  type InstallStatus,
  type ServerConfig,
  type SliceName,
  type Slices,
  type SliceStatus,
  type Wanted,
} from './state.ts';
import { isQuarantined } from './trial-file.ts';
import { shownVersion } from './version-names.ts';

/** The current status of a slice. Only a caller that checks repeatedly knows since when it holds. */
export type SliceLook = Pick<SliceStatus, 'at' | 'code' | 'reason' | 'ineffective' | 'content'> & {
  /**
   * What this machine was observed to act on. While it is the same as when a configuration was in effect, that
   * configuration still is. Empty: `content` says it already.
   */
  basis: string;
};

/** The machine that applies the configuration. */
export interface Actor {
  /** Fields that the agent acts on, as `section.key`. */
  actsOn: readonly string[];
  /** The agent was started from bin/, so it can be replaced. */
  isReplaceable: boolean;
  /**
   * This machine received another content under the same number before, as after a restored backup. A machine server
   * that reports numbers only does not say which one it uses.
   */
  hadOtherContent?: (content: ConfigContent) => boolean;
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

type Observed = Pick<SliceLook, 'at' | 'code' | 'reason'> & Partial<Pick<SliceLook, 'content'>>;
const inEffect: Observed = { at: 'in effect', code: '', reason: '' };
const lagging = (reason: string, code = ''): Observed => ({ at: 'lagging', code, reason });
const noEffect = (reason: string): Observed => ({ at: 'no effect', code: '', reason });
/** The slice still has an earlier configuration in effect. */
const laggingOn = (content: ConfigContent | undefined, observed: Observed): Observed =>
  content ? { ...observed, content: contentOf(content) } : observed;

/** Which slices have applied the desired configuration, and why the others have not. */
export function lookAtSlices(wanted: Wanted, actual: Actual, actor: Actor): Record<SliceName, SliceLook> {
  const acted = new Set(actor.actsOn.map((field) => field.split('.')[0] ?? ''));
  const look = (name: SliceName): SliceLook => {
    const sections = sectionsOf[name];
    const isActing = name === 'server' || sections.some((section) => acted.has(section));
    const observed = isActing ? observers[name](wanted, actual, actor) : noEffect('this agent does not act on it');
    return {
      content: observed.at === 'in effect' ? contentOf(wanted) : noContent,
      basis: name === 'versions' ? versionBasis(actual) : '',
      ...observed,
      ineffective: [
        ...allIneffective(wanted, actual)
          .filter(({ section }) => sections.includes(section))
          .map(({ path }) => path),
        ...(name === 'versions' && isServerLeftOut(wanted, actual.install)
          ? ['agent.version_control.platform-server']
          : []),
        ...(name === 'versions' && !actor.isReplaceable && wanted.versions.agent !== ''
          ? ['agent.version_control.agent']
          : []),
      ],
    };
  };
  return Object.fromEntries(sliceNames.map((name) => [name, look(name)])) as Record<SliceName, SliceLook>;
}

/** Fields that a user set and that nothing on this machine acts on; a path is named once. */
export function allIneffective(
  { ineffective }: Pick<Wanted, 'ineffective'>,
  { networkIneffective = [] }: Pick<Actual, 'networkIneffective'>,
): Wanted['ineffective'] {
  const named = new Set(ineffective.map(({ path }) => path));
  return [...ineffective, ...networkIneffective.filter(({ path }) => !named.has(path))];
}

const observers: Record<SliceName, (wanted: Wanted, actual: Actual, actor: Actor) => Observed> = {
  settings: lookAtSettings,
  versions: lookAtVersions,
  network: lookAtNetwork,
  system: (wanted, { acted, systemFailure }) => lookAtLoop(wanted, acted.system, systemFailure),
  server: lookAtServer,
};

type LoopFailure = Actual['networkFailure'];

function lookAtNetwork(wanted: Wanted, { acted, networkFailure, hotspotWait = '' }: Actual): Observed {
  const status = lookAtLoop(wanted, acted.network, networkFailure);
  return status.at === 'in effect' && hotspotWait !== '' ? lagging(hotspotWait) : status;
}

function lookAtLoop(wanted: Wanted, acted: ConfigContent = noContent, failure?: LoopFailure): Observed {
  const isActed = isSameConfig(acted, wanted);
  if (failure) return laggingOn(isActed ? undefined : acted, lagging(failure.reason, failure.code));
  return isActed ? inEffect : laggingOn(acted, lagging('the agent is applying it'));
}

function lookAtSettings(wanted: Wanted, { acted, server }: Actual, { markOf }: Actor): Observed {
  const { isServerDisabled, serverEnv } = wanted.settings;
  if (!isSameConfig(acted.settings ?? noContent, wanted)) return lagging('the agent is applying it');
  if (isServerDisabled && server.at !== 'disabled') return lagging('the machine server is being stopped');
  if (!isServerDisabled && server.at === 'disabled') return lagging('the machine server is being started');
  const isStale =
    server.running !== null && server.environment !== undefined && server.environment !== markOf(serverEnv);
  if (isStale)
    return lagging('the machine server runs with an earlier platform_server_env; restart it', 'RESTART_NEEDED');
  return inEffect;
}

/** A version that is not downloaded, because the configuration disables the machine server. */
const isServerLeftOut = ({ settings, versions }: Wanted, { pin }: InstallStatus): boolean =>
  settings.isServerDisabled && pin === '' && versions.server !== '';
/** The programs that are installed and run; their ids name their content. */
const versionBasis = ({ install, agentInstall }: Actual): string =>
  JSON.stringify([install, agentInstall].map(({ installed, running }) => [installed, running]));

function lookAtVersions(wanted: Wanted, actual: Actual, { isReplaceable }: Actor): Observed {
  // Nothing is downloaded for a disabled machine server: its version has no effect, and nothing lags.
  const server =
    wanted.settings.isServerDisabled && actual.install.pin === ''
      ? inEffect
      : lookAtProgram('machine server', wanted, actual.install, wanted.versions.server, wanted.server !== undefined);
  if (server.at !== 'in effect' || !isReplaceable) return server;
  return lookAtProgram('agent', wanted, actual.agentInstall, wanted.versions.agent, wanted.agent !== undefined);
}

/** @param text - version as the user wrote it; empty: not set. */
function lookAtProgram(name: string, wanted: Wanted, install: InstallStatus, text: string, isNamed: boolean): Observed {
  const { look, installed, running, quarantined, failure, pin, lastUpdate, urls, wait } = install;
  if (pin !== '') return lagging(`the ${name} is pinned to ${pin} on this machine`);
  if (!isSameConfig(look, wanted))
    return lagging(
      lastUpdate?.at === 'downloading'
        ? `${name} ${lastUpdate.version} is being downloaded`
        : `the ${name} is being checked`,
    );
  if (!isNamed)
    return text === '' || text === 'stable'
      ? inEffect
      : lagging(`the management server has no ${name} ${text} for this machine`, 'RELEASE_NOT_FOUND');
  const bad = isQuarantined(quarantined, look.desired ?? '', wanted.clearance);
  if (bad)
    return lagging(
      `${name} ${shownVersion(look.desired ?? '', urls)} failed on this machine: ${bad.reason}`,
      'VERSION_QUARANTINED',
    );
  if (failure) return lagging(failure.text.replace(/\.$/, ''), failure.code || 'UPDATE_FAILED');
  if (look.desired === null || look.desired !== installed)
    return lagging(`the wanted version of the ${name} is not installed yet`);
  if (running !== null && running !== installed)
    return lagging(
      `${name} ${shownVersion(installed, urls)} is installed and starts at the next restart${wait ? `; ${wait.reason}` : ''}`,
      name === 'agent' ? 'AGENT_RESTART_NEEDED' : 'RESTART_NEEDED',
    );
  return inEffect;
}

function lookAtServer(wanted: Wanted, { server, install, startWait }: Actual, actor: Actor): Observed {
  const { settings, server: release } = wanted;
  if (settings.isServerDisabled) return noEffect('agent.advanced_settings.disable_platform_server is true');
  if (install.installed === null && server.running === null)
    return release ? lagging('the machine server is not installed yet') : noEffect('no machine server is installed');
  if (server.at === 'stopped' && startWait) return lagging(`the machine server has not started: ${startWait.reason}`);
  if (server.at !== 'running') {
    const end = server.lastExit === '' ? '' : `; last end: ${server.lastExit}`;
    return server.at === 'waiting'
      ? lagging(`the machine server ended by itself${end}`, 'SERVER_CRASHES')
      : lagging(`the machine server is not ready (${server.at})${end}`);
  }
  const { config } = server;
  if (!config)
    return lagging(
      server.silentSinceWall === undefined
        ? 'the machine server has not reported yet'
        : 'the machine server does not answer',
    );
  if (config.revision === undefined)
    return { at: 'not reported', code: '', reason: 'this machine server does not report what it has put in effect' };
  const used = usedContent(config, wanted, actor);
  if (!used)
    return {
      at: 'not reported',
      code: '',
      reason: `this machine server reports revision ${config.revision} without its content, and this machine has had two contents of that number; save the configuration again`,
    };
  if (!isSameConfig(used, wanted)) {
    const isWhole = !config.isChanging && config.report?.resources.every(({ state }) => isAsConfigured(state));
    const observed = lagging(
      used.revision === wanted.revision
        ? `the machine server uses another content of revision ${used.revision}`
        : `the machine server uses revision ${used.revision}`,
    );
    return laggingOn(isWhole ? used : undefined, observed);
  }
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

const isAsConfigured = (state: ResourceState['state']): boolean => state === 'ready' || state === 'unhealthy';

/**
 * The configuration that the machine server uses. If it reports the number only, the agent knows which content it
 * received under that number; undefined: more than one.
 */
function usedContent(
  { revision = 0, configSha256 }: ServerConfig,
  wanted: Wanted,
  actor: Actor,
): ConfigContent | undefined {
  if (wanted.configSha256 === '') return { revision, configSha256: '' };
  if (configSha256 !== '') return { revision, configSha256 };
  if (revision !== wanted.revision) return { revision, configSha256: '' };
  return actor.hadOtherContent?.(wanted) ? undefined : contentOf(wanted);
}

function textOf({ path, name, error }: ResourceState): string {
  const message = (error?.message ?? 'it is not ready').replace(/\.$/, '');
  const [entry = ''] = /^\w+\[\d+\]/.exec(path) ?? [];
  return entry !== '' && message.includes(entry) ? message : `${path || name}: ${message}`;
}

/** Number of the configuration that all acting slices have in effect now; 0: none. It is a number for display. */
export function appliedRevision(slices: Slices): number {
  const [first, ...others] = Object.values(slices)
    .filter(({ at }) => at === 'in effect' || at === 'lagging')
    .map(({ content }) => content);
  return first && others.every((one) => isSameConfig(one, first)) ? first.revision : 0;
}
