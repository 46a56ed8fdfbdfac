import { useMutation, useQuery } from '@connectrpc/connect-query';
import { FleetService, type MachineView } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ConfirmDialog, FormDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { CrossIcon, PlusIcon } from '../../../ui/icons.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { isolateText } from '../../../ui/user-text.ts';
import type { MachineSearch } from './machine-search.ts';

/** The named queries of the organization; what is shown now can be saved as one. */
export function ViewTabs({ search: { query, sort, columns, problem } }: { search: MachineSearch }) {
  const { organizationId } = useSession().organization;
  const [isSaving, setSaving] = useState(false);
  const list = useQuery(FleetService.method.listMachineViews, { organizationId }, { retry: false });
  // Users with rights on single machines have none.
  if (!list.data) return list.isPending ? <ViewsPlace /> : null;
  const { views } = list.data;
  const isShown = (view: Pick<MachineView, 'query' | 'sort' | 'columns'>): boolean =>
    view.query === query && (view.sort || 'name') === (sort || 'name') && view.columns === columns;
  const plain = { name: 'All', query: '', sort: '', columns: '' };
  const current = views.find(isShown);
  return (
    <nav className="views" aria-label="Views">
      {[plain, ...views].map((view, index) => (
        <Link
          key={index === 0 ? '' : view.name}
          to="/machines"
          search={{
            ...(view.query !== '' && { q: view.query }),
            ...(view.sort !== '' && { sort: view.sort }),
            ...(view.columns !== '' && { columns: view.columns }),
          }}
          className="view"
          activeOptions={{ exact: true, includeSearch: true }}
        >
          {view.name}
        </Link>
      ))}
      {current ? (
        <DeleteView key={current.name} name={current.name} onDone={() => void list.refetch()} />
      ) : (
        !isShown(plain) &&
        problem === undefined && (
          <button type="button" className="button button-quiet button-small" onClick={() => setSaving(true)}>
            <PlusIcon />
            Save view
          </button>
        )
      )}
      {isSaving && (
        <SaveView
          view={{ query, sort, columns }}
          onClose={() => setSaving(false)}
          onDone={() => {
            setSaving(false);
            void list.refetch();
          }}
        />
      )}
    </nav>
  );
}

/** Keeps the place of the views until they are loaded. */
const ViewsPlace = () => (
  <div className="views" aria-hidden="true">
    <span className="view">All</span>
  </div>
);

function DeleteView({ name, onDone }: { name: string; onDone: () => void }) {
  const { organizationId } = useSession().organization;
  const [isAsking, setAsking] = useState(false);
  const removal = useMutation(FleetService.method.deleteMachineView, { onSuccess: onDone });
  return (
    <>
      <button type="button" className="button button-quiet button-small" onClick={() => setAsking(true)}>
        <CrossIcon />
        Delete view
      </button>
      <ConfirmDialog
        title={`Delete the view ${isolateText(name)}?`}
        text="It disappears for all members of the organization. No machine changes."
        verb="Delete view"
        isDangerous
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => removal.mutate({ organizationId, name })}
      />
      {removal.error && <FailureNote error={removal.error} />}
    </>
  );
}

interface SaveViewProps {
  view: { query: string; sort: string; columns: string };
  onClose: () => void;
  onDone: () => void;
}

function SaveView({ view, onClose, onDone }: SaveViewProps) {
  const { organizationId } = useSession().organization;
  const [name, setName] = useState('');
  const save = useMutation(FleetService.method.saveMachineView, { onSuccess: onDone });
  return (
    <FormDialog
      title="Save view"
      lead="All members of the organization see it."
      verb="Save view"
      isDisabled={name.trim() === '' || save.isPending}
      error={save.error}
      onSubmit={() => save.mutate({ organizationId, view: { ...view, name } })}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={100} isFocused />
    </FormDialog>
  );
}
