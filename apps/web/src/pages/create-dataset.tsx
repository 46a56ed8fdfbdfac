import { useMutation } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { FormFooter, FormDialog } from '../parts/dialogs.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { useSession } from '../session.tsx';

/** Prompts for a name, then opens the new dataset. */
export function CreateDataset({ onClose }: { onClose: () => void }) {
  const { organization } = useSession();
  const field = useId();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const creation = useMutation(DatasetService.method.createDataset, {
    onSuccess: ({ id }) => navigate({ to: '/datasets/$datasetId', params: { datasetId: id } }),
  });
  return (
    <FormDialog title="Create dataset" isOpen onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          creation.mutate({ organizationId: organization.organizationId, name: name.trim() });
        }}
      >
        <div className="field">
          <label htmlFor={field}>Name</label>
          <input
            id={field}
            className="input"
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={128}
            autoComplete="off"
            placeholder="for example parts-on-the-belt"
            required
          />
        </div>
        {creation.error && <FailureNote error={creation.error} />}
        <FormFooter verb="Create" isDisabled={name.trim() === '' || creation.isPending} onClose={onClose} />
      </form>
    </FormDialog>
  );
}
