/** The state of the machine before an installation. Contents are undefined where the file does not exist. */
export interface Facts {
  isRoot: boolean;
  /** linux/amd64 … */
  platform: string;
  /** Word size of the machine's own programs; undefined: unknown. */
  userlandBits: 32 | 64 | undefined;
  isSystemdRunning: boolean;
  freeBytes: number;
  /** Mount point of the root's file system if it is mounted noexec. */
  noexecAt: string | undefined;
  /** Paths that other users than root can change: such a user could become root. */
  exposed: readonly Exposed[];
  /** Units of other agents. */
  others: readonly OtherAgent[];
  /** The program to install, and why it cannot be. */
  candidate: Candidate;
  /** Versions stored below the root. */
  stored: readonly string[];
  /** Why this version is in quarantine; undefined: it is not. */
  quarantine: string | undefined;
  /** An agent of this root that systemd did not start; undefined: none. */
  strayPid: number | undefined;
  /** The version in use. */
  installed: string | null;
  credentials: FoundCredentials;
  /** By path: all files that an installation writes. */
  files: ReadonlyMap<string, FoundFile>;
  unit: { isActive: boolean; isEnabled: boolean; needsReload: boolean };
}

export interface Exposed {
  path: string;
  /** "owner 1000, mode 777" */
  because: string;
}

export interface OtherAgent {
  unit: string;
  file: string;
  isActive: boolean;
}

export interface Candidate {
  file: string;
  /** Folder name of its version. */
  id: string;
  version: string;
  sha256: string;
  sizeBytes: number;
  refusal: string | undefined;
}

export type FoundFile = { is: 'file'; text: string; mode: number } | { is: 'link'; target: string };

export type FoundCredentials =
  | { at: 'none' }
  | { at: 'unusable'; problem: string }
  | { at: 'usable'; text: string; partId: string; appAddress: string; authority?: string };
