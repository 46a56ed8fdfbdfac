import { useMutation } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ConfirmDialog, FormDialog } from '../../ui/dialogs.tsx';
import { PlusIcon } from '../../ui/icons.tsx';
import { BackLink, PageHead } from '../../ui/layout.tsx';
import { FailureNote, TruncatedNote } from '../../ui/messages.tsx';
import { ShowMore } from '../../ui/paged-list.tsx';
import { tagChoices, type TagChoice } from './image-labels.ts';
import { formatCount } from '../../ui/quantities.ts';
import { isolateText } from '../../ui/user-text.ts';
import { AddImages } from './add-images.tsx';
import { DatasetCounts } from './dataset-counts.tsx';
import { ImageList, TagBar } from './dataset-images.tsx';
import { useDataset } from './dataset-query.ts';
import { useFileDrop } from './dropped-files.ts';
import type { BrowserFile } from './image-uploads.ts';
import { SelectionBar } from './selection-bar.tsx';
import { TextField } from '../../ui/fields.tsx';
import '../../ui/style/training.css';

const route = getRouteApi('/datasets/$datasetId');
const noImages: ReadonlySet<string> = new Set();

type OpenDialog = { at: 'adding'; files: readonly BrowserFile[] } | { at: 'renaming' } | { at: 'deleting' };

/** `?add=true` opens the dialog that adds images, once. */
function useDialog() {
  const { add: isAdding = false } = route.useSearch();
  const navigate = route.useNavigate();
  const [dialog, setDialog] = useState<OpenDialog>();
  useEffect(() => {
    if (!isAdding) return;
    setDialog({ at: 'adding', files: [] });
    void navigate({ search: {}, replace: true });
  }, [isAdding, navigate]);
  return [dialog, setDialog] as const;
}

export function DatasetPage() {
  const { datasetId } = route.useParams();
  const [choice, setChoice] = useState<TagChoice>();
  const [dialog, setDialog] = useDialog();
  const [selected, setSelected] = useState(noImages);
  const { dataset, isMissing, count, tags, labels, images, more, error, refresh } = useDataset(datasetId, choice);
  const { isDragOver, dropTarget } = useFileDrop((files) => setDialog({ at: 'adding', files }));
  const close = (): void => {
    setDialog(undefined);
    refresh();
  };
  return (
    <div className={isDragOver ? 'page is-drag-over' : 'page'} {...dropTarget}>
      <title>{`${isolateText(dataset?.name ?? 'Dataset')} · Platform`}</title>
      <PageHead
        back={<BackLink to="/datasets">Datasets</BackLink>}
        title={dataset?.name ?? (isMissing ? 'Dataset not found' : 'Dataset')}
        lead={count !== undefined && formatCount(count, 'image')}
      >
        {dataset && <DatasetActions datasetId={datasetId} onOpen={setDialog} />}
      </PageHead>
      {error && <FailureNote error={error} />}
      <DeleteDataset
        {...{ datasetId, name: dataset?.name ?? '' }}
        isOpen={dialog?.at === 'deleting'}
        onClose={() => setDialog(undefined)}
      />
      {dataset && <DatasetCounts datasetId={datasetId} onMerged={refresh} />}
      {selected.size > 0 && (
        <SelectionBar
          datasetId={datasetId}
          selected={selected}
          images={images}
          labels={labels}
          onClear={() => setSelected(noImages)}
          onDone={refresh}
        />
      )}
      <TruncatedNote isTruncated={tags?.truncated} what="labels" />
      <TagBar
        choices={tagChoices(tags?.tags ?? [], labels)}
        chosen={choice}
        onChoose={(next) => (setChoice(next), setSelected(noImages))}
      />
      {!isMissing && (
        <ImageList
          images={images}
          datasetId={datasetId}
          selected={selected}
          onSelect={setSelected}
          onAdd={() => setDialog({ at: 'adding', files: [] })}
          onEnd={more.showMore}
        />
      )}
      <ShowMore list={more} text="Show more" />
      {dataset && dialog && <DatasetDialogs {...{ datasetId, dialog }} name={dataset.name} onClose={close} />}
    </div>
  );
}

interface DatasetDialogsProps {
  datasetId: string;
  name: string;
  dialog: OpenDialog;
  onClose: () => void;
}
const DatasetDialogs = ({ dialog, ...dataset }: DatasetDialogsProps) => (
  <>
    {dialog.at === 'adding' && <AddImages {...dataset} start={dialog.files} />}
    {dialog.at === 'renaming' && <RenameDataset {...dataset} />}
  </>
);

const DatasetActions = ({ datasetId, onOpen }: { datasetId: string; onOpen: (dialog: OpenDialog) => void }) => (
  <div className="row">
    <button type="button" className="button" onClick={() => onOpen({ at: 'renaming' })}>
      Rename
    </button>
    <button type="button" className="button" onClick={() => onOpen({ at: 'deleting' })}>
      Delete
    </button>
    <button type="button" className="button" onClick={() => onOpen({ at: 'adding', files: [] })}>
      <PlusIcon />
      Add images
    </button>
    <Link to="/datasets/$datasetId/label" params={{ datasetId }} className="button" preload={false}>
      Label images
    </Link>
    <Link to="/datasets/$datasetId/review" params={{ datasetId }} className="button">
      Suggestions
    </Link>
    <Link to="/training/new" search={{ dataset: datasetId }} className="button button-main">
      Train a model
    </Link>
  </div>
);

interface DeleteDatasetProps {
  datasetId: string;
  name: string;
  isOpen: boolean;
  onClose: () => void;
}
function DeleteDataset({ datasetId, name, isOpen, onClose }: DeleteDatasetProps) {
  const navigate = useNavigate();
  const removal = useMutation(DatasetService.method.deleteDataset, { onSuccess: () => navigate({ to: '/datasets' }) });
  return (
    <>
      {removal.error && <FailureNote error={removal.error} />}
      <ConfirmDialog
        title={`Delete the dataset ${isolateText(name)}?`}
        text="The images themselves stay, and jobs that used it keep their frozen copy of the list."
        verb="Delete dataset"
        isDangerous
        isOpen={isOpen}
        onClose={onClose}
        onConfirm={() => removal.mutate({ id: datasetId })}
      />
    </>
  );
}

interface RenameDatasetProps {
  datasetId: string;
  name: string;
  onClose: () => void;
}

function RenameDataset({ datasetId, name, onClose }: RenameDatasetProps) {
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
