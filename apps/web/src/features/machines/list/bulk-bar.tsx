import { mostMachines } from '@platform/contract/logs/query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { CrossIcon } from '../../../ui/icons.tsx';
import { type MachineSelection, nothingSelected, selectedCount } from './machine-selection.ts';
import { formatGrouped } from '../../../ui/quantities.ts';
import type { BulkAction } from './bulk.ts';

const BulkDialog = lazy(async () => ({ default: (await import('./bulk-dialog.tsx')).BulkDialog }));

interface BulkBarProps {
  selection: MachineSelection;
  onSelect: (selection: MachineSelection) => void;
  matching: number;
  query: string;
}

const actions: readonly { action: BulkAction; text: string }[] = [
  { action: 'restart', text: 'Restart' },
  { action: 'tags', text: 'Tag' },
  { action: 'pin', text: 'Pin version' },
  { action: 'move', text: 'Move' },
  { action: 'delete', text: 'Delete' },
];

/** What can be done with the selected machines. Each opens a preview. */
export function BulkBar({ selection, onSelect, matching, query }: BulkBarProps) {
  const [open, setOpen] = useState<BulkAction>();
  const count = selectedCount(selection, matching);
  // A dialog stays while what it has deleted leaves the list.
  return (
    <>
      {count > 0 && <Actions {...{ selection, onSelect, matching, query }} onOpen={setOpen} />}
      {open && (
        <Suspense>
          <BulkDialog
            action={open}
            selection={selection}
            query={query}
            onClose={() => setOpen(undefined)}
            onDeleted={() => onSelect(nothingSelected)}
          />
        </Suspense>
      )}
    </>
  );
}

/** The lines of the selected machines, at most of the first ones. */
const LogsLink = ({ selection, query }: Pick<BulkBarProps, 'selection' | 'query'>) => (
  <Link
    to="/machines/logs"
    search={selection.is === 'all' ? { of: query } : { ids: [...selection.ids].join(',') }}
    className="button button-small"
  >
    {selection.is === 'all' || selection.ids.size > mostMachines ? `Logs of ${mostMachines}` : 'Logs'}
  </Link>
);

interface ActionsProps extends BulkBarProps {
  onOpen: (action: BulkAction) => void;
}
function Actions({ selection, onSelect, matching, query, onOpen }: ActionsProps) {
  const count = selectedCount(selection, matching);
  return (
    <section className="bulk-bar" aria-label="Selected machines">
      <strong role="status">{formatGrouped(count)} selected</strong>
      {selection.is === 'some' && count < matching && (
        <button type="button" className="link-button" onClick={() => onSelect({ is: 'all' })}>
          Select all {formatGrouped(matching)}
        </button>
      )}
      {actions.map(({ action, text }) => (
        <button
          key={action}
          type="button"
          className={action === 'delete' ? 'button button-small bulk-delete' : 'button button-small'}
          onClick={() => onOpen(action)}
        >
          {text}
        </button>
      ))}
      <LogsLink selection={selection} query={query} />
      <button
        type="button"
        className="button button-quiet button-small button-icon"
        aria-label="Select none"
        onClick={() => onSelect(nothingSelected)}
      >
        <CrossIcon />
      </button>
    </section>
  );
}
