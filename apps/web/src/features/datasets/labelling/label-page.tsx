import { useQuery } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { DatasetIcon } from '../../../ui/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../../../ui/messages.tsx';
import { useClock } from '../../../ui/time.tsx';
import { meaningOf } from './label-keys.ts';
import type { ScreenCommand } from './label-keys.ts';
import { shownImage } from './labelling.ts';
import type { Labelling } from './labelling.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { LabelConflicts } from './label-conflicts.tsx';
import { LabelHelp, NewLabel } from './label-dialogs.tsx';
import { LabelHead } from './label-head.tsx';
import { LabelPanel } from './label-panel.tsx';
import { LabelStage, useZoom } from './label-stage.tsx';
import { useKeys } from './key-listener.ts';
import { newUuid, useLabelling } from './labelling-state.ts';
import type { LabellingPage } from './labelling-state.ts';
import '../../../ui/style/labelling.css';
import '../../../ui/style/training.css';

const route = getRouteApi('/datasets/$datasetId/label');

/** Images of a dataset, one after the other on the whole screen, labelled by keys. */
export function LabelPage() {
  const { datasetId } = route.useParams();
  return <DatasetLabelling key={datasetId} datasetId={datasetId} />;
}

function DatasetLabelling({ datasetId }: { datasetId: string }) {
  const { id = '', mode } = route.useSearch();
  const page = useLabelling(datasetId, { image: id, mode });
  const { data } = useQuery(DatasetService.method.listDatasetsByIDs, { ids: [datasetId] });
  const name = data?.datasets[0]?.name ?? 'Dataset';
  const { state, error } = page;
  return (
    <div className="labelling">
      <title>{`Label ${isolateText(name)} · Platform`}</title>
      {state && state.images.length > 0 ? (
        <Screen page={page} state={state} datasetId={datasetId} name={name} />
      ) : (
        <div className="page">
          <h1>Label {name}</h1>
          {error ? <FailureNote error={error} /> : state ? <NoImages datasetId={datasetId} /> : <Loading />}
        </div>
      )}
    </div>
  );
}

const NoImages = ({ datasetId }: { datasetId: string }) => (
  <EmptyState icon={<DatasetIcon />} title="No images to label">
    <Link to="/datasets/$datasetId" params={{ datasetId }} className="button">
      Add images to the dataset
    </Link>
  </EmptyState>
);

interface ScreenProps {
  page: LabellingPage;
  state: Labelling;
  datasetId: string;
  name: string;
}
function Screen({ page, state, datasetId, name }: ScreenProps) {
  const [dialog, setDialog] = useState<'help' | 'new-label'>();
  const [isHidden, setHidden] = useState(false);
  const zoom = useZoom();
  const navigate = useNavigate();
  const image = shownImage(state);
  const close = (): void => void navigate({ to: '/datasets/$datasetId', params: { datasetId } });
  const screen: Readonly<Record<ScreenCommand, () => void>> = {
    help: () => setDialog('help'),
    'new-label': () => setDialog('new-label'),
    'hide-boxes': () => setHidden(!isHidden),
    'zoom-in': zoom.larger,
    'zoom-out': zoom.smaller,
    fit: zoom.fit,
    close,
  };
  useKeys(dialog === undefined, (event) => {
    const meaning = meaningOf(event, state, newUuid);
    if (!meaning) return;
    event.preventDefault();
    if (meaning.do === 'screen') screen[meaning.what]();
    else if (meaning.do === 'pan') zoom.pan(meaning.x, meaning.y);
    else page.run(meaning);
  });
  // The URL names the image and the mode, for a reload and as a link.
  useSettled(image?.id, state.mode, (id) => navigate({ to: '.', search: { id, mode: state.mode }, replace: true }));
  useAhead(state);
  // Others may have labelled the image since the list was read.
  useSettled(image?.id, '', page.refresh);
  if (!image) return null;
  return (
    <>
      <LabelHead page={page} state={state} name={name} zoom={zoom} onClose={close} onHelp={screen.help} />
      <LabelStage page={page} state={state} image={image} zoom={zoom} isHidden={isHidden} />
      <LabelPanel page={page} state={state} image={image} datasetId={datasetId} onNewLabel={screen['new-label']} />
      <LabelConflicts page={page} state={state} />
      {dialog === 'help' && <LabelHelp onClose={() => setDialog(undefined)} />}
      {dialog === 'new-label' && (
        <NewLabel
          labels={state.labels}
          onChoose={(label) => page.run({ do: 'label', label })}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

/** Browsers limit how often a page may change its URL. */
const settledMs = 500;

/** Acts once an image is shown for a while with this key: not on images that the user only passes. */
function useSettled(id: string | undefined, key: string, act: (id: string) => Promise<unknown>): void {
  const clock = useClock();
  const latest = useEffectEvent(act);
  useEffect(() => {
    const end = new AbortController();
    const settle = async (): Promise<void> => {
      await clock.sleep(settledMs, end.signal);
      if (id !== undefined && !end.signal.aborted) await latest(id);
    };
    void settle();
    return () => end.abort();
  }, [id, key, clock]);
}

const imagesAhead = 3;
const imagesKept = 12;

/** Loads the next images, and keeps the last ones, so that a key shows the next image at once. */
function useAhead({ images, at }: Labelling): void {
  const kept = useRef(new Map<string, HTMLImageElement>());
  useEffect(() => {
    for (const { id } of images.slice(at + 1, at + 1 + imagesAhead)) {
      if (kept.current.has(id)) continue;
      const image = new Image();
      image.src = imageSource(id);
      kept.current.set(id, image);
    }
    for (const id of [...kept.current.keys()].slice(0, -imagesKept)) kept.current.delete(id);
  }, [images, at]);
}

const imageSource = (id: string): string => `/data/${id}`;
