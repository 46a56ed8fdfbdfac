/** The disk of a simulated device: it survives agents and power cuts. */
export interface SimFile {
  /** Another file of the same name has another. */
  id: string;
  bytes: Uint8Array;
}

export class SimFiles {
  readonly #files = new Map<string, SimFile>();
  #made = 0;

  get(name: string): SimFile | undefined {
    return this.#files.get(name);
  }

  put(name: string, bytes: Uint8Array): void {
    this.#files.set(name, { id: `file-${++this.#made}`, bytes });
  }

  append(name: string, bytes: Uint8Array): void {
    const file = this.#files.get(name);
    if (!file) return this.put(name, bytes);
    const whole = new Uint8Array(file.bytes.length + bytes.length);
    whole.set(file.bytes);
    whole.set(bytes, file.bytes.length);
    file.bytes = whole;
  }

  remove(name: string): void {
    this.#files.delete(name);
  }

  names(): string[] {
    return [...this.#files.keys()].toSorted();
  }
}
