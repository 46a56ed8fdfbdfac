import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useQuery, useTransport } from '@connectrpc/connect-query';
import { BinaryDataByFilterRequestSchema, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { isMissing } from '../../ui/failures.ts';
import { useSession } from '../../entities/session/session.tsx';
import type { TagChoice } from './image-labels.ts';

const pageSize = 100;

/** A dataset with its tags, its labels, and the pages of its images that have the chosen tag. */
export function useDataset(datasetId: string, choice: TagChoice | undefined) {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
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
  return {
    dataset: list.data?.datasets[0],
    /** The server answered that there is none; a failed call says nothing. */
    isMissing: list.isSuccess ? list.data.datasets.length === 0 : isMissing(list.error),
    count: count.data?.count,
    tags: tags.data,
    labels: labels.data?.tags ?? [],
    /** Undefined until the first page or a failure is there. */
    images: images.isPending
      ? undefined
      : (images.data?.pages ?? []).flatMap((page) => page.data.flatMap(({ metadata }) => metadata ?? [])),
    more: {
      hasMore: images.hasNextPage,
      isLoadingMore: images.isFetchingNextPage,
      showMore: (): void => {
        if (images.hasNextPage && !images.isFetchingNextPage) void images.fetchNextPage();
      },
    },
    error: list.error ?? images.error,
    refresh: (): void => {
      for (const query of [count, tags, labels, images, list]) void query.refetch();
      for (const name of ['label-counts', 'labelled']) void queries.invalidateQueries({ queryKey: [name] });
    },
  };
}
