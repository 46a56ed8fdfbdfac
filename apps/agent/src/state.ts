import type { MaintenanceWindow } from '@platform/contract/agent-config';

/** One program of the cloud's choice. */
export interface Release {
  /** http(s):// or file:// */
  url: string;
  version: string;
  /** 64 hex digits of the file as downloaded; empty: a build of the operator's own, named by its URL alone. */
  sha256: string;
}

/** What this agent reads of the `agent` object, resolved over all layers. Durations in ms. */
export interface Settings {
  debug: boolean;
  isServerDisabled: boolean;
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

export interface InstallStatus {
  /** Id of the version that bin/ links to. */
  installed: string | null;
  failure: Failure | undefined;
  /** The wanted version was looked for at least once in this run, with whatever end. */
  isChecked: boolean;
}

/** What is. One slice per managed thing; each has one writer. */
export interface Actual {
  server: ServerStatus;
  install: InstallStatus;
}

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
  install: { installed: null, failure: undefined, isChecked: false },
};

const idPattern = /^(.+)-([0-9a-f]{12})$/;

/** Folder name of an installed version: `<version>-<first 12 hex of sha256>`. */
export const idOf = (version: string, sha256: string): string =>
  `${version.replace(/[^A-Za-z0-9._+-]/g, '-').slice(0, 80) || 'unnamed'}-${sha256.slice(0, 12)}`;

export const versionOf = (id: string): string => idPattern.exec(id)?.[1] ?? id;
