import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { useClock } from './time.tsx';

/** Whether the page with which the app began is the one that is shown. */
export interface AppStart {
  isOver: boolean;
}
const StartContext = createContext<AppStart>({ isOver: true });
export const AppStartProvider = StartContext;

interface NextTaskProps {
  /** Holds the place before. */
  instead?: ReactNode;
  children: ReactNode;
}

/**
 * While the app starts, draws its children in the task after the one that draws what is around them: on a slow
 * processor, a whole page in one task keeps the browser from answering the user. Later pages are drawn at once, so that
 * "back" finds the page as high as it was. See docs/decisions/0168-start-in-tasks.md.
 */
export function NextTask({ instead = null, children }: NextTaskProps) {
  const clock = useClock();
  const { isOver } = useContext(StartContext);
  const [isDue, setDue] = useState(isOver);
  useEffect(() => {
    if (isDue) return undefined;
    const end = new AbortController();
    const wait = async (): Promise<void> => {
      await clock.sleep(1, end.signal);
      if (!end.signal.aborted) setDue(true);
    };
    void wait();
    return () => end.abort();
  }, [clock, isDue]);
  return isDue ? children : instead;
}
