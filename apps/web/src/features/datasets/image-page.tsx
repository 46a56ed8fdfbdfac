import { useQuery } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryDataByFilterResponse } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useQueryClient } from '@tanstack/react-query';
import type { InfiniteData } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { BackLink } from '../../ui/layout.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { ImageEditor } from './image-editor.tsx';
import { isolateText } from '../../ui/user-text.ts';

const route = getRouteApi('/datasets/$datasetId/image');

/** One image of a dataset, with its editable labels and boxes. */
export function ImagePage() {
  const { datasetId } = route.useParams();
  const { id } = route.useSearch();
  const query = useQuery(DataService.method.binaryDataByIDs, { binaryDataIds: [id] }, { staleTime: 0, gcTime: 0 });
  const metadata = query.data?.data[0]?.metadata;
  const name = metadata?.fileName || 'Image';
  return (
    <div className="page">
      <title>{`${isolateText(name)} · Platform`}</title>
      <div className="page-head">
        <div>
          <BackLink to="/datasets/$datasetId" params={{ datasetId }}>
            Dataset
          </BackLink>
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
            to="/datasets/$datasetId/image"
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
