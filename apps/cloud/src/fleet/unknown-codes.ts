const keptMs = 3_600_000;
const mostNetworks = 1_000;

/** When codes of no machine were tried, by network address; in memory, for hints only. */
export class UnknownCodes {
  readonly #times = new Map<string, number>();

  /** @param now - ms since 1970. */
  note(address: string, now: number): void {
    this.#times.delete(address);
    this.#times.set(address, now);
    const [oldest] = this.#times.keys();
    if (this.#times.size > mostNetworks && oldest !== undefined) this.#times.delete(oldest);
  }

  /** ms since 1970; undefined: not within an hour. */
  lastFrom(address: string, now: number): number | undefined {
    const time = this.#times.get(address);
    return time !== undefined && now - time < keptMs ? time : undefined;
  }
}
