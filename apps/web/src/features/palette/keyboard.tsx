import { useRouter } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { PaletteMachine } from './palette-entries.ts';
import { usePageFocus } from './page-focus.ts';
import { focusFilter, useShortcuts } from './use-shortcuts.ts';
import '../../ui/style/fonts-other.css';

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));
const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }));
const RestartDialog = lazy(async () => ({ default: (await import('./restart-dialog.tsx')).RestartDialog }));

export type KeyboardDialog = 'palette' | 'shortcuts';

interface KeyboardProps {
  shown: KeyboardDialog | undefined;
  onShow: (dialog: KeyboardDialog | undefined) => void;
}

/** The palette, the shortcuts, and where the focus is after a navigation. The frame fetches it after the first page. */
export function Keyboard({ shown, onShow }: KeyboardProps) {
  const router = useRouter();
  const [restarted, setRestarted] = useState<PaletteMachine>();
  usePageFocus();
  useShortcuts((action) => {
    if (action.is === 'palette') onShow('palette');
    if (action.is === 'list') onShow('shortcuts');
    if (action.is === 'filter') focusFilter();
    if (action.is === 'jump') router.history.push(action.to);
  });
  const close = (): void => onShow(undefined);
  return (
    <Suspense>
      {shown === 'palette' && <Palette onClose={close} onRestart={setRestarted} />}
      {shown === 'shortcuts' && <ShortcutList onClose={close} />}
      {restarted && (
        <RestartDialog
          machine={restarted}
          onClose={() => setRestarted(undefined)}
          onOrdered={() => {
            setRestarted(undefined);
            router.history.push(`/machines/${restarted.id}`);
          }}
        />
      )}
    </Suspense>
  );
}
