import type { Release } from '../state/state.ts';
import type { Program } from './layout.ts';

/** A file to download, as the management server described it. */
export interface FetchTask extends Omit<Release, 'desired'> {
  program: Program;
  /** Platform of this machine: linux/amd64 … */
  platform: string;
}

export interface Fetched {
  /** Id of the version, with a part of its content hash. */
  id: string;
  sha256: string;
  sizeBytes: number;
  isByDelta: boolean;
  /** Identifies the content of the URL without a download; empty: not available. */
  stamp: string;
  /** Why this file must not be used here. A refused file is not kept. */
  refusal: string | undefined;
}

export interface Progress {
  bytes: number;
  /** 0: unknown. */
  ofBytes: number;
}

/** Downloads, verifies and stages a release. Resumes an interrupted download. */
export interface Fetcher {
  /**
   * @throws PlatformError DOWNLOAD_CORRUPT, DOWNLOAD_FAILED (data.retryAfterSeconds: earliest retry), DISK_FULL, those
   * of Trust
   */
  fetch(task: FetchTask, tell: (progress: Progress) => void, signal: AbortSignal): Promise<Fetched>;
}

export interface Patches {
  /**
   * Writes the new file. The caller verifies the result.
   *
   * @param source - path below the root.
   * @throws Error if the patch is damaged, does not fit, or produces more than `limitBytes`
   */
  apply(
    of: { source: string; patch: AsyncIterable<Uint8Array>; limitBytes: number },
    write: (bytes: Uint8Array) => Promise<void>,
  ): Promise<void>;
}
