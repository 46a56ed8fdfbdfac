import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  BulkService,
  type BulkReason,
  type PreviewBulkOperationResponse,
} from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { useState } from 'react';
import { FormDialog, ModalDialog } from '../../../ui/dialogs.tsx';
import { SelectField, TextField } from '../../../ui/fields.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { useDebounced } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { type BulkAction, bulkChange, type BulkForm, bulkTitles, emptyForm, tagsProblem } from './bulk.ts';
import type { MachineSelection } from './machine-selection.ts';
import { formatCount, formatGrouped } from '../../../ui/quantities.ts';
import { BulkProgress } from './bulk-progress.tsx';

interface BulkDialogProps {
  action: BulkAction;
  selection: MachineSelection;
  query: string;
  onClose: () => void;
  /** Before `onClose`: the selected machines are gone. */
  onDeleted: () => void;
}

const settleMs = 300;
/** Machines that change before the user lets the rest follow. */
const firstMachines = 5;

/** A change of the selected machines: what it is, who changes and who cannot, then its progress. */
export function BulkDialog({ action, selection, query, onClose, onDeleted }: BulkDialogProps) {
  const { organizationId } = useSession().organization;
  const [form, setForm] = useState(emptyForm);
  const settled = useDebounced(form, settleMs);
  const change = bulkChange(action, settled);
  const target = {
    organizationId,
    ...(selection.is === 'all' ? { query } : { machineIds: [...selection.ids] }),
  };
  const preview = useQuery(
    BulkService.method.previewBulkOperation,
    { target, ...(change && { change }) },
    { enabled: change !== undefined, staleTime: 0, gcTime: 0 },
  );
  const start = useMutation(BulkService.method.startBulkOperation);
  const operation = start.data?.operation;
  if (operation) {
    const areGone = action === 'delete';
    const close = (): void => {
      if (areGone) onDeleted();
      onClose();
    };
    return (
      <ModalDialog title={`${bulkTitles[action]}: operation ${operation.number}`} isOpen onClose={close}>
        <BulkProgress operation={operation} first={firstMachines} areGone={areGone} onClose={close} />
      </ModalDialog>
    );
  }
  const changing = preview.data?.changing ?? 0;
  const isReady = change !== undefined && settled === form && preview.data !== undefined && !preview.isFetching;
  return (
    <FormDialog
      title={bulkTitles[action]}
      verb={changing === 0 ? 'Start' : `Start with ${Math.min(firstMachines, changing)}`}
      isDangerous={action === 'delete'}
      isDisabled={!isReady || changing === 0 || start.isPending}
      error={start.error}
      onSubmit={() => change && start.mutate({ target, change, expectedChanging: changing })}
      onClose={onClose}
    >
      <BulkFields action={action} form={form} onChange={setForm} />
      {preview.error && <FailureNote error={preview.error} />}
      <div className="bulk-preview" aria-live="polite">
        {change === undefined ? (
          <p className="soft">The preview says who changes.</p>
        ) : (
          preview.data && <Preview preview={preview.data} />
        )}
      </div>
    </FormDialog>
  );
}

interface BulkFieldsProps {
  action: BulkAction;
  form: BulkForm;
  onChange: (form: BulkForm) => void;
}

function BulkFields({ action, form, onChange }: BulkFieldsProps) {
  switch (action) {
    case 'tags':
      return (['add', 'remove'] as const).map((field) => {
        const problem = tagsProblem(form[field]);
        return (
          <TextField
            key={field}
            label={field === 'add' ? 'Tags to add' : 'Tags to remove'}
            value={form[field]}
            onChange={(text) => onChange({ ...form, [field]: text })}
            hint="Separated by spaces"
            {...(problem !== undefined && { problem })}
          />
        );
      });
    case 'pin':
      return (
        <div className="form-grid">
          <SelectField
            label="Program"
            value={form.program}
            onChange={(program) => onChange({ ...form, program })}
            options={[
              { value: 'server', text: 'Machine server' },
              { value: 'agent', text: 'Agent' },
            ]}
          />
          <TextField
            label="Version"
            value={form.version}
            onChange={(version) => onChange({ ...form, version })}
            hint="stable, dev, a version or an address"
          />
        </div>
      );
    case 'move':
      return <LocationField form={form} onChange={onChange} />;
    case 'restart':
      return <p>Each restarts at its next opportunity, as with its own button.</p>;
    case 'delete':
      return <p>Their configurations, logs and credentials are deleted. This cannot be undone.</p>;
  }
}

function LocationField({ form, onChange }: Omit<BulkFieldsProps, 'action'>) {
  const { organizationId } = useSession().organization;
  const { data, error } = useQuery(AppService.method.listLocations, { organizationId });
  if (error) return <FailureNote error={error} />;
  return (
    <SelectField
      label="Location"
      value={form.locationId}
      onChange={(locationId) => onChange({ ...form, locationId })}
      options={[
        { value: '', text: 'Choose a location' },
        ...(data?.locations ?? []).map(({ id, name }) => ({ value: id, text: name })),
      ]}
    />
  );
}

/** A bar of the shares, the counts, and each reason with its first machines. */
function Preview({ preview }: { preview: PreviewBulkOperationResponse }) {
  const { changing, unchanged, refused, refusals, notes } = preview;
  return (
    <>
      <div className="bulk-shares" aria-hidden="true">
        {changing > 0 && <span className="is-changing" style={{ flexGrow: changing }} />}
        {unchanged > 0 && <span className="is-unchanged" style={{ flexGrow: unchanged }} />}
        {refused > 0 && <span className="is-refused" style={{ flexGrow: refused }} />}
      </div>
      <p>
        <strong>{formatGrouped(changing)}</strong> change
        {unchanged > 0 && ` · ${formatGrouped(unchanged)} are so already`}
        {refused > 0 && ` · ${formatGrouped(refused)} cannot`}
      </p>
      <ul className="bulk-reasons">
        {[...refusals, ...notes].map((reason) => (
          <Reason key={reason.code + reason.text} reason={reason} />
        ))}
      </ul>
    </>
  );
}

const Reason = ({ reason: { text, machines, examples } }: { reason: BulkReason }) => (
  <li>
    <strong>{formatCount(machines, 'machine')}</strong>: {text}{' '}
    <span className="soft break">
      {examples.join(', ')}
      {machines > examples.length && ', …'}
    </span>
  </li>
);
