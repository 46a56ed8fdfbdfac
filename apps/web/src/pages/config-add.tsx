import { Popover } from 'radix-ui';
import { useState } from 'react';
import { ChevronIcon } from '../parts/icons.tsx';
import type { ConfigText } from '../view/config-edit.ts';
import { examples, isEmptyConfig, parts } from '../view/config-parts.ts';
import type { Added } from '../view/config-parts.ts';

interface ConfigAddProps {
  config: ConfigText;
  isDisabled: boolean;
  onAdd: (added: Added) => void;
}

/** What can be added to a configuration; an empty one opens with examples. */
export function ConfigAdd({ config, isDisabled, onAdd }: ConfigAddProps) {
  const isEmpty = isEmptyConfig(config.json);
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="stack">
      <div>
        <Popover.Root open={isOpen} onOpenChange={setOpen}>
          <Popover.Trigger className="button" disabled={isDisabled}>
            Add
            <ChevronIcon />
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
                    onClick={() => {
                      if (added !== undefined) onAdd(added);
                      setOpen(false);
                    }}
                  >
                    <strong>{title}</strong>
                    <span className="soft small">{help}</span>
                  </button>
                );
              })}
            </Popover.Content>
          </Popover.Portal>
        </Popover.Root>
      </div>
      {isEmpty && <Examples config={config} isDisabled={isDisabled} onAdd={onAdd} />}
    </div>
  );
}

const Examples = ({ config, isDisabled, onAdd }: ConfigAddProps) => (
  <section className="card card-body" aria-label="Examples">
    <div className="stack-tight">
      <h2>Start with an example</h2>
      <p className="small soft">Nothing is configured so far. An example is a draft until you save it.</p>
    </div>
    <div className="form-grid">
      {examples.map(({ title, help, add }) => {
        const added = add(config);
        return (
          <button
            key={title}
            type="button"
            className="button example"
            disabled={added === undefined || isDisabled}
            onClick={() => added && onAdd(added)}
          >
            <strong>{title}</strong>
            <span className="soft small">{help}</span>
          </button>
        );
      })}
    </div>
  </section>
);
