import type { CameBy } from '../wire/base-url.ts';

/** State of the response to a check. */
export type Present = {
  /** Fingerprint of the response; equal fingerprints mean equal responses. */
  fingerprint: string;
  /** Whether another field, such as a waiting restart, must be sent immediately. */
  isUrgent: boolean;
};

/** A machine's long poll for a change of its configuration. It is held for up to a minute, so it must be small. */
export interface Check {
  readonly partId: string;
  /** Fingerprint of the response that the machine has; empty: none. */
  readonly known: string;
  readonly waitMs: number;
  /** The response's state if it is cached. */
  now(): Present | undefined;
  /** @throws PlatformError PART_NOT_FOUND */
  look(): Promise<Present>;
  /** The encoded message for an unchanged configuration. */
  same(present: Present): Uint8Array;
  /** The encoded message with the whole response that `look` found. */
  whole(present: Present): Uint8Array;
  watch(wake: () => void): () => void;
}

/** A check that has just arrived. */
export type NewCheck = {
  check: Check;
  /** Whether the host's facts in it are known already. */
  isKnown: boolean;
  /** Notes that its machine has checked in. Its caller must be authenticated. */
  note(): void;
  /** Stores the host's facts. */
  save(): Promise<void>;
};

/** Parses a message; undefined: not a check, or a check that needs the full RPC. */
export type ReadCheck = (
  body: Uint8Array,
  from: { baseUrl: string; address: string; cameBy: CameBy },
) => NewCheck | undefined;
