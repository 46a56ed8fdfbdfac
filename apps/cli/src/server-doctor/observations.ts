import type { ServerOptions } from '../installation/server-options.ts';

/** What the doctor of a server observes, without evaluating it. Times in ms since 1970. */
export interface Observations {
  readonly now: number;
  readonly isRoot: boolean;
  readonly server: FoundServer;
  /** The answer of /readyz; undefined: the server does not run, or its port is not known. */
  readonly health: Health | undefined;
  /** An upgrade, a return or a restore that has not ended; undefined: there is none. */
  readonly change: ChangeSeen | undefined;
  /** Undefined: the server has no certificate. */
  readonly certificate: CertificateSeen | undefined;
  /** Undefined: there is no public URL. */
  readonly publicUrl: PublicUrlSeen | undefined;
  /** Whether a time server synchronizes the clock; undefined: not known. */
  readonly isClockSynchronized: boolean | undefined;
  readonly database: DatabaseSeen;
  readonly blobs: BlobsSeen;
  readonly disks: readonly DiskSeen[];
  readonly files: readonly FileSeen[];
  /** Undefined: the server is not installed as a service. */
  readonly units: readonly UnitSeen[] | undefined;
  /** The newest backup; undefined: there is none. */
  readonly lastBackup: number | undefined;
  /** Undefined: the server does not answer. */
  readonly releases: ReleasesSeen | undefined;
}

export interface FoundServer {
  /** The folder of the server itself. */
  readonly dataFolder: string;
  /** Whether it is the server of `install-service`. */
  readonly isInstalled: boolean;
  /** Undefined: it does not run. */
  readonly pid: number | undefined;
  readonly options: ServerOptions;
  /** On loopback, without TLS; undefined: not known. */
  readonly localUrl: string | undefined;
  readonly publicUrl: string | undefined;
}

export interface ChangeSeen {
  /** A clause such as `the switch from 0.1.0 to 0.2.0 (stage trial)`. */
  readonly what: string;
  /** Whether its unit works on it now. */
  readonly isRunning: boolean;
}

export type Health = { readonly status: number; readonly text: string } | { readonly problem: string };

export interface Validity {
  readonly from: number;
  readonly until: number;
  readonly names: string;
  /** Whether it is for the host of the public URL; undefined: there is none over https. */
  readonly isForHost: boolean | undefined;
}

export type CertificateSeen = { readonly file: string } & (
  | { readonly problem: string }
  | (Validity & {
      readonly isOfKey: boolean;
      /** Who issued the last certificate of the file; undefined: it is complete. */
      readonly missingIssuer: string | undefined;
    })
);

export interface PublicUrlSeen {
  readonly url: string;
  /** Unknown: this server has no releases by which it could be recognized. */
  readonly leadsTo: 'this' | 'other' | 'unknown' | 'nothing';
  readonly problem: string;
  /** How far this clock is ahead of the clock of what answers; undefined: it sent no date. */
  readonly aheadMs: number | undefined;
  /** The certificate of what answers there: of the server, or of a proxy. */
  readonly certificate: (Validity & { readonly distrust: string }) | undefined;
}

export type DatabaseSeen =
  | { readonly is: 'absent' | 'stopped'; readonly home?: string }
  | { readonly is: 'silent'; readonly problem: string; readonly home?: string }
  | {
      readonly is: 'running';
      readonly home?: string;
      readonly version: string;
      readonly number: number;
      readonly ahead_ms: number;
      readonly max_connections: number;
      readonly used_connections: number;
      readonly fsync: string;
      readonly full_page_writes: string;
      readonly read_only: string;
    };

/** The folder of the files of the installation. */
export type BlobsSeen =
  | { readonly problem: string }
  | {
      readonly folder: string;
      /** Whose files the folder says that it holds. */
      readonly mark: 'own' | 'missing' | 'foreign';
      /** Files that rows of the database name, and which of those looked for are not there; null: the server is stopped. */
      readonly files: { readonly named: number; readonly sampled: number; readonly missing: readonly string[] } | null;
    };

export interface DiskSeen {
  readonly folder: string;
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** 0: the file system has no fixed number. */
  readonly inodes: number;
  readonly freeInodes: number;
}

export interface FileSeen {
  readonly path: string;
  readonly isFolder: boolean;
  /** Permission bits. */
  readonly mode: number;
  /** Bits that only the owner may have. */
  readonly forbidden: number;
  /** Whether it belongs to the user of the server. */
  readonly isOwned: boolean;
}

export interface UnitSeen {
  readonly name: string;
  readonly isInstalled: boolean;
  /** Whether a user replaced the file of the unit. */
  readonly isReplaced: boolean;
  readonly isEnabled: boolean;
  /** Whether it should start with the system. */
  readonly startsWithSystem: boolean;
  /** Whether it runs all the time. */
  readonly isLasting: boolean;
  readonly activeState: string;
  readonly result: string;
  readonly needsReload: boolean;
  readonly dropIns: string;
}

export type ReleasesSeen =
  | { readonly problem: string }
  | {
      /** Programs and platforms of the signed list: `platform-agent linux/amd64`. */
      readonly programs: readonly string[];
      readonly documents: readonly { readonly name: string; readonly expires: number }[];
    };
