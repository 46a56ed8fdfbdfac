import type { ServerStateName, SliceStateName, UpdateStateName } from '@platform/contract/machine/program-states';
import type { AgentConfig, MaintenanceWindow, NetworkPlace } from '@platform/contract/config/agent-config';
import type { Ineffective } from '@platform/contract/config/effect';
import type { ResourceReport } from '@platform/contract/machine-server/resource-report';
import type { RestartDecision } from './may-restart.ts';
import type { Bad, Trial } from './trial-file.ts';

/** A patch from an earlier file to the file of this release. */
export interface Delta {
  fromSha256: string;
  url: string;
  sha256: string;
  sizeBytes: number;
}

/** A program file, as the management server resolved it or as an operator pinned it. */
export interface Release {
  /** http(s):// or file:// */
  url: string;
  version: string;
  /** 64 hex digits of the file as downloaded. Empty for a custom build: only its URL identifies it. */
  sha256: string;
  /** 0: unknown. */
  sizeBytes: number;
  /** Path among the signed targets. Empty: no release key signed the file. */
  target: string;
  /** An owner accepted a file that no release key signed. */
  isUnsigned: boolean;
  deltas: readonly Delta[];
  /** Text of the configuration, for display: stable, 1.4.0, a URL. */
  desired: string;
}

/** The fields of the `agent` object that this agent reads, resolved over all layers. Durations in ms. */
export interface Settings {
  debug: boolean;
  /** Repeated log lines are sent one by one, without deduplication. */
  isDeduplicationOff: boolean;
  isServerDisabled: boolean;
  /** The agent may restart itself to start its new version. */
  isAgentRestartAllowed: boolean;
  startTimeoutMs: number;
  isUpdateCheckFirst: boolean;
  serverEnv: Readonly<Record<string, string>>;
  /** Restarts for a new version may happen inside these windows. Empty: none is configured. */
  maintenanceWindows: readonly MaintenanceWindow[];
  /** A restart waits at most this long for a window or the maintenance sensor. 0: no limit. */
  longestDeferralHours: number;
  isNetworkDisabled: boolean;
  network: AgentConfig['network_configuration'];
  additionalNetworks: AgentConfig['additional_networks'];
  isSystemDisabled: boolean;
  /** Undefined: the configuration does not have the key. */
  system: SystemSettings | undefined;
}

/** `system_configuration`; limits in MB, -1: the limit of the system holds. */
export interface SystemSettings {
  runtimeMaxMegabytes: number;
  systemMaxMegabytes: number;
  /** Empty: the agent leaves the upgrades of the system alone. */
  upgradeType: '' | 'all' | 'security' | 'disable';
}

/** Where the settings of the network stand in the configuration. */
export interface NetworkSources {
  /** Each configured network, in the order of the configuration. */
  networks: readonly NetworkPlace[];
  /** Keys of `network_configuration` that a user set, and their paths as written. */
  fields: Readonly<Record<string, string>>;
}

/** An invalid field of the configuration and the value used instead. */
export interface Correction {
  path: string;
  /** File of the field, for display. Empty: the configuration of the management server. */
  file: string;
  problem: string;
  used: string;
}

/**
 * A saved configuration. The content is its identity; the number is for display, because numbers come again after the
 * management server was restored from a backup.
 */
export interface ConfigContent {
  /** 0: none was saved. */
  readonly revision: number;
  /** SHA-256 of the saved text, hex; empty: none was saved, or the management server is older and does not send it. */
  readonly configSha256: string;
}

export const noContent: ConfigContent = { revision: 0, configSha256: '' };
export const contentOf = ({ revision, configSha256 }: ConfigContent): ConfigContent => ({ revision, configSha256 });

/** Compares numbers only if the management server sends no content. */
export const isSameConfig = (a: ConfigContent, b: ConfigContent): boolean =>
  a.configSha256 === b.configSha256 && (a.configSha256 !== '' || a.revision === b.revision);

/** The subsystems that apply a configuration, in display order. */
export const sliceNames = ['settings', 'versions', 'network', 'system', 'server'] as const;
export type SliceName = (typeof sliceNames)[number];

/** How far one slice has applied the desired configuration. */
export interface SliceStatus {
  /**
   * `no effect`: nothing on this machine acts on it. `not reported`: the machine server reports no status. `applied`
   * ignores both.
   */
  at: SliceStateName;
  /** The saved configuration that the slice has in effect now, as a whole; `noContent`: none, or not known. */
  content: ConfigContent;
  /** When the slice last had a configuration in effect: that configuration, and what the machine acted on. */
  proof: { content: ConfigContent; basis: string } | undefined;
  /** Start of the state `at`, ms since 1970. */
  sinceWall: number;
  /** Code of the error table, or empty. */
  code: string;
  /** A clause without a full stop; empty: in effect. */
  reason: string;
  /** Paths of fields that a user set and that have no effect on this machine. */
  ineffective: readonly string[];
}

/** Empty before the first check. */
export type Slices = Partial<Readonly<Record<SliceName, SliceStatus>>>;

/** The desired state of this machine, and the saved configuration that it comes from. Replaced whole. */
export interface Wanted extends ConfigContent {
  settings: Settings;
  corrections: readonly Correction[];
  /** Fields that a user set and that this agent does not act on. */
  ineffective: readonly Ineffective[];
  /** Where the network settings stand; absent: not known. */
  networkSources?: NetworkSources;
  /** Versions as the user wrote them; empty: not set. */
  versions: { readonly agent: string; readonly server: string };
  server: Release | undefined;
  agent: Release | undefined;
  /** Number of times that an operator cleared the quarantine of this machine. */
  clearance: number;
  /** Number of times that an operator requested an upgrade of the operating system. */
  systemUpgrades: number;
  /** Orders of operators that wait for this machine. */
  orders: readonly { readonly id: string; readonly kind: OrderKind }[];
  /** The management server answered in this run. False: the state comes from the cache or the defaults. */
  isFresh: boolean;
}

/** What an operator orders of this machine, beside a restart of the machine server. */
export type OrderKind = 'restart agent' | 'reboot';

export interface OrderStatus {
  id: string;
  at: 'begun' | 'done' | 'failed';
  /** A sentence; empty: none. */
  reason: string;
  /** ms since 1970. */
  sinceWall: number;
}

/** A failure that lasts until its cause is gone. The report turns it into a condition. */
export interface Failure {
  /** Code of the error table, or empty. */
  code: string;
  text: string;
  remedy: string;
  /** ms since 1970. */
  sinceWall: number;
}

/** An exit of a program that the agent did not request. */
export interface ExitReport {
  /** Id of the version that ended, or its version string only. Empty: unknown. */
  id: string;
  /** A clause without a full stop: "exit 3". */
  reason: string;
  /** Last lines of its output, oldest first; bounded, secrets masked. */
  lines: readonly string[];
  /** ms since 1970. */
  sinceWall: number;
}

/** A quarantined version and how its last start ended; undefined: unknown. */
export interface QuarantinedVersion extends Bad {
  exit?: ExitReport | undefined;
}

export interface ServerStatus {
  at: ServerStateName;
  /** Id of the installed version that runs. */
  running: string | null;
  url: string | null;
  /** Start of this agent's supervision of the process, monotonic ms; null while nothing runs. */
  since: number | null;
  /** Start of the process, monotonic ms. Null: nothing runs, or the start of an adopted process is unknown. */
  startedAt: number | null;
  restarts: number;
  /** "exit 3", "signal 9", "unknown"; empty: none yet. */
  lastExit: string;
  /** Last answer of the running server; undefined: it does not answer. */
  isRestartAllowed: boolean | undefined;
  /** Its configuration names a maintenance sensor. */
  hasMaintenance: boolean;
  /** Reading of the maintenance sensor while it forbids a restart. Empty: it does not. */
  maintenanceDenial: string;
  /** Since when the running server does not answer, ms since 1970; undefined: it answers. */
  silentSinceWall: number | undefined;
  /** Configuration status that the server reports. Undefined: not requested yet. */
  config: ServerConfig | undefined;
  /** Checksum of the environment that it was started with; undefined: unknown. */
  environment: string | undefined;
  /** The file that it runs from was replaced, or the server reports that it needs a restart. */
  isReplacedOnDisk: boolean;
  /** Consecutive failures to start, to get ready or to stay up; an exit after a stable run counts as the first. */
  failures: number;
  /** What this machine lacked at its last start: room on the disk, or file descriptors. Not a failure of the server. */
  lacks: 'disk' | 'files' | undefined;
  /** Its first process exited with 0 and left others running, so the agent cannot supervise it. */
  isInBackground: boolean;
  /** A conflict on this machine, for example a port that a foreign process uses. Empty: none known. */
  conflict: string;
}

/** Replaced only when a field changes. */
export interface ServerConfig {
  /** Revision in effect; undefined: the server does not report it. */
  revision: number | undefined;
  /** SHA-256 of the configuration in effect, hex; empty: the server reports the revision only. */
  configSha256: string;
  isChanging: boolean;
  etag: string;
  /** Undefined: the server reports none. */
  report: ResourceReport | undefined;
}

/** The last change to another version and its outcome. */
export interface UpdateAttempt {
  /** Id of the version. Empty: unknown before the download. */
  id: string;
  /** For display, like `from`. A build by URL shows its URL. */
  version: string;
  /** Version in use before; empty: none. */
  from: string;
  /** `superseded`: another version became desired before this one passed the health check. */
  at: UpdateStateName;
  /** Code of the error table; empty: none. */
  code: string;
  reason: string;
  /** ms since 1970. */
  sinceWall: number;
  downloadedBytes: number;
  /** 0: unknown. */
  sizeBytes: number;
  isByDelta: boolean;
}

/** Installation status of one program; versions by their ids. */
export interface InstallStatus {
  /** The version that bin/ links to. */
  installed: string | null;
  /** Null: none runs, or one that is not installed here. */
  running: string | null;
  /** The version that a rollback by an operator restores. */
  previous: string | null;
  /** Trial of the installed version until it passes the health check. */
  trial: Trial | undefined;
  /** Newest first. */
  quarantined: readonly QuarantinedVersion[];
  /** The last unrequested exit that this run of the agent detected; undefined: none. */
  lastExit: ExitReport | undefined;
  lastUpdate: UpdateAttempt | undefined;
  /** Why this version runs, for display. */
  why: string;
  /** Source URLs of builds by URL, by version id. */
  urls: Readonly<Record<string, string>>;
  /** No release key signed the running version or, while none runs, the installed one. */
  isUnsigned: boolean;
  /** No release key signed the installed version. */
  isInstalledUnsigned: boolean;
  /** Temporary reason why the installed version does not run yet. Undefined: none. */
  wait: RestartDecision | undefined;
  /** The version that an operator pinned on this machine; empty: none. */
  pin: string;
  failure: Failure | undefined;
  /** In this run, the agent has processed a fresh desired version at least once, with any outcome. */
  isChecked: boolean;
  /** The last pass that left no step to do: its configuration and desired version. */
  look: ConfigContent & { desired: string | null };
}

/** What the first start of a program waits for. */
export interface StartWait {
  /** A clause. */
  reason: string;
  /** When the wait ends at the latest, ms since 1970; undefined: unknown. */
  untilWall: number | undefined;
}

/** The observed state, by subject. */
export interface Actual {
  server: ServerStatus;
  /** Installation of the machine server. */
  install: InstallStatus;
  agentInstall: InstallStatus;
  /** Why the machine server is kept from its first start; absent: it is not. */
  startWait?: StartWait;
  /** The configuration that each loop applied last; set after the loop acted. */
  acted: Partial<Readonly<Record<'settings' | 'network' | 'system', ConfigContent>>>;
  /** Why the desired networks are not applied; undefined: they are, or are being applied. */
  networkFailure?: { code: string; reason: string } | undefined;
  /** What the running hotspot does not have yet, and why, as a clause; empty: nothing. */
  hotspotWait?: string;
  /** Networks and settings of a radio that can never act on this machine as it is; absent: none, or not measured. */
  networkIneffective?: readonly Ineffective[];
  /** The same of `system_configuration`. */
  systemFailure?: { code: string; reason: string } | undefined;
  /** The newest requested upgrade of the operating system that is done; undefined: not known. */
  upgradesDone?: number | undefined;
  /** The newest order of each kind that this agent has taken; absent: not read yet. */
  orders?: readonly OrderStatus[];
  slices: Slices;
  /** Number of the configuration that all slices with an effect have in effect now; 0: none. */
  applied: number;
}

const nothingInstalled: InstallStatus = {
  installed: null,
  running: null,
  previous: null,
  trial: undefined,
  quarantined: [],
  lastExit: undefined,
  lastUpdate: undefined,
  why: '',
  urls: {},
  isUnsigned: false,
  isInstalledUnsigned: false,
  wait: undefined,
  pin: '',
  failure: undefined,
  isChecked: false,
  look: { ...noContent, desired: null },
};

export const nothingYet: Actual = {
  server: {
    at: 'stopped',
    running: null,
    url: null,
    since: null,
    startedAt: null,
    restarts: 0,
    lastExit: '',
    isRestartAllowed: undefined,
    hasMaintenance: false,
    maintenanceDenial: '',
    silentSinceWall: undefined,
    config: undefined,
    environment: undefined,
    isReplacedOnDisk: false,
    lacks: undefined,
    failures: 0,
    isInBackground: false,
    conflict: '',
  },
  install: nothingInstalled,
  agentInstall: nothingInstalled,
  acted: {},
  slices: {},
  applied: 0,
};

const idPattern = /^(.+)-([0-9a-f]{12})$/;

/** Folder name of an installed version: `<version>-<first 12 hex of sha256>`. */
export const idOf = (version: string, sha256: string): string =>
  `${version.replace(/[^A-Za-z0-9._+-]/g, '-').slice(0, 80) || 'unnamed'}-${sha256.slice(0, 12)}`;

export const versionOf = (id: string): string => idPattern.exec(id)?.[1] ?? id;
