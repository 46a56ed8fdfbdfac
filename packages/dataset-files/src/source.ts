/** A file below the folder that is imported. */
export interface SourceFile {
  /** Relative path, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly isLink?: boolean;
}

/** A folder on a disk or chosen in a browser. Its files do not change while they are read. */
export interface Source {
  readonly files: readonly SourceFile[];
  /** The whole file. */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** At most the first `bytes`. */
  readonly readStart: (path: string, bytes: number) => Promise<Uint8Array>;
}
