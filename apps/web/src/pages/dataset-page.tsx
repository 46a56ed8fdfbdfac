import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useMutation, useQuery, useTransport } from '@connectrpc/connect-query';
import { BinaryDataByFilterRequestSchema, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Confirm } from '../parts/dialogs.tsx';
import { BackIcon, DatasetIcon, PlusIcon } from '../parts/icons.tsx';
import { Empty, FailureNote, Waiting } from '../parts/messages.tsx';
import { useSession } from '../session.tsx';
import { counted } from '../view/quantities.ts';
import { bothMoments, msOf } from '../view/times.ts';
import { labelsAmong } from '../view/training-jobs.ts';
import { AddPictures } from './add-pictures.tsx';

const route = getRouteApi('/datasets/$datasetId');
const pageSize = 60;
const noTag = '';

export function DatasetPage() {
  const { datasetId } = route.useParams();
  const { organization } = useSession();
  const { organizationId } = organization;
  const navigate = useNavigate();
  const transport = useTransport();
  const [tag, setTag] = useState(noTag);
  const [isDeleting, setDeleting] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const list = useQuery(DatasetService.method.listDatasetsByIDs, { ids: [datasetId] });
  const base = { organizationIds: [organizationId], datasetId };
  const tags = useQuery(DataService.method.tagsByFilter, { filter: base });
  const filter = { ...base, ...(tag === noTag ? {} : { tagsFilter: { tags: [tag] } }) };
  const count = useQuery(DataService.method.binaryDataByFilter, { dataRequest: { filter }, countOnly: true });
  const pictures = useInfiniteQuery({
    queryKey: ['pictures', organizationId, datasetId, tag],
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
  const close = (): void => {
    setAdding(false);
    for (const query of [count, tags, pictures]) void query.refetch();
  };
  const dataset = list.data?.datasets[0];
  const shown = pictures.data?.pages.flatMap((page) => page.data.flatMap(({ metadata }) => metadata ?? [])) ?? [];
  const error = list.error ?? pictures.error ?? removal.error;
  return (
    <div className="page page-wide">
      <title>{`${dataset?.name ?? 'Dataset'} · Platform`}</title>
      <div className="page-head">
        <div>
          <Link to="/datasets" className="crumb">
            <BackIcon />
            Datasets
          </Link>
          <h1>{dataset?.name ?? (list.isPending ? 'Dataset' : 'There is no such dataset')}</h1>
          {count.data && <p className="soft">{counted(count.data.count, 'picture')}</p>}
        </div>
        {dataset && (
          <div className="row">
            <button type="button" className="button" onClick={() => setDeleting(true)}>
              Delete
            </button>
            <button type="button" className="button" onClick={() => setAdding(true)}>
              <PlusIcon />
              Add pictures
            </button>
            <Link to="/training/new" search={{ dataset: datasetId }} className="button button-main">
              Train a model
            </Link>
          </div>
        )}
      </div>
      {error && <FailureNote error={error} />}
      <TagBar tags={tags.data?.tags ?? []} chosen={tag} onChoose={setTag} />
      {pictures.isPending ? (
        <Waiting />
      ) : shown.length === 0 ? (
        <div className="card">
          <Empty icon={<DatasetIcon />} title="No pictures">
            <p>Add a folder that has one folder of pictures per label, or single pictures.</p>
            <button type="button" className="button" onClick={() => setAdding(true)}>
              Add pictures
            </button>
          </Empty>
        </div>
      ) : (
        <ul className="pictures">
          {shown.map((picture) => (
            <Picture key={picture.binaryDataId} picture={picture} />
          ))}
        </ul>
      )}
      {pictures.hasNextPage && (
        <div className="row">
          <button
            type="button"
            className="button"
            disabled={pictures.isFetchingNextPage}
            onClick={() => void pictures.fetchNextPage()}
          >
            {pictures.isFetchingNextPage ? 'Loading …' : 'Show more'}
          </button>
        </div>
      )}
      {isAdding && dataset && <AddPictures datasetId={datasetId} name={dataset.name} onClose={close} />}
      <Confirm
        title={`Delete the dataset ${dataset?.name ?? ''}?`}
        text="The pictures themselves stay, and jobs that used it keep their frozen copy of the list."
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
  tags: readonly string[];
  chosen: string;
  onChoose: (tag: string) => void;
}
function TagBar({ tags, chosen, onChoose }: TagBarProps) {
  if (tags.length === 0) return null;
  const uses = tags.filter((tag) => tag.includes(':')).toSorted();
  return (
    <fieldset className="fields">
      <legend className="hidden-text">Show pictures with the tag</legend>
      <div className="row">
        {[noTag, ...labelsAmong(tags), ...uses.filter((tag) => tag.startsWith('split:'))].map((tag) => (
          <label key={tag} className="choice choice-plain">
            <input
              type="radio"
              name="tag"
              className="hidden-text"
              checked={tag === chosen}
              onChange={() => onChoose(tag)}
            />
            {tag === noTag ? 'all' : tag}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Picture({ picture }: { picture: BinaryMetadata }) {
  const tags = picture.captureMetadata?.tags ?? [];
  const taken = msOf(picture.timeRequested) ?? msOf(picture.timeReceived);
  const [isBroken, setBroken] = useState(false);
  const name = picture.fileName || picture.binaryDataId;
  return (
    <li>
      {isBroken ? (
        <div className="picture-broken small soft">cannot be shown</div>
      ) : (
        <a href={`/data/${picture.binaryDataId}`} target="_blank" rel="noreferrer">
          <img
            src={`/data/${picture.binaryDataId}?width=200`}
            alt={`${name}${tags.length > 0 ? `, labeled ${tags.join(', ')}` : ''}`}
            loading="lazy"
            width={200}
            height={200}
            onError={() => setBroken(true)}
          />
        </a>
      )}
      <p className="small" title={`${name}${taken === undefined ? '' : `\n${bothMoments(taken)}`}`}>
        {tags.length > 0 ? tags.join(', ') : <span className="soft">no label</span>}
      </p>
    </li>
  );
}
