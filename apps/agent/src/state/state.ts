import type { MaintenanceWindow } from '@platform/contract/agent-config';
import type { Ineffective } from '@platform/contract/config-effect';
import type { ResourceReport } from '@platform/contract/resource-report';
import type { Bad, Trial } from './trial-file.ts';

/** A patch that leads to a file from an earlier one. */
export interface Delta {
  fromSha256: string;
  url: string;
  sha256: string;
  sizeBytes: number;
}

/** One program of the cloud's choice. */
export interface Release {
  /** http(s):// or file:// */
  url: string;
  version: string;
  /** 64 hex digits of the file as downloaded; empty: a build of the operator's own, named by its URL alone. */
  sha256: string;
  /** 0: unknown. */
  sizeBytes: number;
  /** Path among the signed targets; empty: no release key signed it. */
  target: string;
  /** An owner consented to a file that no release key signed. */
  isUnsigned: boolean;
  deltas: readonly Delta[];
  /** What the configuration says, for people: stable, 1.4.0, a URL. */
  wish: string;
}

/** What this agent reads of the `agent` object, resolved over all layers. Durations in ms. */
export interface Settings {
  debug: boolean;
  /** Repeated log lines are sent one by one. */
  isFoldingOff: boolean;
  isServerDisabled: boolean;
  /** The agent goes over to a new version of its own without being restarted by others. */
  isAgentRestartAllowed: boolean;
  startTimeoutMs: number;
  isUpdateCheckFirst: boolean;
  serverEnv: Readonly<Record<string, string>>;
  /** Restarts for the sake of a new version may be made while it is open; undefined: none is configured. */
  maintenanceWindow: MaintenanceWindow | undefined;
}

/** A bad field of the configuration and what was used in its place. */
export interface Correction {
  path: string;
  /** Where it was written, for people; empty: in the configuration that the management server has. */
  file: string;
  problem: string;
  used: string;
}

/** The parts of a machine that act on a configuration, in the order in which they are shown. */
export const sliceNames = ['settings', 'versions', 'network', 'system', 'server'] as const;
export type SliceName = (typeof sliceNames)[number];

/** How far one slice is with the desired configuration. */
export interface SliceStatus {
  /** `no effect`: nothing acts on it on this machine. `not reported`: the machine server does not say. Both are left out of what is applied. */
  at: 'in effect' | 'lagging' | 'no effect' | 'not reported';
  /** Newest revision that it has put in effect, or that asked nothing of it; 0: none yet. */
  revision: number;
  /** Since when `at` holds, ms since 1970. */
  sinceWall: number;
  /** Row of the error table, else empty. */
  code: string;
  /** A clause without a full stop; empty: in effect. */
  reason: string;
  /** Paths of fields that a person set and that nothing acts on here. */
  ineffective: readonly string[];
}

/** Empty until it was looked for the first time. */
export type Slices = Partial<Readonly<Record<SliceName, SliceStatus>>>;

/** What is wanted of this machine. Replaced whole, never changed in place. */
export interface Wanted {
  /** Revision of the configuration, 0: none yet. */
  revision: number;
  settings: Settings;
  corrections: readonly Correction[];
  /** Fields that a person set and that this agent does not act on. */
  ineffective: readonly Ineffective[];
  /** Versions as a person wrote them; empty: nothing was written. */
  versions: { readonly agent: string; readonly server: string };
  server: Release | undefined;
  agent: Release | undefined;
  /** How often an operator cleared the quarantine of this machine. */
  clearance: number;
  /** The cloud answered in this run; false while only the cache speaks. */
  isFresh: boolean;
}

/** A failure that stays until it is gone; from it a condition of the report is made. */
export interface Failure {
  /** Row of the error table, else empty. */
  code: string;
  text: string;
  remedy: string;
  /** ms since 1970. */
  sinceWall: number;
}

/** How a program ended that was not asked to end. */
export interface ExitReport {
  /** Of the version that ended, or its version alone; empty: unknown. */
  id: string;
  /** A clause without a full stop: "exit 3". */
  reason: string;
  /** Last lines that it wrote, oldest first; bounded, secrets masked. */
  lines: readonly string[];
  /** ms since 1970. */
  sinceWall: number;
}

/** A quarantined version, and how its last start ended; undefined: not known. */
export interface QuarantinedVersion extends Bad {
  exit?: ExitReport | undefined;
}

export interface ServerStatus {
  at: 'stopped' | 'starting' | 'running' | 'stopping' | 'waiting' | 'disabled';
  /** Installed version (its id) that runs. */
  running: string | null;
  url: string | null;
  /** Of this agent's watch over it, ms of the monotonic clock; null while nothing runs. */
  since: number | null;
  /** When the process started, ms of the monotonic clock; null: nothing runs, or an earlier agent started it and nobody knows. */
  startedAt: number | null;
  restarts: number;
  /** "exit 3", "signal 9", "unknown"; empty: none yet. */
  lastExit: string;
  /** What the running server said last; undefined: it gives no answer. */
  isRestartAllowed: boolean | undefined;
  hasMaintenance: boolean;
  /** What it reports of its configuration; undefined: it was not asked yet. */
  config: ServerConfig | undefined;
  /** Stands for the environment that it was started with; undefined: unknown. */
  environment: string | undefined;
  /** The file that it runs from is another one by now. */
  isReplacedOnDisk: boolean;
  /** Times in a row that it failed: ended by itself soon, or was not ready in time. */
  failures: number;
  /** Its first process ended well and left others running: it cannot be supervised. */
  isInBackground: boolean;
  /** What of this machine is in its way, a port that somebody else has for example; empty: nothing is known. */
  obstacle: string;
}

/** Replaced only when something in it changed. */
export interface ServerConfig {
  /** Revision in effect; undefined: it does not report it. */
  revision: number | undefined;
  isChanging: boolean;
  etag: string;
  /** Undefined: it reports none. */
  report: ResourceReport | undefined;
}

/** The last time that another version was wanted, and what came of it. */
export interface UpdateAttempt {
  /** Of the version; empty: not known before it is downloaded. */
  id: string;
  /** For people, as `from`: a build by URL is named by its URL. */
  version: string;
  /** Version that was in use before; empty: none. */
  from: string;
  /** `superseded`: another version is desired before this one was proven. */
  at: 'downloading' | 'staged' | 'trying' | 'healthy' | 'reverted' | 'failed' | 'superseded';
  /** Row of the error table; empty: none. */
  code: string;
  reason: string;
  /** ms since 1970. */
  sinceWall: number;
  downloadedBytes: number;
  /** 0: unknown. */
  sizeBytes: number;
  isByDelta: boolean;
}

/** One program on this machine; versions by their ids. */
export interface InstallStatus {
  /** The version that bin/ links to. */
  installed: string | null;
  /** Null: none, or one that is none of these. */
  running: string | null;
  /** What an operator would go back to. */
  previous: string | null;
  /** Of the installed version, while it has not proved itself. */
  trial: Trial | undefined;
  /** Newest first. */
  quarantined: readonly QuarantinedVersion[];
  /** The last time that it ended without being asked to; undefined: not in this run of the agent. */
  lastExit: ExitReport | undefined;
  lastUpdate: UpdateAttempt | undefined;
  /** Why this version runs and no other, for people. */
  why: string;
  /** Where builds by URL came from. */
  urls: Readonly<Record<string, string>>;
  /** No release key signed the version that runs; while none runs, the installed one. */
  isUnsigned: boolean;
  /** No release key signed the installed version. */
  isInstalledUnsigned: boolean;
  /** Why the installed version is not used yet, as a clause; empty: it is, or nothing that passes by itself keeps it. */
  wait: string;
  /** What an operator pinned on the machine itself; empty: nothing. */
  pin: string;
  failure: Failure | undefined;
  /** The wanted version was looked for at least once in this run, with whatever end. */
  isChecked: boolean;
  /** The last look after which nothing was left to do: for which revision, and the version that it asks for. */
  look: { revision: number; desired: string | null };
}

/** What is. One slice per managed thing; each has one writer. */
export interface Actual {
  server: ServerStatus;
  /** Of the machine server. */
  install: InstallStatus;
  agentInstall: InstallStatus;
  /** Newest revision that a loop has applied, after it acted. */
  acted: Partial<Readonly<Record<'settings' | 'network' | 'system', number>>>;
  slices: Slices;
  /** Newest revision that every slice that acts here had in effect at the same time, 0: none yet. */
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
  wait: '',
  pin: '',
  failure: undefined,
  isChecked: false,
  look: { revision: 0, desired: null },
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
    config: undefined,
    environment: undefined,
    isReplacedOnDisk: false,
    failures: 0,
    isInBackground: false,
    obstacle: '',
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
