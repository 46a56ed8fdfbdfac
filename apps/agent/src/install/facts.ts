/** What an installation finds on the machine. Contents are undefined where there is no such file. */
export interface Facts {
  isRoot: boolean;
  /** linux/amd64 … */
  platform: string;
  /** Word size of the programs that this machine is made of; undefined: not known. */
  userlandBits: 32 | 64 | undefined;
  isSystemdRunning: boolean;
  freeBytes: number;
  /** What others than root may change: whoever can is root from then on. */
  exposed: readonly Exposed[];
  /** Units of agents that are none of this one's. */
  others: readonly OtherAgent[];
  /** The program that shall be installed, and why it cannot be. */
  candidate: Candidate;
  /** Versions stored below the root. */
  stored: readonly string[];
  /** Why this version is not used here any more; undefined: it may be. */
  quarantine: string | undefined;
  /** An agent of this root that systemd did not start; undefined: none. */
  strayPid: number | undefined;
  /** Version in use. */
  installed: string | null;
  credentials: FoundCredentials;
  /** By path, of all files that an installation writes. */
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
