import type { Clock } from '@platform/kit';
import { createContext, useContext, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { ago, bothMoments } from './times.ts';

const stopped: Clock = { now: () => 0, wall: () => 0, sleep: () => new Promise(() => {}) };
const ClockContext = createContext<Clock>(stopped);
const NowContext = createContext(0);
const tickMs = 1000;

/** The clock of all pages; components that show "3 s ago" render again each second. */
export function TimeProvider({ clock, children }: { clock: Clock; children: ReactNode }) {
  const [now, setNow] = useState(() => clock.wall());
  useEffect(() => {
    const end = new AbortController();
    const tick = async (): Promise<void> => {
      while (!end.signal.aborted) {
        await clock.sleep(tickMs, end.signal);
        setNow(clock.wall());
      }
    };
    void tick();
    return () => end.abort();
  }, [clock]);
  return (
    <ClockContext value={clock}>
      <NowContext value={now}>{children}</NowContext>
    </ClockContext>
  );
}

export const useClock = (): Clock => useContext(ClockContext);

/** Milliseconds since 1970, new each second. */
export const useNow = (): number => useContext(NowContext);

/** "3 s ago", with both times as tooltip. */
export function Ago({ at, otherwise = 'never' }: { at: number | undefined; otherwise?: string }) {
  const now = useNow();
  if (at === undefined) return <span className="soft">{otherwise}</span>;
  return (
    <time dateTime={bothMoments(at).split(' · ')[1]?.replace(' UTC', 'Z').replace(' ', 'T')} title={bothMoments(at)}>
      {ago(at, now)}
    </time>
  );
}

/** The value, once it has not changed for `ms`: for text that triggers a request while the user types. */
export function useDebounced<T>(value: T, ms: number): T {
  const clock = useClock();
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const end = new AbortController();
    const wait = async (): Promise<void> => {
      await clock.sleep(ms, end.signal);
      if (!end.signal.aborted) setSettled(value);
    };
    void wait();
    return () => end.abort();
  }, [clock, ms, value]);
  return settled;
}
