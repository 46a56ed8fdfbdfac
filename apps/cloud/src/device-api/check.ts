/** What the answer to a check is now. */
export type Present = {
  /** Of the answer; the same text: the same answer. */
  fingerprint: string;
  /** Something beside it has to be told at once. */
  isUrgent: boolean;
};

/** "Has anything changed?": the question of a machine about its configuration. It may be held for a minute: it is small. */
export interface Check {
  readonly partId: string;
  /** Fingerprint of the answer that the machine has; empty: none. */
  readonly known: string;
  readonly waitMs: number;
  /** What the answer is, as far as memory knows. */
  now(): Present | undefined;
  /** @throws PlatformError PART_NOT_FOUND */
  look(): Promise<Present>;
  /** The message that says that all is the same. */
  same(present: Present): Uint8Array;
  /** The message with everything, of what `look` found. */
  whole(present: Present): Uint8Array;
  watch(wake: () => void): () => void;
}

/** A check that has just come. */
export type NewCheck = {
  check: Check;
  /** It tells nothing new of the machine. */
  isKnown: boolean;
  /** Stores what it tells. */
  save(): Promise<void>;
};

/** Reads a message; undefined: no check, or one that wants more than an answer from memory. */
export type ReadCheck = (body: Uint8Array, baseUrl: string) => NewCheck | undefined;
