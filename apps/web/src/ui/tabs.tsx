import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useLayoutEffect, useRef } from 'react';

/** The links of a page with pages of its own. On a narrow screen, where they do not all fit, the shown one is in the middle. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  const tabs = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  useLayoutEffect(() => {
    const shown = tabs.current?.querySelector<HTMLElement>('[aria-current]');
    if (!tabs.current || !shown) return;
    const { offsetLeft, clientWidth } = tabs.current;
    tabs.current.scrollLeft = shown.offsetLeft - offsetLeft - (clientWidth - shown.offsetWidth) / 2;
  }, [pathname]);
  return (
    <nav className="tabs" aria-label={label} ref={tabs}>
      {children}
    </nav>
  );
}
