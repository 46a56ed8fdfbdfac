import type { Clock } from '@platform/kit';
import type { Device } from '../os/ports.ts';

/**
 * The work in progress. A loop that waits for an event is healthy. Work that exceeds its limit hangs, and the watchdog
 * then sends no notification.
 */
export class HangDetector {
  readonly #clock: Clock;
  readonly #under = new Set<{ readonly what: string; readonly due: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The returned function ends the piece of work. */
  begin(what: string, limitMs: number): () => void {
    const piece = { what, due: this.#clock.now() + limitMs };
    this.#under.add(piece);
    return () => void this.#under.delete(piece);
  }

  async within<T>(what: string, limitMs: number, work: () => Promise<T>): Promise<T> {
    const end = this.begin(what, limitMs);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Names of the pieces of work that exceed their limit. */
  overdue(): string[] {
    const now = this.#clock.now();
    return [...this.#under].filter(({ due }) => due < now).map(({ what }) => what);
  }

  /** Wraps `port`: each of its asynchronous calls is a piece of work until its promise settles. */
  watched<T extends object>(name: string, limitMs: number, port: T): T {
    return new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const end = this.begin(`${name} ${String(key)}`, limitMs);
          try {
            const answer: unknown = Reflect.apply(member, target, args);
            if (answer instanceof Promise) return answer.finally(end);
            end();
            return answer;
          } catch (error) {
            end();
            throw error;
          }
        };
      },
    });
  }
}

/** A disk or process table that takes longer is broken, and everything that waits for it hangs. */
const deviceLimitMs = 3 * 60_000;

/** Wraps the device: its calls are pieces of work. Probes and downloads have limits of their own. */
export const watchedDevice = (device: Device, hangDetector: HangDetector): Device => ({
  ...device,
  processes: hangDetector.watched('processes', deviceLimitMs, device.processes),
  files: hangDetector.watched('files', deviceLimitMs, device.files),
  disk: hangDetector.watched('disk', deviceLimitMs, device.disk),
  lines: hangDetector.watched('lines', deviceLimitMs, device.lines),
});
