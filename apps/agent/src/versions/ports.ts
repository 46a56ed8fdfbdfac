import type { Delta } from '../state/state.ts';
import type { Program } from './layout.ts';

/** What is to be fetched, as the management server told it. */
export interface FetchTask {
  program: Program;
  /** Of this machine: linux/amd64 … */
  platform: string;
  url: string;
  version: string;
  /** 64 hex digits; empty: unknown. */
  sha256: string;
  /** 0: unknown. */
  sizeBytes: number;
  /** Path among the signed targets; empty: none. */
  target: string;
  /** An owner consented to a file that no release key signed. */
  isUnsigned: boolean;
  deltas: readonly Delta[];
}

export interface Fetched {
  /** Of the version, by its content. */
  id: string;
  sha256: string;
  sizeBytes: number;
  isByDelta: boolean;
  /** Tells one content of the URL from another without fetching it; empty: nothing does. */
  stamp: string;
  /** Why this file must not be used here; then it was not kept. */
  refusal: string | undefined;
}

export interface Progress {
  bytes: number;
  /** 0: unknown. */
  ofBytes: number;
}

/** Fetches, checks and stages a release; goes on with what an interrupted one left. */
export interface Fetcher {
  /** @throws PlatformError DOWNLOAD_CORRUPT, DOWNLOAD_FAILED (data.retryAfterSeconds: not before), DISK_FULL, those of Trust */
  fetch(task: FetchTask, tell: (progress: Progress) => void, signal: AbortSignal): Promise<Fetched>;
}

export interface Patches {
  /**
   * Makes the new file. What comes out is checked by the caller.
   *
   * @param source - path below the root.
   * @throws Error when the patch is damaged, does not fit, or leads to more than `limitBytes`
   */
  apply(
    of: { source: string; patch: AsyncIterable<Uint8Array>; limitBytes: number },
    write: (bytes: Uint8Array) => Promise<void>,
  ): Promise<void>;
}
