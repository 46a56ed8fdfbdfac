import { useMutation } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '../../ui/dialogs.tsx';
import { TextField } from '../../ui/fields.tsx';
import { useSession } from '../../entities/session/session.tsx';

/** Prompts for a name, then opens the new dataset. */
export function CreateDataset({ onClose }: { onClose: () => void }) {
  const { organization } = useSession();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const creation = useMutation(DatasetService.method.createDataset, {
    onSuccess: ({ id }) => navigate({ to: '/datasets/$datasetId', params: { datasetId: id } }),
  });
  return (
    <FormDialog
      title="Create dataset"
      verb="Create"
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={() => creation.mutate({ organizationId: organization.organizationId, name: name.trim() })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        maxLength={128}
        isRequired
        placeholder="for example parts-on-the-belt"
      />
    </FormDialog>
  );
}
