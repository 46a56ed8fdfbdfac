import { create } from '@bufbuild/protobuf';
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';

type Page = { nextPageToken: string };

/** Query key of every paged list of a method, for refetching them. */
export const pagesKey = ({ parent, name }: DescMethodUnary): readonly string[] => ['pages', parent.typeName, name];

export interface PagedList<A> {
  /** The pages so far; undefined before the first one. */
  pages: readonly A[] | undefined;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  showMore: () => void;
}

/** A list whose answers name the next page. */
export function usePagedList<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  requestOf: (pageToken: string) => MessageInitShape<I>,
  { refreshMs, isWhole = false }: { refreshMs?: number; isWhole?: boolean } = {},
): PagedList<MessageShape<O>> {
  const transport = useTransport();
  const list = useInfiniteQuery({
    queryKey: [...pagesKey(method), JSON.stringify(requestOf(''))],
    initialPageParam: '',
    ...(refreshMs !== undefined && { refetchInterval: refreshMs }),
    queryFn: ({ pageParam, signal }) =>
      callUnaryMethod(transport, method, create(method.input, requestOf(pageParam)), { signal }),
    getNextPageParam: (page) => (page as unknown as Page).nextPageToken || undefined,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = list;
  useEffect(() => {
    if (isWhole && hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [isWhole, hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  return {
    pages: list.data?.pages,
    error: list.error,
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    showMore: () => void fetchNextPage(),
  };
}

/** @param text - the text of the button, for example "Show more datasets". */
export const ShowMore = ({ list, text }: { list: Omit<PagedList<unknown>, 'pages' | 'error'>; text: string }) =>
  list.hasMore && (
    <div className="row">
      <button type="button" className="button" disabled={list.isLoadingMore} onClick={list.showMore}>
        {list.isLoadingMore ? 'Loading …' : text}
      </button>
    </div>
  );
