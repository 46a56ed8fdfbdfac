import type { Clock } from '../clock.ts';

const longestTimerMs = 2 ** 31 - 1; // browsers and Node fire longer timers at once

export const browserClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  async sleep(ms, signal) {
    const end = performance.now() + ms;
    for (let left = ms; left > 0; left = end - performance.now()) {
      if (signal?.aborted) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(Math.ceil(left), longestTimerMs));
        signal?.addEventListener('abort', wake, { once: true });
      });
    }
  },
};
