/**
 * NetworkManager itself waits up to 30 s until it gives a link up. It can miss that an access point is gone: if
 * wpa_supplicant is already scanning again when the signal is sent, the radio stays "connected" until its lease ends.
 */
export const lostLinkMs = 40_000;

/** Since when radios that NetworkManager calls connected have no link in the kernel. Pure: times come in. */
export class RadioLinks {
  /** ms of the monotonic clock, by object path of the device. */
  #since = new Map<string, number>();

  /** @param without - radios without a link at `now`. @returns those whose link is lost */
  note(without: readonly string[], now: number): ReadonlySet<string> {
    this.#since = new Map(without.map((path) => [path, this.#since.get(path) ?? now]));
    return new Set(without.filter((path) => now - (this.#since.get(path) ?? now) >= lostLinkMs));
  }

  /** When the next link counts as lost, in ms; undefined: none is about to. */
  nextLossMs(now: number): number | undefined {
    const left = [...this.#since.values()].map((since) => since + lostLinkMs - now).filter((ms) => ms > 0);
    return left.length === 0 ? undefined : Math.min(...left);
  }
}
