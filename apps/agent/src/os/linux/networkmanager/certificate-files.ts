/** How the files of NetworkManager are reached. */
export interface KeyFiles {
  /** Undefined: there is none. */
  read(file: string): Promise<Uint8Array | undefined>;
  /** Readable by root only. */
  write(file: string, bytes: Uint8Array): Promise<void>;
  remove(file: string): Promise<void>;
}

/**
 * NetworkManager writes certificates and keys of a profile to files of their own. It never removes them, and a rollback
 * does not restore them.
 */
export class CertificateFiles {
  readonly #files: KeyFiles;
  /** Contents before the changes under the open checkpoint; undefined: none is open. */
  #before: Map<string, Uint8Array> | undefined;
  readonly #surplus = new Set<string>();
  readonly #added = new Set<string>();

  constructor(files: KeyFiles) {
    this.#files = files;
  }

  /** A profile with these files is about to be changed or removed. */
  async keep(files: readonly string[]): Promise<void> {
    for (const file of files) {
      if (!this.#before || this.#before.has(file)) continue;
      const bytes = await this.#files.read(file);
      if (bytes) this.#before.set(file, bytes);
    }
  }

  /** A new profile has these files; a rollback removes the profile, but not them. */
  add(files: readonly string[]): void {
    if (this.#before) for (const file of files) this.#added.add(file);
  }

  /** No profile uses these files any more. */
  async discard(files: readonly string[]): Promise<void> {
    for (const file of files) {
      if (this.#before) this.#surplus.add(file);
      else await this.#files.remove(file);
    }
  }

  open(): void {
    this.#before = new Map();
    this.#surplus.clear();
    this.#added.clear();
  }

  async confirm(): Promise<void> {
    this.#before = undefined;
    for (const file of this.#surplus) await this.#files.remove(file);
    this.#surplus.clear();
  }

  async rollBack(): Promise<void> {
    for (const [file, bytes] of this.#before ?? []) await this.#files.write(file, bytes);
    for (const file of this.#added) await this.#files.remove(file);
    this.#before = undefined;
    this.#surplus.clear();
    this.#added.clear();
  }
}
