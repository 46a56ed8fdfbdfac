/**
 * What `platform-agent status --json` prints and GET /status on the agent's control socket answers. Members are only ever
 * added. Times are RFC 3339 in UTC; null: not known, or not so.
 */

export interface AgentStatus {
  /** When this was true. */
  at: string;
  /** False: no agent runs; what follows was read from its folder, and times tell how old it is. */
  is_running: boolean;
  agent: {
    version: string;
    pid: number | null;
    /** Of the machine in the management app; empty: no credentials yet. */
    part_id: string;
    root: string;
    started: string | null;
    /** False in development and in containers: nothing starts the agent again when it dies. */
    is_supervised_by_systemd: boolean;
    hostname: string;
    platform: string;
    os: string;
  };
  cloud: {
    address: string;
    is_reached: boolean;
    /** Since when `is_reached` is what it is. */
    since: string | null;
    last_contact: string | null;
  };
  config: {
    /** Revision of the newest configuration that every slice that acts on this machine had in effect at once. 0: none yet, the defaults hold. */
    revision: number;
    /** Newest one that was received; absent: the agent that runs is older and reports it as `revision`. */
    received_revision?: number;
    /** `cloud`: heard in this run; `cache`: of an earlier one; `none`: the defaults hold. */
    source: 'cloud' | 'cache' | 'none';
    /** Bad fields, and what was used in their place. */
    corrections: {
      path: string;
      problem: string;
      used: string;
      /** Where it was written; empty: in the configuration that the management server has; absent: the agent that runs is older. */
      file?: string;
    }[];
    /** What acts on the configuration, and how far each is; absent: the agent that runs is older, or none runs. */
    slices?: SliceReport[];
  };
  server: {
    at: 'stopped' | 'starting' | 'running' | 'stopping' | 'waiting' | 'disabled';
    version: string;
    pid: number | null;
    /** When it was started. */
    since: string | null;
    /** Where it answers on this machine; empty while it is not ready. */
    url: string;
    /** Starts that this agent made after it had ended by itself. */
    restarts: number;
    /** "exit 3", "signal 9"; empty: none yet. */
    last_exit: string;
    /** Null: it does not say. */
    is_restart_allowed: boolean | null;
    is_restart_needed: boolean;
  };
  programs: { agent: ProgramReport; server: ProgramReport };
  /** What an operator should know, worst first. */
  conditions: StatusCondition[];
  /** Lines that wait to be sent to the management app, those that had no room since the agent started, and the room they take. */
  logs: { waiting_lines: number; dropped_lines: number; spool_bytes: number };
}

export interface SliceReport {
  slice: 'settings' | 'versions' | 'network' | 'system' | 'server';
  /** `no effect`: nothing acts on it on this machine. `not reported`: the machine server does not say. */
  state: 'in effect' | 'lagging' | 'no effect' | 'not reported';
  /** Newest revision that it has put in effect; 0: none yet. */
  revision: number;
  /** Since when `state` holds. */
  since: string | null;
  /** Row of the table of errors; empty: none. */
  code: string;
  /** Why it is not in effect; empty: it is. */
  reason: string;
  /** Fields that a person set and that nothing acts on here. */
  ineffective_paths: string[];
}

export interface ProgramReport {
  /** Versions as an operator knows them, a build by URL as that URL with its hash; empty: none. */
  running: string;
  installed: string;
  wanted: string;
  /** What the configuration says: `stable`, a version, an address; empty: nothing yet. */
  wish: string;
  /** What an operator pinned on the machine itself; it counts before the wish. Empty: nothing. */
  pin: string;
  /** What an operator would go back to without a download. */
  previous: string;
  trial: { version: string; previous: string; starts: number; since: string | null } | null;
  /** `exit`: how its last start ended; absent: not known. */
  quarantined: { version: string; reason: string; since: string | null; exit?: ProgramExit }[];
  /** The last time that it ended without being asked to; absent: not since the agent started. */
  last_exit?: ProgramExit;
  last_update: {
    version: string;
    from: string;
    /** `superseded`: another version is desired before this one was proven. */
    state: 'downloading' | 'staged' | 'trying' | 'healthy' | 'reverted' | 'failed' | 'superseded';
    /** Row of the table of errors; empty: none. */
    code: string;
    reason: string;
    since: string | null;
    downloaded_bytes: number;
    /** 0: not known. */
    size_bytes: number;
    /** A patch was enough. */
    by_delta: boolean;
  } | null;
  /** Why this version runs and no other, for people. */
  why: string;
  /** No release key signed the running file; while none runs, the installed one. */
  is_unsigned: boolean;
  /** No release key signed the installed file; absent: the agent that runs is older. */
  is_installed_unsigned?: boolean;
}

/** How a program ended that was not asked to end. */
export interface ProgramExit {
  /** Empty: not known. */
  version: string;
  /** "exit 3", "signal SIGSEGV" … */
  reason: string;
  /** Last lines that it wrote, oldest first; bounded, secrets masked. */
  lines: string[];
  since: string | null;
}

export interface StatusCondition {
  code: string;
  severity: 'note' | 'warning' | 'error';
  message: string;
  remedy: string;
  since: string | null;
  /** Place in the configuration; empty: none; absent: the agent that runs is older. */
  path?: string;
}

/** Body of every failed request to the control socket, and what a failed command prints with --json, in `error`. */
export interface ControlFailure {
  error: { code: string; what: string; remedy: string };
}

/** Answer of POST /update, /rollback, /pin and /clear. */
export interface ControlAnswer {
  /** False: everything was so already. */
  is_changed: boolean;
  /** What was done, one sentence. */
  did: string;
}
