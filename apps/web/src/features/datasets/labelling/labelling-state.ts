import { create } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import {
  BinaryDataByFilterRequestSchema,
  DataService,
  type BinaryMetadata,
} from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Cell } from '@platform/kit';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useClock } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { labelsOf } from '../image-labels.ts';
import { editsBetween, type LabelImage } from './label-edits.ts';
import { keyOrder } from './label-keys.ts';
import { applyAll, replaceImage, startLabelling, step, type Command, type Labelling } from './labelling.ts';
import type { LabelMode } from './label-modes.ts';
import { boxesOf } from '../../../entities/image/image-boxes.ts';
import { keptEdits, keptKeys } from './kept-edits.ts';
import { labelSaver } from './label-saver.ts';
import {
  type ImageSuggestions,
  SuggestionService,
} from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import type { Suggestion } from './suggestions.ts';

const pageSize = 1_000;

/** A random UUID; crypto.randomUUID exists over HTTPS only. */
export function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const imageOf = (metadata: BinaryMetadata): LabelImage => ({
  id: metadata.binaryDataId,
  name: metadata.fileName || metadata.binaryDataId,
  labels: labelsOf(metadata),
  boxes: boxesOf(metadata),
});

interface Listing {
  organizationId: string;
  datasetId: string;
}
async function readImages(
  transport: Transport,
  { organizationId, datasetId }: Listing,
  signal: AbortSignal,
): Promise<LabelImage[]> {
  const all: LabelImage[] = [];
  const filter = { organizationIds: [organizationId], datasetId };
  let last = '';
  for (;;) {
    const dataRequest = { filter, limit: BigInt(pageSize), last };
    const request = create(BinaryDataByFilterRequestSchema, { dataRequest });
    const page = await callUnaryMethod(transport, DataService.method.binaryDataByFilter, request, { signal });
    all.push(...page.data.flatMap(({ metadata }) => (metadata ? imageOf(metadata) : [])));
    if (page.data.length === 0 || page.last === '') return all;
    last = page.last;
  }
}

async function readImage(transport: Transport, id: string): Promise<LabelImage | undefined> {
  const request = { binaryDataIds: [id] };
  const { data } = await callUnaryMethod(transport, DataService.method.binaryDataByIDs, request);
  return data[0]?.metadata && imageOf(data[0].metadata);
}

const labelsIn = (images: readonly LabelImage[]): string[] => [
  ...new Set(
    images.flatMap(({ labels, boxes, suggestions = [] }) => [
      ...labels,
      ...[...boxes, ...suggestions].map(({ label }) => label),
    ]),
  ),
];

/** The value of a cell, drawn again at each change. */
export function useCell<T>(cell: Cell<T>): T {
  const [value, setValue] = useState(cell.get());
  useEffect(() => {
    const end = new AbortController();
    const follow = async (): Promise<void> => {
      while (!end.signal.aborted) {
        setValue(cell.get());
        await cell.changed(end.signal);
      }
    };
    void follow();
    return () => end.abort();
  }, [cell]);
  return value;
}

/** The saver of a dataset; it goes on after the page is left. */
function useSaver(datasetId: string) {
  const { id } = useSession();
  const [transport, clock, queries] = [useTransport(), useClock(), useQueryClient()];
  const [{ saver, kept }] = useState(() => {
    const edits = keptEdits(`${id}/${datasetId}`, newUuid);
    const onSaved = (): void => {
      for (const queryKey of [['images'], ['label-counts'], ['labelled'], ['label-check']])
        void queries.invalidateQueries({ queryKey });
    };
    return { kept: edits, saver: labelSaver({ datasetId, transport, clock, kept: edits, onSaved }) };
  });
  useEffect(() => {
    const unfollow = saver.follow();
    const online = (): void => saver.retry();
    window.addEventListener('online', online);
    return () => (window.removeEventListener('online', online), unfollow());
  }, [saver]);
  return { saver, kept };
}

/** The images of a dataset with what is typed, saved in the background. */
export function useLabelling(datasetId: string, start: { image: string; mode: LabelMode | undefined }) {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
  const { saver, kept } = useSaver(datasetId);
  const [state, setState] = useState<Labelling>();
  const [error, setError] = useState<unknown>();
  const latest = useRef(state);
  const put = (next: Labelling): void => {
    if (next.labels !== latest.current?.labels) keptKeys(datasetId).keep(next.labels);
    latest.current = next;
    setState(next);
  };
  const begin = useRef(start);
  useEffect(() => {
    const end = new AbortController();
    const load = async (): Promise<void> => {
      // Before the images are read: an edit may be saved in between.
      const waiting = saver.queue.get().waiting.map(({ edit }) => edit);
      const read = await readImages(transport, { organizationId, datasetId }, end.signal);
      const images = applyAll(await withSuggestions(transport, datasetId, read, end.signal), waiting);
      const { image, mode } = begin.current;
      const labels = keyOrder(keptKeys(datasetId).read(), labelsIn(images));
      put(startLabelling(images, { image, labels, ...(mode && { mode }) }));
    };
    load().catch((cause: unknown) => !end.signal.aborted && setError(cause));
    return () => end.abort();
    // `put` only closes over the dataset.
  }, [transport, organizationId, datasetId, saver]);
  return {
    state,
    error,
    saver,
    isLasting: kept.isLasting,
    run: (command: Command): void => {
      if (!latest.current) return;
      const { now, saves } = step(latest.current, command);
      put(now);
      saver.add(saves);
    },
    /** Reads an image that another user changed. */
    read: (image: string) => readImage(transport, image),
    /** Shows what others did to an image in the meantime. */
    refresh: async (id: string): Promise<void> => {
      const find = () => latest.current?.images.find((one) => one.id === id);
      const isWaiting = () => saver.queue.get().waiting.some(({ edit }) => edit.image === id);
      const before = find();
      if (isWaiting()) return; // a read that overtakes a save would show the image as it was
      const fresh = await readImage(transport, id).catch(() => undefined); // the queue reports lost contact
      if (!latest.current || !before || !fresh || isWaiting() || find() !== before) return;
      if (editsBetween(before, fresh).length > 0) put(replaceImage(latest.current, fresh));
    },
    /** The image becomes this one: saved from what the server has, `theirs`. */
    decide: (theirs: LabelImage, mine: LabelImage): void => {
      if (!latest.current) return;
      put(replaceImage(latest.current, mine));
      saver.decide(theirs.id, editsBetween(theirs, mine));
    },
  };
}
export type LabellingPage = ReturnType<typeof useLabelling>;

/** IDs per request, and concurrent requests. */
const atOnce = 500;
const lanes = 4;

const suggestionsOf = ({ suggestions }: ImageSuggestions): Suggestion[] =>
  suggestions.map(({ id, label, score, box, rejected }) => ({
    id,
    label,
    score,
    frame: box && {
      xMin: box.xMinNormalized,
      yMin: box.yMinNormalized,
      xMax: box.xMaxNormalized,
      yMax: box.yMaxNormalized,
    },
    isRejected: rejected,
  }));

/** The images with what the newest predictions suggest for them. */
async function withSuggestions(
  transport: Transport,
  datasetId: string,
  images: readonly LabelImage[],
  signal: AbortSignal,
): Promise<LabelImage[]> {
  const found = new Map<string, readonly Suggestion[]>();
  const starts = Array.from({ length: Math.ceil(images.length / atOnce) }, (_, n) => n * atOnce).values();
  const lane = async (): Promise<void> => {
    for (const start of starts) {
      const binaryDataIds = images.slice(start, start + atOnce).map(({ id }) => id);
      const { listSuggestions } = SuggestionService.method;
      const answer = await callUnaryMethod(transport, listSuggestions, { datasetId, binaryDataIds }, { signal });
      for (const one of answer.images) found.set(one.binaryDataId, suggestionsOf(one));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return images.map((image) => {
    const suggestions = found.get(image.id);
    return suggestions === undefined ? image : { ...image, suggestions };
  });
}
