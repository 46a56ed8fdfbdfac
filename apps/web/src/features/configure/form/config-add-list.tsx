import { Popover } from 'radix-ui';
import { useState } from 'react';
import { parts, type Added } from '../config-parts.ts';
import { AddWords, type ConfigAddProps } from './config-add-words.tsx';
import { useServerSchemas } from '../schema/server-schemas.tsx';
import type { DrawnSchemas } from '../schema/attribute-schemas.ts';
import type { ConfigText } from '../config-edit.ts';
import { reportedParts } from './reported-parts.ts';
import { isolateText } from '../../../ui/user-text.ts';

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

interface ReportedPartsProps {
  schemas: DrawnSchemas;
  /** The machine has not reported, and is taken to run this server; undefined: its own. */
  assumedServer: string | undefined;
  config: ConfigText;
  onChoose: (added: Added | undefined) => void;
}

/** What the machine server of this machine can run, as choices of "Add". */
const ReportedParts = ({ schemas, assumedServer, config, onChoose }: ReportedPartsProps) => (
  <div role="group" aria-labelledby="reported-parts" className="add-reported">
    <h3 id="reported-parts" className="soft small">
      {assumedServer === undefined ? 'What the server of this machine runs' : `What ${assumedServer} runs (assumed)`}
    </h3>
    {reportedParts(schemas).map(({ title, help, name, add }, at) => {
      const added = add(config);
      return (
        <button
          key={`${at}`}
          type="button"
          className="button button-quiet example"
          disabled={added === undefined}
          onClick={() => onChoose(added)}
        >
          <strong className="break">{title}</strong>
          <span className="soft small break">
            {isolateText(name)}
            {help && `: ${help}`}
          </span>
        </button>
      );
    })}
  </div>
);
