import { type ReactNode, useLayoutEffect, useRef } from 'react';

/** In the middle, as far as the tabs can be scrolled. */
function showCurrent(tabs: HTMLElement): void {
  const shown = tabs.querySelector<HTMLElement>('[aria-current]');
  if (shown) tabs.scrollLeft = shown.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - shown.offsetWidth) / 2;
}

/** The links of a page with pages of its own. On a narrow screen, where they do not all fit, the shown one is in view. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const tabs = ref.current;
    if (!tabs) return undefined;
    const show = (): void => showCurrent(tabs);
    const observers = [new MutationObserver(show), new ResizeObserver(show)] as const;
    observers[0].observe(tabs, { subtree: true, attributeFilter: ['aria-current'] });
    observers[1].observe(tabs);
    return () => observers.forEach((one) => one.disconnect());
  }, []);
  return (
    <nav className="tabs" aria-label={label} ref={ref}>
      {children}
    </nav>
  );
}
