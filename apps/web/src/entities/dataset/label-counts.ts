import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import {
  BinaryDataByFilterRequestSchema,
  DataService,
  TagsFilterType,
} from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { FilterSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useQuery } from '@tanstack/react-query';
import type { LabelCounts } from './dataset-readiness.ts';

type Filter = MessageInitShape<typeof FilterSchema>;
interface Base {
  organizationIds: string[];
  datasetId: string;
}
export type LabelKind = 'tags' | 'boxes';

/** Concurrent requests: few enough to leave connections for the page. */
const lanes = 4;

async function countImages(transport: Transport, filter: Filter, signal: AbortSignal): Promise<number> {
  const request = create(BinaryDataByFilterRequestSchema, { dataRequest: { filter }, countOnly: true });
  const { count } = await callUnaryMethod(transport, DataService.method.binaryDataByFilter, request, { signal });
  return Number(count);
}

/** Images with any of the labels. */
const withAny = (base: Base, kind: LabelKind, labels: readonly string[]): Filter =>
  kind === 'boxes'
    ? { ...base, bboxLabels: [...labels] }
    : { ...base, tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: [...labels], labelsOnly: true } };

/** Returns the labels after this one that fit into an answer, and whether there are more. */
async function someLabels(transport: Transport, filter: Base, after: string, kind: LabelKind, signal: AbortSignal) {
  const { boundingBoxLabelsByFilter, tagsByFilter } = DataService.method;
  if (kind === 'boxes') {
    const answer = await callUnaryMethod(transport, boundingBoxLabelsByFilter, { filter, after }, { signal });
    return { labels: answer.labels, isMore: answer.truncated };
  }
  const answer = await callUnaryMethod(transport, tagsByFilter, { filter, after, labelsOnly: true }, { signal });
  return { labels: answer.tags, isMore: answer.truncated };
}

async function labelsOf(transport: Transport, base: Base, kind: LabelKind, signal: AbortSignal): Promise<string[]> {
  const all: string[] = [];
  for (let isOver = false; !isOver;) {
    const { labels, isMore } = await someLabels(transport, base, all.at(-1) ?? '', kind, signal);
    all.push(...labels);
    isOver = !isMore || labels.length === 0;
  }
  return all.toSorted();
}

async function countLabels(
  transport: Transport,
  base: Base,
  kind: LabelKind,
  signal: AbortSignal,
): Promise<LabelCounts> {
  const [images, labels] = await Promise.all([
    countImages(transport, base, signal),
    labelsOf(transport, base, kind, signal),
  ]);
  const counts: number[] = [];
  const waiting = labels.entries();
  const lane = async (): Promise<void> => {
    for (const [at, label] of waiting) counts[at] = await countImages(transport, withAny(base, kind, [label]), signal);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return { images, labels: labels.map((label, at) => ({ label, images: counts[at] ?? 0 })) };
}

/** Counts images of a dataset per label: by its tags, or by the boxes in its images. */
export function useLabelCounts(organizationId: string, datasetId: string, kind: LabelKind) {
  const transport = useTransport();
  return useQuery({
    queryKey: ['label-counts', organizationId, datasetId, kind],
    enabled: datasetId !== '',
    queryFn: ({ signal }) => countLabels(transport, { organizationIds: [organizationId], datasetId }, kind, signal),
  });
}

/** Counts images with at least one of the labels. */
export function useLabelled(
  organizationId: string,
  datasetId: string,
  kind: LabelKind,
  labels: readonly string[],
): number | undefined {
  const transport = useTransport();
  const query = useQuery({
    queryKey: ['labelled', organizationId, datasetId, kind, labels],
    enabled: datasetId !== '' && labels.length > 0,
    queryFn: ({ signal }) =>
      countImages(transport, withAny({ organizationIds: [organizationId], datasetId }, kind, labels), signal),
  });
  return query.data;
}
