import { browserClock } from '@platform/kit/web';
import { useEffect, useRef } from 'react';
import { type ShortcutAction, stepShortcut } from './shortcuts.ts';

const offKey = 'platform-single-keys';

export const areSingleKeysOn = (): boolean => localStorage.getItem(offKey) !== 'off';
export const setSingleKeys = (isOn: boolean): void => {
  if (isOn) localStorage.removeItem(offKey);
  else localStorage.setItem(offKey, 'off');
};

const typed = 'textarea, select, [contenteditable="true"], [role="menu"], [role="listbox"], [role="slider"]';
const dialogs = '[role="dialog"], [role="alertdialog"]';
/** Fields that take letters; a check box does not. */
const wordless = 'input:is([type="checkbox"], [type="radio"], [type="button"], [type="file"])';

/** Nothing here types or answers, or only one line is typed and the key is one with Ctrl. */
function isFree({ target, ctrlKey, metaKey }: KeyboardEvent): boolean {
  if (document.querySelector(dialogs) !== null) return false;
  if (!(target instanceof Element)) return true;
  if (target.closest(typed) !== null) return false;
  return ctrlKey || metaKey || !target.matches('input') || target.matches(wordless);
}

/** Hears the shortcuts of the whole app. */
export function useShortcuts(onAction: (action: ShortcutAction) => void): void {
  const latest = useRef(onAction);
  useEffect(() => {
    latest.current = onAction;
  });
  useEffect(() => {
    let since: number | undefined;
    const listener = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || !isFree(event)) {
        since = undefined;
        return;
      }
      const { key, ctrlKey, metaKey, altKey: hasAlt } = event;
      const press = { key, hasAlt, hasCommand: ctrlKey || metaKey, at: browserClock.now() };
      const step = stepShortcut(since, press, areSingleKeysOn());
      since = step.sequenceSince;
      if (!step.action) return;
      event.preventDefault();
      latest.current(step.action);
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);
}

/** The filter of the page, if it has one. */
export const focusFilter = (): void =>
  document
    .querySelector<HTMLInputElement>('#content :is([aria-label="Filter"], input[type="search"], [data-filter])')
    ?.focus();
