import { useQuery } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryDataByFilterResponse, BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useQueryClient } from '@tanstack/react-query';
import type { InfiniteData } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { BackIcon, CrossIcon } from '../parts/icons.tsx';
import { FailureNote, Loading } from '../parts/messages.tsx';
import { useSession } from '../session.tsx';
import { bytes, percent } from '../view/quantities.ts';
import { bothMoments, msOf } from '../view/times.ts';
import { editBox } from '../view/boxes.ts';
import type { Box } from '../view/boxes.ts';
import { BoxCanvas } from './box-canvas.tsx';
import { useBoxEdits } from './box-edits.ts';
import { ImageLabels } from './image-labels.tsx';
import { useLabelCounts } from './label-counts.ts';
import { TextField } from '../parts/fields.tsx';
import { isolateText } from '../view/user-text.ts';
import { UserText } from '../parts/user-text.tsx';

const route = getRouteApi('/datasets/$datasetId/picture');

/** One image of a dataset, with its editable labels and boxes. */
export function ImagePage() {
  const { datasetId } = route.useParams();
  const { id } = route.useSearch();
  const query = useQuery(DataService.method.binaryDataByIDs, { binaryDataIds: [id] }, { staleTime: 0, gcTime: 0 });
  const metadata = query.data?.data[0]?.metadata;
  const name = metadata?.fileName || 'Image';
  return (
    <div className="page page-wide">
      <title>{`${isolateText(name)} · Platform`}</title>
      <div className="page-head">
        <div>
          <Link to="/datasets/$datasetId" params={{ datasetId }} className="crumb">
            <BackIcon />
            Dataset
          </Link>
          <h1 className="break">{name}</h1>
        </div>
        <Neighbours datasetId={datasetId} id={id} />
      </div>
      {query.error && <FailureNote error={query.error} />}
      {metadata ? <ImageEditor key={id} metadata={metadata} datasetId={datasetId} /> : !query.error && <Loading />}
    </div>
  );
}

/** The adjacent images in the list from which the user came. */
function Neighbours({ datasetId, id }: { datasetId: string; id: string }) {
  const { organization } = useSession();
  const queries = useQueryClient();
  const lists = queries.getQueriesData<InfiniteData<BinaryDataByFilterResponse>>({
    queryKey: ['images', organization.organizationId, datasetId],
  });
  const ids = lists
    .map(
      ([, list]) => list?.pages.flatMap((page) => page.data.map(({ metadata }) => metadata?.binaryDataId ?? '')) ?? [],
    )
    .find((list) => list.includes(id));
  if (!ids) return null;
  const at = ids.indexOf(id);
  return (
    <nav aria-label="Images" className="row">
      {(
        [
          [at - 1, 'Previous'],
          [at + 1, 'Next'],
        ] as const
      ).map(([to, text]) => {
        const target = ids[to];
        return target === undefined ? (
          <span key={text} className="button" aria-disabled="true">
            {text}
          </span>
        ) : (
          <Link
            key={text}
            className="button"
            to="/datasets/$datasetId/picture"
            params={{ datasetId }}
            search={{ id: target }}
            replace
          >
            {text}
          </Link>
        );
      })}
    </nav>
  );
}

const boxesOf = (metadata: BinaryMetadata): Box[] =>
  (metadata.annotations?.bboxes ?? []).map((box) => ({
    id: box.id,
    label: box.label,
    xMin: box.xMinNormalized,
    yMin: box.yMinNormalized,
    xMax: box.xMaxNormalized,
    yMax: box.yMaxNormalized,
    ...(box.confidence !== undefined && { confidence: box.confidence }),
  }));

/** The initial position of a box that is added without a pointer. */
const middle = { xMin: 0.35, yMin: 0.35, xMax: 0.65, yMax: 0.65 };

function savedState(unsaved: number | undefined, error: unknown): string {
  if (unsaved === undefined) return '';
  if (unsaved > 0) return 'Saving…';
  return error === undefined ? 'Saved' : 'Not saved';
}

function ImageEditor({ metadata, datasetId }: { metadata: BinaryMetadata; datasetId: string }) {
  const { organization } = useSession();
  const { binaryDataId } = metadata;
  const { boxes, done, unsaved, error, edit, undo } = useBoxEdits(binaryDataId, boxesOf(metadata));
  const [selected, setSelected] = useState<string>();
  const known =
    useLabelCounts(organization.organizationId, datasetId, 'boxes').data?.labels.map((one) => one.label) ?? [];
  const [label, setLabel] = useState(() => boxesOf(metadata).at(-1)?.label ?? '');
  const labels = [...new Set([...known, ...boxes.map((box) => box.label)])].toSorted();
  const nextLabel = label.trim() || labels[0] || '';
  const chosen = boxes.find((box) => box.id === selected);
  const add = async (frame: typeof middle): Promise<void> => {
    if (nextLabel === '') return;
    const kept = await edit({ do: 'add', box: { id: '', label: nextLabel, ...frame } });
    if (kept?.do === 'add') setSelected(kept.box.id);
  };
  const remove = (box: Box): void => {
    setSelected(undefined);
    void edit({ do: 'remove', box });
  };
  const relabel = (text: string): void => {
    setLabel(text);
    if (chosen && labels.includes(text) && text !== chosen.label)
      void edit({ do: 'change', before: chosen, after: editBox(chosen, { label: text }) });
  };
  return (
    <div
      className="image-editor"
      onKeyDown={(event) => {
        const isUndo =
          event.key === 'z' && (event.ctrlKey || event.metaKey) && !(event.target instanceof HTMLInputElement);
        if (!isUndo) return;
        event.preventDefault();
        void undo();
      }}
    >
      <div className="stack-tight">
        <BoxCanvas
          source={`/data/${binaryDataId}`}
          name={metadata.fileName}
          boxes={boxes}
          selected={selected}
          onSelect={setSelected}
          onDraw={(frame) => void add(frame)}
          onChange={(box, frame) => void edit({ do: 'change', before: box, after: editBox(box, frame) })}
          onRemove={remove}
        />
        <p className="small soft">
          {bytes(metadata.fileSizeBytes)} · {bothMoments(msOf(metadata.timeRequested) ?? 0)}
        </p>
      </div>
      <div className="stack">
        {error !== undefined && <FailureNote error={error} />}
        <section className="card" aria-label="Boxes">
          <div className="card-head">
            <h2>Boxes</h2>
            <span role="status" aria-label="State of the boxes" className="small soft push">
              {savedState(unsaved, error)}
            </span>
            <button
              type="button"
              className="button button-small"
              disabled={done.length === 0}
              onClick={() => void undo()}
            >
              Undo
            </button>
          </div>
          <div className="card-body">
            <TextField
              label="Label of the next box"
              value={label}
              onChange={relabel}
              list={labels}
              placeholder={labels[0] ?? 'for example cup'}
              hint={
                nextLabel === ''
                  ? 'Name what you are going to frame, then draw on the image.'
                  : 'Draw on the image, or:'
              }
            />
            <button type="button" className="button" disabled={nextLabel === ''} onClick={() => void add(middle)}>
              Add a box in the middle
            </button>
            {boxes.length > 0 && (
              <ul className="box-list">
                {boxes.map((box, at) => (
                  <li key={box.id} className="row">
                    <button
                      type="button"
                      className={box.id === selected ? 'choice box-chosen' : 'choice'}
                      aria-pressed={box.id === selected}
                      onClick={() => setSelected(box.id)}
                    >
                      {at + 1}. <UserText text={box.label} />
                      {box.confidence !== undefined && (
                        <span className="small soft"> {percent(box.confidence, 0)} confidence</span>
                      )}
                    </button>
                    {box.id === selected && nextLabel !== box.label && (
                      <button
                        type="button"
                        className="button button-small"
                        onClick={() =>
                          void edit({ do: 'change', before: box, after: editBox(box, { label: nextLabel }) })
                        }
                      >
                        Call it {nextLabel}
                      </button>
                    )}
                    <button
                      type="button"
                      className="button button-quiet button-small button-icon push"
                      aria-label={`Remove box ${at + 1}, ${isolateText(box.label)}`}
                      onClick={() => remove(box)}
                    >
                      <CrossIcon />
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </div>
        </section>
        <ImageLabels metadata={metadata} datasetId={datasetId} />
      </div>
    </div>
  );
}
