import { useMutation } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useState } from 'react';
import { FormFooter, FormDialog } from '../parts/dialogs.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { TextField } from './submit-fields.tsx';

interface RenameDatasetProps {
  datasetId: string;
  name: string;
  onClose: () => void;
}

export function RenameDataset({ datasetId, name, onClose }: RenameDatasetProps) {
  const [next, setNext] = useState(name);
  const change = useMutation(DatasetService.method.renameDataset, { onSuccess: onClose });
  return (
    <FormDialog title="Rename dataset" isOpen onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ id: datasetId, name: next.trim() });
        }}
      >
        <TextField label="Name" value={next} onChange={setNext} />
        {change.error && <FailureNote error={change.error} />}
        <FormFooter
          verb="Rename"
          isDisabled={next.trim() === '' || next.trim() === name || change.isPending}
          onClose={onClose}
        />
      </form>
    </FormDialog>
  );
}
