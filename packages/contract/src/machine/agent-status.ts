import type { networkRowStates } from './network-states.ts';

/**
 * Output of `platform-agent status --json` and of GET /status on the agent's control socket. Changes are additive.
 * Times are RFC 3339 in UTC; null: unknown or not applicable.
 */

export interface AgentStatus {
  /** Time of this status. */
  at: string;
  /** False: no agent runs. The values come from its folder, and the times show their age. */
  is_running: boolean;
  agent: {
    version: string;
    pid: number | null;
    /** Part ID of the machine in the management app; empty: no credentials yet. */
    part_id: string;
    root: string;
    started: string | null;
    /** False in development and in containers: systemd does not restart the agent. */
    is_supervised_by_systemd: boolean;
    hostname: string;
    platform: string;
    os: string;
  };
  cloud: {
    address: string;
    is_reached: boolean;
    /** Time of the last change of `is_reached`. */
    since: string | null;
    last_contact: string | null;
  };
  config: {
    /** Number of the configuration that every slice has in effect now. 0: none. */
    revision: number;
    /** Newest received revision; absent: the running agent is older and reports it as `revision`. */
    received_revision?: number;
    /** SHA-256 of the newest received configuration; empty: none; absent: the running agent is older. */
    received_sha256?: string;
    /** `cloud`: received in this run; `cache`: from an earlier run; `none`: the defaults are in effect. */
    source: 'cloud' | 'cache' | 'none';
    /** Invalid fields, and the values used instead. */
    corrections: {
      path: string;
      problem: string;
      used: string;
      /**
       * File that contains the field; empty: the configuration of the management server; absent: the running agent is
       * older.
       */
      file?: string;
    }[];
    /**
     * The slices that apply the configuration, with the revision of each; absent: the running agent is older, or none
     * runs.
     */
    slices?: SliceReport[];
  };
  /** What the agent does with the network; absent: it does not manage it, or is older. */
  network?: NetworkStatusReport;
  /** Packages of the operating system; absent: not known yet, no apt, or the agent is older. */
  system?: PackageStatus;
  server: {
    at: 'stopped' | 'starting' | 'running' | 'stopping' | 'waiting' | 'disabled';
    version: string;
    pid: number | null;
    /** Time of its last start. */
    since: string | null;
    /** Its URL on this machine; empty while it is not ready. */
    url: string;
    /** Number of restarts by this agent after unexpected exits. */
    restarts: number;
    /** "exit 3", "signal 9"; empty: no exit yet. */
    last_exit: string;
    /** Null: the server does not report it. */
    is_restart_allowed: boolean | null;
    is_restart_needed: boolean;
  };
  programs: { agent: ProgramReport; server: ProgramReport };
  /** Conditions for the operator, the most severe first. */
  conditions: StatusCondition[];
  /** Lines that wait for upload, lines dropped since the agent started, and the size of the spool. */
  logs: { waiting_lines: number; dropped_lines: number; spool_bytes: number };
}

export interface NetworkStatusReport {
  /** `unmanaged`: the agent leaves the network alone; `why` says the reason. */
  mode: 'unmanaged' | 'normal' | 'joining' | 'hotspot' | 'rebooting';
  /** Time of the last change of `mode`. */
  since: string | null;
  why: string;
  /** What is tried next, and why; empty: nothing by time. */
  next: string;
  next_at: string | null;
  has_link: boolean;
  /** `unknown`: not measured over the present links, or too long ago. */
  connectivity: 'unknown' | 'none' | 'portal' | 'limited' | 'full';
  /** When it was measured; null: not over these links. Absent: the agent is older. */
  connectivity_checked_on?: string | null;
  is_cloud_reached: boolean;
  links: {
    interface: string;
    type: 'wifi' | 'wired' | 'bluetooth' | 'other';
    state: 'unmanaged' | 'unavailable' | 'disconnected' | 'connecting' | 'connected' | 'failed';
    ssid: string;
    /** 0: not WiFi, or not connected. */
    signal_percent: number;
    /** In CIDR form. */
    addresses: string[];
    has_default_route: boolean;
    is_hotspot: boolean;
    /** When the agent saw this state or network begin; at the earliest its own start. Absent: the agent is older. */
    since?: string | null;
    /** Empty: not known. */
    why?: string;
  }[];
  /** Empty: the hotspot does not run. */
  hotspot_ssid: string;
  /** Fields whose new values the running hotspot does not have yet. Absent: the agent is older. */
  hotspot_waiting?: string[];
  /** The last ten attempts to join a network, newest first. `result`: ok, wrong-password, not-found … */
  attempts: { network: string; interface: string; at: string | null; result: string; text: string }[];
  /** Links and radios to know of: IPv6 only, a second radio, an unplugged one. Absent: the agent is older. */
  notes?: string[];
  /** Online only by a network of lower priority than another configured one. */
  is_on_fallback: boolean;
  /** One row for each configured network. Absent: not measured yet, or the agent is older. */
  networks?: NetworkRowReport[];
  /** The settings of a radio that the configuration has. Absent: as above. */
  settings?: NetworkRowReport[];
}

export interface NetworkRowReport {
  /** In the configuration, as written. */
  path: string;
  /** Empty: a setting. */
  name: string;
  /** In use, or configured; empty: any. */
  interface: string;
  state: keyof typeof networkRowStates;
  /** Why, as a clause. */
  text: string;
  /** Code of the error table; empty: none. */
  code: string;
  since: string | null;
  /** Null: it was not measured. */
  measured: string | null;
  last_seen: string | null;
  /** It can never act on this machine as it is. */
  has_no_effect: boolean;
}

export interface PackageStatus {
  /** False: the system has no apt, and only `why` is known. Absent: the agent is older. */
  has_apt?: boolean;
  waiting_count: number;
  /** How many of the waiting upgrades are for security. */
  security_count: number;
  waiting: PackageUpgradeReport[];
  /** The last upgrade that apt recorded. `ended` null: it runs, or was interrupted. `problem` empty: it succeeded. */
  last_run: {
    started: string | null;
    ended: string | null;
    command: string;
    packages: PackageUpgradeReport[];
    problem: string;
  } | null;
  /** Null: no reboot is needed. `causes`: packages. `wait`: what the reboot waits for, as a clause. */
  reboot: { since: string | null; causes: string[]; wait: string } | null;
  /** What the package manager does for the agent; empty: nothing. */
  task: string;
  /**
   * Why the agent does not manage the operating system, and what it restored and left. Empty: it manages it. Absent: the
   * agent is older.
   */
  why?: string;
}

export interface PackageUpgradeReport {
  package: string;
  from: string;
  to: string;
  is_security: boolean;
}

export interface SliceReport {
  slice: 'settings' | 'versions' | 'network' | 'system' | 'server';
  /** `no effect`: this machine does not use it. `not reported`: the machine server does not report it. */
  state: 'in effect' | 'lagging' | 'no effect' | 'not reported';
  /** Number of the configuration that the slice has in effect now, as a whole; 0: none, or not known. */
  revision: number;
  /** SHA-256 of that configuration; empty: none, or not known; absent: the running agent is older. */
  config_sha256?: string;
  /** Time of the last change of `state`. */
  since: string | null;
  /** Code of the error table; empty: none. */
  code: string;
  /** Why it is not in effect; empty if it is. */
  reason: string;
  /** Fields that a user set and that have no effect here. */
  ineffective_paths: string[];
}

export interface ProgramReport {
  /** Versions for operators; a build by URL as that URL with its hash; empty: none. */
  running: string;
  installed: string;
  wanted: string;
  /** The configured version: `stable`, a version, or a URL; empty: none yet. */
  desired: string;
  /** The version that an operator pinned on the machine; it takes precedence over the configured one. Empty: none. */
  pin: string;
  /** The version that a rollback needs no download for. */
  previous: string;
  trial: { version: string; previous: string; starts: number; since: string | null } | null;
  /** `exit`: its last exit; absent: unknown. */
  quarantined: { version: string; reason: string; since: string | null; exit?: ProgramExit }[];
  /** Its last unexpected exit; absent: none since the agent started. */
  last_exit?: ProgramExit;
  last_update: {
    version: string;
    from: string;
    /** `superseded`: another version was desired before this one passed the health check. */
    state: 'downloading' | 'staged' | 'trying' | 'healthy' | 'reverted' | 'failed' | 'superseded';
    /** Code of the error table; empty: none. */
    code: string;
    reason: string;
    since: string | null;
    downloaded_bytes: number;
    /** 0: unknown. */
    size_bytes: number;
    /** True if a patch was downloaded instead of the whole file. */
    by_delta: boolean;
  } | null;
  /** Why this version runs, as text for users. */
  why: string;
  /**
   * What the installed version waits for: a clause that is also a part of `why`, and when the wait may end (null:
   * unknown). Absent: it does not wait, or only a restart ends it.
   */
  wait?: { reason: string; until: string | null };
  /**
   * Why the agent keeps the program from starting, as a clause, and until when at most (null: unknown). Absent: it does
   * not.
   */
  start_wait?: { reason: string; until: string | null };
  /** No release key signed the running file, or the installed one if none runs. */
  is_unsigned: boolean;
  /** No release key signed the installed file; absent: the running agent is older. */
  is_installed_unsigned?: boolean;
}

/** An unexpected exit of a program. */
export interface ProgramExit {
  /** Empty: unknown. */
  version: string;
  /** "exit 3", "signal SIGSEGV" … */
  reason: string;
  /** Last lines of its output, oldest first; limited, with secrets masked. */
  lines: string[];
  since: string | null;
}

export interface StatusCondition {
  code: string;
  severity: 'note' | 'warning' | 'error';
  message: string;
  remedy: string;
  since: string | null;
  /** Path in the configuration; empty: none; absent: the running agent is older. */
  path?: string;
}

/** Body of every failed request to the control socket, and output of a failed command with --json, in `error`. */
export interface ControlFailure {
  error: { code: string; what: string; remedy: string };
}

/** Answer of POST /update, /rollback, /pin and /clear. */
export interface ControlAnswer {
  /** False: the requested state already existed. */
  is_changed: boolean;
  /** The action taken, as one sentence. */
  did: string;
}
