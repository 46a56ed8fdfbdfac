import { useRouter } from '@tanstack/react-router';
import { Command, defaultFilter } from 'cmdk';
import { Dialog } from 'radix-ui';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { SearchIcon } from '../../ui/icons.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import {
  actionEntries,
  bestEntries,
  pageEntries,
  type PaletteEntry,
  type PaletteMachine,
  readPaletteQuery,
} from './palette-entries.ts';
import { usePaletteEntries } from './palette-queries.ts';
import { addRecent, readRecent, type RecentEntry } from './recent-entries.ts';
import './palette.css';

const movingKeys = ['ArrowUp', 'ArrowDown', 'Home', 'End'];
const mostPerGroup = 6;
const mostAtFirst = 12;

/** What this user opened in this organization, on this device. */
function useRecent(): { recent: readonly RecentEntry[]; remember: (entry: RecentEntry) => void } {
  const { id, organization } = useSession();
  const key = `platform-recent-${organization.organizationId}-${id}`;
  const [recent] = useState(() => readRecent(localStorage.getItem(key)));
  return { recent, remember: (entry) => localStorage.setItem(key, JSON.stringify(addRecent(recent, entry))) };
}

const recentEntry = ({ text, path }: RecentEntry): PaletteEntry => ({
  key: `recent ${path}`,
  group: 'Recent',
  text,
  action: { is: 'open', path },
});

interface PaletteProps {
  onClose: () => void;
  onRestart: (machine: PaletteMachine) => void;
}

/** Machines, datasets, models, jobs, pages and actions, found by letters and opened by the keyboard alone. */
export function Palette({ onClose, onRestart }: PaletteProps) {
  const [before] = useState(() => document.activeElement);
  const hasLeft = useRef(false);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="palette"
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // The page that was chosen puts the focus on its heading, and a dialog that is open by now keeps it.
            if (hasLeft.current || document.activeElement !== document.body) return;
            if (before instanceof HTMLElement) before.focus({ preventScroll: true });
          }}
        >
          <Dialog.Title className="hidden-text">Search</Dialog.Title>
          <PaletteBody
            onClose={onClose}
            onLeave={() => {
              hasLeft.current = true;
              onClose();
            }}
            onRestart={onRestart}
          />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function useShownEntries(text: string, recent: readonly RecentEntry[]) {
  const { verb, words } = readPaletteQuery(text);
  const { found, isLoading, error } = usePaletteEntries(text);
  const fixed = verb === undefined ? [...pageEntries, ...actionEntries] : [];
  const isFirst = verb === undefined && words === '';
  const entries = isFirst
    ? [
        ...recent.map(recentEntry),
        ...bestEntries([...actionEntries, ...pageEntries], '', { score: () => 1, most: mostAtFirst }),
      ]
    : bestEntries([...found, ...fixed], words, { score: scoreOf, most: mostPerGroup });
  return { groups: [...Map.groupBy(entries, ({ group }) => group)], isEmpty: entries.length === 0, isLoading, error };
}

/** Machines were found by the server, also by tag and host: they stay. */
const scoreOf = (text: string, words: string, more: string[]): number => Math.max(defaultFilter(text, words, more), 0);

function PaletteBody({ onClose, onLeave, onRestart }: PaletteProps & { onLeave: () => void }) {
  const router = useRouter();
  const [text, setText] = useState('');
  const { recent, remember } = useRecent();
  const { groups, isEmpty, isLoading, error } = useShownEntries(text, recent);
  // Machines that are found later come before what matched at once: the first stays marked until the user moves.
  const [moved, setMoved] = useState<string>();
  const hasMoved = useRef(false);
  const write = (next: string): void => {
    hasMoved.current = false;
    setMoved(undefined);
    setText(next);
  };
  const move = (): void => {
    hasMoved.current = true;
  };
  const choose = ({ action, text: name }: PaletteEntry): void => {
    if (action.is === 'write') return write(action.text);
    if (action.is === 'restart') {
      onClose();
      return onRestart(action.machine);
    }
    remember({ text: name, path: action.path });
    onLeave();
    router.history.push(action.path);
  };
  return (
    <Command
      shouldFilter={false}
      loop
      label="Search"
      value={moved ?? groups[0]?.[1][0]?.key ?? ''}
      onValueChange={(key) => hasMoved.current && setMoved(key)}
      onKeyDown={({ key, ctrlKey }) => (ctrlKey || movingKeys.includes(key)) && move()}
      onPointerMove={move}
    >
      <SearchField text={text} onText={write} isLoading={isLoading} />
      {error && <FailureNote error={error} />}
      <Command.List className="palette-list" label="Results">
        {isEmpty && !isLoading && <p className="palette-none">Nothing is called “{text.trim()}”.</p>}
        {groups.map(([group, entries]) => (
          <Command.Group key={group} heading={group} className="palette-group">
            {entries.map((entry) => (
              <Command.Item key={entry.key} value={entry.key} className="palette-item" onSelect={() => choose(entry)}>
                <span className="palette-text">{entry.text}</span>
                {entry.detail && <span className="soft">{entry.detail}</span>}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
      <p className="palette-foot">
        <Key>↑</Key> <Key>↓</Key> choose · <Key>Enter</Key> open · <Key>Esc</Key> close
      </p>
    </Command>
  );
}

const Key = ({ children }: { children: ReactNode }) => <kbd className="key">{children}</kbd>;

function SearchField({
  text,
  onText,
  isLoading,
}: {
  text: string;
  onText: (text: string) => void;
  isLoading: boolean;
}) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div className="palette-field" aria-busy={isLoading}>
      <SearchIcon />
      <Command.Input
        ref={field}
        value={text}
        onValueChange={onText}
        placeholder="Machine, dataset, model, job, page or action"
        maxLength={200}
      />
    </div>
  );
}
