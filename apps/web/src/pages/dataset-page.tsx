import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useMutation, useQuery, useTransport } from '@connectrpc/connect-query';
import { BinaryDataByFilterRequestSchema, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ConfirmDialog } from '../parts/dialogs.tsx';
import { BackIcon, DatasetIcon, PlusIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, TruncatedNote, Loading } from '../parts/messages.tsx';
import { useSession } from '../session.tsx';
import { labelsOf, tagChoices } from '../view/image-labels.ts';
import type { TagChoice } from '../view/image-labels.ts';
import { formatCount } from '../view/quantities.ts';
import { bothMoments, msOf } from '../view/times.ts';
import { AddImages } from './add-images.tsx';
import { DatasetCounts } from './dataset-counts.tsx';
import { droppedFiles } from './dropped-files.ts';
import type { BrowserFile } from './image-uploads.ts';
import { RenameDataset } from './rename-dataset.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { isolateText } from '../view/user-text.ts';

const route = getRouteApi('/datasets/$datasetId');
const pageSize = 60;
const nothing: ReadonlySet<string> = new Set();

export function DatasetPage() {
  const { datasetId } = route.useParams();
  const { organization } = useSession();
  const { organizationId } = organization;
  const navigate = useNavigate();
  const transport = useTransport();
  const [choice, setChoice] = useState<TagChoice>();
  const [isDeleting, setDeleting] = useState(false);
  const [added, setAdded] = useState<readonly BrowserFile[]>();
  const [isRenaming, setRenaming] = useState(false);
  const [isDropping, setDropping] = useState(false);
  const [selected, setSelected] = useState(nothing);
  const queries = useQueryClient();
  const list = useQuery(DatasetService.method.listDatasetsByIDs, { ids: [datasetId] });
  const base = { organizationIds: [organizationId], datasetId };
  const tags = useQuery(DataService.method.tagsByFilter, { filter: base });
  const labels = useQuery(DataService.method.tagsByFilter, { filter: base, labelsOnly: true });
  const chosen = choice && { tagsFilter: { tags: [choice.tag], labelsOnly: choice.kind === 'label' } };
  const filter = { ...base, ...chosen };
  const count = useQuery(DataService.method.binaryDataByFilter, { dataRequest: { filter }, countOnly: true });
  const images = useInfiniteQuery({
    queryKey: ['images', organizationId, datasetId, choice?.kind, choice?.tag],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => {
      const request = create(BinaryDataByFilterRequestSchema, {
        dataRequest: { filter, limit: BigInt(pageSize), last: pageParam },
      });
      return callUnaryMethod(transport, DataService.method.binaryDataByFilter, request, { signal });
    },
    getNextPageParam: (page) => (page.data.length < pageSize || page.last === '' ? undefined : page.last),
  });
  const removal = useMutation(DatasetService.method.deleteDataset, { onSuccess: () => navigate({ to: '/datasets' }) });
  const refresh = (): void => {
    for (const query of [count, tags, labels, images, list]) void query.refetch();
    for (const name of ['label-counts', 'labelled']) void queries.invalidateQueries({ queryKey: [name] });
  };
  const close = (): void => {
    setAdded(undefined);
    setRenaming(false);
    refresh();
  };
  const toggle = (id: string): void =>
    setSelected((now) => (now.has(id) ? new Set([...now].filter((one) => one !== id)) : new Set([...now, id])));
  const dataset = list.data?.datasets[0];
  const shown = images.data?.pages.flatMap((page) => page.data.flatMap(({ metadata }) => metadata ?? [])) ?? [];
  const error = list.error ?? images.error ?? removal.error;
  return (
    <div
      className={isDropping ? 'page page-wide is-dropping' : 'page page-wide'}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => event.currentTarget.contains(event.relatedTarget as Node | null) || setDropping(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        void droppedFiles(event.dataTransfer).then(setAdded);
      }}
    >
      <title>{`${isolateText(dataset?.name ?? 'Dataset')} · Platform`}</title>
      <div className="page-head">
        <div>
          <Link to="/datasets" className="crumb">
            <BackIcon />
            Datasets
          </Link>
          <h1>{dataset?.name ?? (list.isPending ? 'Dataset' : 'Dataset not found')}</h1>
          {count.data && <p className="soft">{formatCount(count.data.count, 'image')}</p>}
        </div>
        {dataset && (
          <div className="row">
            <button type="button" className="button" onClick={() => setRenaming(true)}>
              Rename
            </button>
            <button type="button" className="button" onClick={() => setDeleting(true)}>
              Delete
            </button>
            <button type="button" className="button" onClick={() => setAdded([])}>
              <PlusIcon />
              Add images
            </button>
            <Link to="/training/new" search={{ dataset: datasetId }} className="button button-main">
              Train a model
            </Link>
          </div>
        )}
      </div>
      {error && <FailureNote error={error} />}
      {dataset && <DatasetCounts datasetId={datasetId} />}
      {selected.size > 0 && (
        <SelectionBar
          datasetId={datasetId}
          selected={selected}
          labels={labels.data?.tags ?? []}
          onClear={() => setSelected(nothing)}
          onDone={refresh}
        />
      )}
      <TruncatedNote isTruncated={tags.data?.truncated} what="labels" />
      <TagBar
        choices={tagChoices(tags.data?.tags ?? [], labels.data?.tags ?? [])}
        chosen={choice}
        onChoose={(next) => (setChoice(next), setSelected(nothing))}
      />
      {shown.length > 0 && (
        <div className="row">
          <button
            type="button"
            className="button button-small"
            onClick={() => setSelected(new Set(shown.map((one) => one.binaryDataId)))}
          >
            Select all shown ({shown.length})
          </button>
          <span className="soft small">Drop files or folders anywhere to add them.</span>
        </div>
      )}
      {images.isPending ? (
        <Loading />
      ) : shown.length === 0 ? (
        <div className="card">
          <EmptyState icon={<DatasetIcon />} title="No images">
            <p>Add a folder that has one folder of images per label, or single images.</p>
            <button type="button" className="button" onClick={() => setAdded([])}>
              Add images
            </button>
          </EmptyState>
        </div>
      ) : (
        <ul className="images">
          {shown.map((image) => (
            <DatasetImage
              key={image.binaryDataId}
              image={image}
              datasetId={datasetId}
              isSelected={selected.has(image.binaryDataId)}
              onToggle={() => toggle(image.binaryDataId)}
            />
          ))}
        </ul>
      )}
      {images.hasNextPage && (
        <div className="row">
          <button
            type="button"
            className="button"
            disabled={images.isFetchingNextPage}
            onClick={() => void images.fetchNextPage()}
          >
            {images.isFetchingNextPage ? 'Loading …' : 'Show more'}
          </button>
        </div>
      )}
      {added && dataset && <AddImages datasetId={datasetId} name={dataset.name} start={added} onClose={close} />}
      {isRenaming && dataset && <RenameDataset datasetId={datasetId} name={dataset.name} onClose={close} />}
      <ConfirmDialog
        title={`Delete the dataset ${isolateText(dataset?.name ?? '')}?`}
        text="The images themselves stay, and jobs that used it keep their frozen copy of the list."
        verb="Delete dataset"
        isDangerous
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        onConfirm={() => removal.mutate({ id: datasetId })}
      />
    </div>
  );
}

interface TagBarProps {
  choices: readonly TagChoice[];
  chosen: TagChoice | undefined;
  onChoose: (choice: TagChoice | undefined) => void;
}
function TagBar({ choices, chosen, onChoose }: TagBarProps) {
  if (choices.length === 0) return null;
  return (
    <fieldset className="fields">
      <legend className="hidden-text">Show images with the label or tag</legend>
      <div className="row">
        {[undefined, ...choices].map((choice) => (
          <label key={`${choice?.kind} ${choice?.tag}`} className="choice choice-plain">
            <input
              type="radio"
              name="tag"
              className="hidden-text"
              checked={choice?.tag === chosen?.tag && choice?.kind === chosen?.kind}
              onChange={() => onChoose(choice)}
            />
            {choice?.tag ?? 'all'}
            {choice?.kind === 'capture' && <span className="soft small"> capture tag</span>}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface DatasetImageProps {
  image: BinaryMetadata;
  datasetId: string;
  isSelected: boolean;
  onToggle: () => void;
}
function DatasetImage({ image, datasetId, isSelected, onToggle }: DatasetImageProps) {
  const labels = labelsOf(image);
  const boxes = image.annotations?.bboxes.length ?? 0;
  const taken = msOf(image.timeRequested) ?? msOf(image.timeReceived);
  const [isBroken, setBroken] = useState(false);
  const name = image.fileName || image.binaryDataId;
  return (
    <li className={isSelected ? 'image image-selected' : 'image'}>
      <Link
        to="/datasets/$datasetId/picture"
        params={{ datasetId }}
        search={{ id: image.binaryDataId }}
        preload={false}
      >
        {isBroken ? (
          <span className="image-broken small soft">{name} cannot be shown</span>
        ) : (
          <img
            src={`/data/${image.binaryDataId}?width=200`}
            alt={`${name}${labels.length > 0 ? `, labeled ${labels.map(isolateText).join(', ')}` : ''}`}
            loading="lazy"
            width={200}
            height={200}
            onError={() => setBroken(true)}
          />
        )}
      </Link>
      <label className="small" title={`${name}${taken === undefined ? '' : `\n${bothMoments(taken)}`}`}>
        <input type="checkbox" checked={isSelected} onChange={onToggle} aria-label={`Select ${isolateText(name)}`} />
        <span>
          {labels.length > 0 ? labels.map(isolateText).join(', ') : <span className="soft">no label</span>}
          {image.split !== '' && <span className="soft"> · {image.split}</span>}
          {boxes > 0 && <span className="soft"> · {formatCount(boxes, 'box', 'boxes')}</span>}
        </span>
      </label>
    </li>
  );
}
