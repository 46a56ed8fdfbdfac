import { useEffect, useState } from 'react';
import { useClock } from './time.tsx';

/** Rows of the first task, which also draws what is around them, and of each later one. */
const first = 4;
const atOnce = 10;

/**
 * How many rows of a long list are drawn: a few at first and more in each task after it, until all have been drawn once.
 * On a slow processor, all rows of a window in one task keep the browser from answering the user. See
 * docs/decisions/0165-prepared-descriptors.md.
 */
export function useDrawnInParts(count: number): number {
  const clock = useClock();
  const [drawn, setDrawn] = useState(first);
  useEffect(() => {
    if (count === 0 || drawn === Infinity) return undefined;
    const end = new AbortController();
    const goOn = async (): Promise<void> => {
      await clock.sleep(1, end.signal);
      if (!end.signal.aborted) setDrawn(drawn < count ? drawn + atOnce : Infinity);
    };
    void goOn();
    return () => end.abort();
  }, [clock, count, drawn]);
  return drawn;
}
