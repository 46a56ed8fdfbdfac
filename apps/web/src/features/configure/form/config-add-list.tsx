import { Popover } from 'radix-ui';
import { useState } from 'react';
import { parts } from '../config-parts.ts';
import type { Added } from '../config-parts.ts';
import { AddWords } from './config-add-words.tsx';
import type { ConfigAddProps } from './config-add-words.tsx';
import { ReportedParts } from './reported-list.tsx';
import { useServerSchemas } from '../schema/server-schemas.tsx';

/** The choices of what can be added; it begins open. */
export function ConfigAddList({ config, isDisabled, onAdd }: ConfigAddProps) {
  const [isOpen, setOpen] = useState(true);
  const { drawn, assumedServer } = useServerSchemas();
  const choose = (added: Added | undefined): void => {
    if (added !== undefined) onAdd(added);
    setOpen(false);
  };
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger className="button" disabled={isDisabled}>
        <AddWords />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="popover add-list"
          align="start"
          sideOffset={4}
          aria-label="Add to the configuration"
        >
          {parts.map(({ title, help, add }) => {
            const added = add(config);
            return (
              <button
                key={title}
                type="button"
                className="button button-quiet example"
                disabled={added === undefined}
                onClick={() => choose(added)}
              >
                <strong>{title}</strong>
                <span className="soft small">{help}</span>
              </button>
            );
          })}
          {drawn && <ReportedParts schemas={drawn} assumedServer={assumedServer} config={config} onChoose={choose} />}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
