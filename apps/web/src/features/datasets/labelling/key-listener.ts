import { useEffect, useRef } from 'react';

/** Fields and dialogs keep their keys, and so does a button that the keyboard reached. */
function isOwnKey({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest('input, select, textarea, [role="dialog"], [role="alertdialog"]')) return true;
  return (key === ' ' || key === 'Enter') && target.matches('button:focus-visible, a:focus-visible');
}

/** Hears keys of the whole page while it is on. */
export function useKeys(isOn: boolean, onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  useEffect(() => {
    latest.current = onKey;
  });
  useEffect(() => {
    if (!isOn) return undefined;
    const listener = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !isOwnKey(event)) latest.current(event);
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, [isOn]);
}
