import { useState } from 'react';
import { ModalDialog } from '../../ui/dialogs.tsx';
import { jumps } from './shortcuts.ts';
import { areSingleKeysOn, setSingleKeys } from './use-shortcuts.ts';
import './palette.css';

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
export const paletteKeys = isApple ? '⌘ K' : 'Ctrl K';

const groups: readonly { name: string; rows: readonly (readonly [keys: string, text: string])[] }[] = [
  {
    name: 'Anywhere',
    rows: [
      [paletteKeys, 'Search, or jump to a page'],
      ['?', 'This list'],
      ['/', 'Filter of the page'],
    ],
  },
  { name: 'Go to', rows: jumps.map(({ key, text }) => [`G ${key.toUpperCase()}`, text] as const) },
];

export function ShortcutList({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(areSingleKeysOn);
  return (
    <ModalDialog title="Keyboard shortcuts" isOpen onClose={onClose}>
      {groups.map(({ name, rows }) => (
        <section key={name} aria-label={name} className="stack-tight">
          <h3>{name}</h3>
          <dl className="shortcuts">
            {rows.map(([keys, text]) => (
              <div key={keys}>
                <dt>{text}</dt>
                <dd>
                  {keys.split(' ').map((key) => (
                    <kbd key={key} className="key">
                      {key}
                    </kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label className="row">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            setSingleKeys(target.checked);
            setOn(target.checked);
          }}
        />
        Keys without Ctrl are on
      </label>
      <p className="soft small">
        They do nothing while you type, in a dialog, and on the labelling screen, which has its own.
      </p>
    </ModalDialog>
  );
}
