/** Assigns the GPUs of this host to concurrent jobs. Names are those of CUDA_VISIBLE_DEVICES. */
import { readdirSync } from 'node:fs';

/** The GPUs in CUDA_VISIBLE_DEVICES, as an operator or an engine set it; otherwise all. */
export function gpusHere(visible: string | undefined): string[] {
  if (visible !== undefined) {
    return visible
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && name !== '-1' && name !== 'NoDevFiles');
  }
  try {
    return readdirSync('/dev').flatMap((name) => /^nvidia(\d+)$/.exec(name)?.[1] ?? []);
  } catch {
    return []; // this system has no /dev
  }
}

export class GpuPool {
  #free: readonly string[];

  constructor(all: readonly string[]) {
    this.#free = [...all];
  }
  get free(): readonly string[] {
    return this.#free;
  }
  /** @throws RangeError when fewer are free: the server assigned more than the runner offered. */
  take(count: number): readonly string[] {
    if (count > this.#free.length) throw new RangeError(`${count} GPUs of ${this.#free.length} that are free`);
    const taken = this.#free.slice(0, count);
    this.#free = this.#free.slice(count);
    return taken;
  }
  giveBack(names: readonly string[]): void {
    this.#free = [...this.#free, ...names].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }
}
