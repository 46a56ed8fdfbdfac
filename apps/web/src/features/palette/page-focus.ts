import { browserClock } from '@platform/kit/web';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/** How long a page may take until it has its heading, or what had the focus in it before. */
const patienceMs = 5000;
const mostPlaces = 50;

/** How an element is found again when its page is drawn anew. */
interface FocusPlace {
  readonly tag: string;
  readonly href: string | null;
  readonly text: string;
}

const placeOf = (element: Element): FocusPlace => ({
  tag: element.tagName,
  href: element.getAttribute('href'),
  text: element.getAttribute('aria-label') ?? element.textContent ?? '',
});

function findPlace({ tag, href, text }: FocusPlace): HTMLElement | undefined {
  const all = [...document.querySelectorAll<HTMLElement>(tag.toLowerCase())];
  if (href !== null) return all.find((one) => one.getAttribute('href') === href);
  return all.find((one) => (one.getAttribute('aria-label') ?? one.textContent) === text);
}

interface Departure {
  readonly focused: Element | null;
  readonly heading: Element | null;
  readonly headingText: string | null;
}

const headingNow = (): HTMLElement | null => document.querySelector<HTMLElement>('#content h1');

const depart = (): Departure => {
  const heading = headingNow();
  return { focused: document.activeElement, heading, headingText: heading?.textContent ?? null };
};

function focusHeading(heading: HTMLElement): void {
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** @returns whether there is nothing more to do. */
function tryToFocus({ focused, heading, headingText }: Departure, place: FocusPlace | undefined): boolean {
  const now = document.activeElement;
  // The user or the new page has put it elsewhere.
  if (now !== document.body && now !== focused) return true;
  const before = place && findPlace(place);
  if (before) {
    before.focus({ preventScroll: true });
    return document.activeElement === before;
  }
  const next = headingNow();
  if (place || !next || next.textContent === '') return false;
  // A tab of the same page keeps the focus where it is, as long as it is there.
  if (next === heading && next.textContent === headingText && now !== document.body) return false;
  focusHeading(next);
  return true;
}

/** Tries after each change of the page, until the signal. */
function focusPage(from: Departure, place: FocusPlace | undefined, end: AbortController): void {
  if (tryToFocus(from, place)) return;
  const observer = new MutationObserver(() => {
    if (tryToFocus(from, place)) end.abort();
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  end.signal.addEventListener('abort', () => observer.disconnect());
  // From then on the focus belongs to the user, also while what has it is replaced.
  for (const type of ['pointerdown', 'keydown'])
    window.addEventListener(type, () => end.abort(), { capture: true, once: true, signal: end.signal });
  const giveUp = async (): Promise<void> => {
    await browserClock.sleep(patienceMs, end.signal);
    if (!end.signal.aborted && place) tryToFocus(from, undefined);
    end.abort();
  };
  void giveUp();
}

const keyOf = (location: { state: { __TSR_key?: string | undefined } }): string => location.state.__TSR_key ?? '';

/**
 * After a navigation the heading of the new page has the focus, as a page that is loaded anew would be read from its
 * start. Back and forward return to what had the focus there.
 */
export function usePageFocus(): void {
  const router = useRouter();
  useEffect(() => {
    const places = new Map<string, FocusPlace>();
    let current = new AbortController();
    let from: Departure | undefined;
    let isReturn = false;
    const unsubscribe = [
      router.history.subscribe(({ action }) => {
        isReturn = action.type === 'BACK' || action.type === 'FORWARD' || action.type === 'GO';
      }),
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        if (!fromLocation || !pathChanged) return;
        from = depart();
        if (from.focused && from.focused !== document.body) places.set(keyOf(fromLocation), placeOf(from.focused));
        for (const key of [...places.keys()].slice(0, -mostPlaces)) places.delete(key);
      }),
      router.subscribe('onResolved', ({ toLocation, pathChanged }) => {
        if (!pathChanged || !from) return;
        current.abort();
        current = new AbortController();
        focusPage(from, isReturn ? places.get(keyOf(toLocation)) : undefined, current);
      }),
    ];
    return () => {
      current.abort();
      for (const end of unsubscribe) end();
    };
  }, [router]);
}
