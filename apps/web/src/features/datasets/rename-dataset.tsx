import { useMutation } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useState } from 'react';
import { FormDialog } from '../../ui/dialogs.tsx';
import { TextField } from '../../ui/fields.tsx';

interface RenameDatasetProps {
  datasetId: string;
  name: string;
  onClose: () => void;
}

export function RenameDataset({ datasetId, name, onClose }: RenameDatasetProps) {
  const [next, setNext] = useState(name);
  const change = useMutation(DatasetService.method.renameDataset, { onSuccess: onClose });
  return (
    <FormDialog
      title="Rename dataset"
      verb="Rename"
      isDisabled={next.trim() === '' || next.trim() === name || change.isPending}
      error={change.error}
      onSubmit={() => change.mutate({ id: datasetId, name: next.trim() })}
      onClose={onClose}
    >
      <TextField label="Name" value={next} onChange={setNext} />
    </FormDialog>
  );
}
