import type { MaintenanceWindow } from '@platform/contract/agent-config';
import type { Delta } from './update/ports.ts';
import type { Bad, Trial } from './update/trial-file.ts';

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
  problem: string;
  used: string;
}

/** What is wanted of this machine. Replaced whole, never changed in place. */
export interface Wanted {
  /** Revision of the configuration, 0: none yet. */
  revision: number;
  settings: Settings;
  corrections: readonly Correction[];
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

export interface ServerStatus {
  at: 'stopped' | 'starting' | 'running' | 'stopping' | 'waiting' | 'disabled';
  /** Installed version (its id) that runs. */
  running: string | null;
  url: string | null;
  /** ms of the monotonic clock; null while nothing runs. */
  since: number | null;
  restarts: number;
  /** "exit 3", "signal 9", "unknown"; empty: none yet. */
  lastExit: string;
  /** What the running server said last; undefined: it gives no answer. */
  isRestartAllowed: boolean | undefined;
  hasMaintenance: boolean;
  /** The file that it runs from is another one by now. */
  isReplacedOnDisk: boolean;
  /** Times in a row that it failed: ended by itself soon, or was not ready in time. */
  failures: number;
  /** What it said last before it failed. */
  lastLines: readonly string[];
  /** What of this machine is in its way, a port that somebody else has for example; empty: nothing is known. */
  obstacle: string;
}

/** The last time that another version was wanted, and what came of it. */
export interface UpdateAttempt {
  /** Of the version; empty: not known before it is downloaded. */
  id: string;
  version: string;
  /** Version that was in use before; empty: none. */
  from: string;
  at: 'downloading' | 'staged' | 'trying' | 'healthy' | 'reverted' | 'failed';
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
  quarantined: readonly Bad[];
  lastUpdate: UpdateAttempt | undefined;
  /** Why this version runs and no other, for people. */
  why: string;
  /** No release key signed the installed version. */
  isUnsigned: boolean;
  /** What an operator pinned on the machine itself; empty: nothing. */
  pin: string;
  failure: Failure | undefined;
  /** The wanted version was looked for at least once in this run, with whatever end. */
  isChecked: boolean;
}

/** What is. One slice per managed thing; each has one writer. */
export interface Actual {
  server: ServerStatus;
  /** Of the machine server. */
  install: InstallStatus;
  agentInstall: InstallStatus;
}

const nothingInstalled: InstallStatus = {
  installed: null,
  running: null,
  previous: null,
  trial: undefined,
  quarantined: [],
  lastUpdate: undefined,
  why: '',
  isUnsigned: false,
  pin: '',
  failure: undefined,
  isChecked: false,
};

export const nothingYet: Actual = {
  server: {
    at: 'stopped',
    running: null,
    url: null,
    since: null,
    restarts: 0,
    lastExit: '',
    isRestartAllowed: undefined,
    hasMaintenance: false,
    isReplacedOnDisk: false,
    failures: 0,
    lastLines: [],
    obstacle: '',
  },
  install: nothingInstalled,
  agentInstall: nothingInstalled,
};

const idPattern = /^(.+)-([0-9a-f]{12})$/;

/** Folder name of an installed version: `<version>-<first 12 hex of sha256>`. */
export const idOf = (version: string, sha256: string): string =>
  `${version.replace(/[^A-Za-z0-9._+-]/g, '-').slice(0, 80) || 'unnamed'}-${sha256.slice(0, 12)}`;

export const versionOf = (id: string): string => idPattern.exec(id)?.[1] ?? id;
