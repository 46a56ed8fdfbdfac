import { useMutation } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useState } from 'react';
import { ConfirmDialog } from '../../ui/dialogs.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { formatCount } from '../../ui/quantities.ts';
import { TextField } from '../../ui/fields.tsx';
import { SelectionKeys, useSelectionKeys } from './selection-keys.tsx';
import '../../ui/style/training.css';

interface SelectionBarProps {
  datasetId: string;
  selected: ReadonlySet<string>;
  images: readonly BinaryMetadata[] | undefined;
  /** Labels in use, offered while typing and by their keys. */
  labels: readonly string[];
  onClear: () => void;
  /** Called after a change. */
  onDone: () => void;
}

const selectedImages = (images: SelectionBarProps['images'], selected: ReadonlySet<string>): BinaryMetadata[] =>
  (images ?? []).filter(({ binaryDataId }) => selected.has(binaryDataId));

/** Actions on the selected images. */
export function SelectionBar({ datasetId, selected, images, labels, onClear, onDone }: SelectionBarProps) {
  const [label, setLabel] = useState('');
  const [isRemoving, setRemoving] = useState(false);
  const binaryDataIds = [...selected];
  const addition = useMutation(DataService.method.addTagsToBinaryDataByIDs, { onSuccess: onDone });
  const removal = useMutation(DataService.method.removeTagsFromBinaryDataByIDs, { onSuccess: onDone });
  const leaving = useMutation(DataService.method.removeBinaryDataFromDatasetByIDs, {
    onSuccess: () => (onClear(), onDone()),
  });
  const tags = [label.trim()];
  const keys = useSelectionKeys({ datasetId, images: selectedImages(images, selected), labels, onDone });
  const isIdle = label.trim() === '' || addition.isPending || removal.isPending;
  const error = keys.error ?? addition.error ?? removal.error ?? leaving.error;
  return (
    <section className="card card-body selection-bar" aria-label="Selected images">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          addition.mutate({ binaryDataIds, tags });
        }}
      >
        <strong role="status">{formatCount(selected.size, 'image')} selected</strong>
        <button type="button" className="button button-small button-quiet" onClick={onClear}>
          Select none
        </button>
        <span className="selection-label">
          <TextField label="Label" value={label} onChange={setLabel} list={labels} />
        </span>
        <button type="submit" className="button" disabled={isIdle}>
          Add label
        </button>
        <button
          type="button"
          className="button"
          disabled={isIdle}
          onClick={() => removal.mutate({ binaryDataIds, tags, includeClassifications: true })}
        >
          Remove label
        </button>
        <button type="button" className="button push" onClick={() => setRemoving(true)}>
          Take out of the dataset
        </button>
      </form>
      <SelectionKeys keys={keys} />
      {error ? <FailureNote error={error} /> : null}
      <ConfirmDialog
        title={`Take ${formatCount(selected.size, 'image')} out of this dataset?`}
        text="They are not deleted, and other datasets keep them."
        verb="Take out"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => leaving.mutate({ datasetId, binaryDataIds })}
      />
    </section>
  );
}
