import { Cell, changedOr, type Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';

/** The clock of this system, which a test moves on. */
export type TurnedClock = {
  clock: Clock;
  /** Moves both clocks. */
  advance(ms: number): void;
  /** Moves the wall clock only. */
  jump(ms: number): void;
};

/** @param jumpedMs - initial offset of the wall clock. */
export function turnedClock(jumpedMs = 0): TurnedClock {
  const turned = new Cell({ aheadMs: 0, jumpedMs });
  const never = new AbortController().signal;
  const clock: Clock = {
    now: () => systemClock.now() + turned.get().aheadMs,
    wall: () => systemClock.wall() + turned.get().aheadMs + turned.get().jumpedMs,
    async sleep(ms, signal = never) {
      const end = clock.now() + ms;
      while (!signal.aborted && clock.now() < end) await changedOr(turned, end - clock.now(), systemClock, signal);
    },
  };
  return {
    clock,
    advance: (ms) => turned.update((by) => ({ ...by, aheadMs: by.aheadMs + ms })),
    jump: (ms) => turned.update((by) => ({ ...by, jumpedMs: by.jumpedMs + ms })),
  };
}
