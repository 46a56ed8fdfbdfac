import type { ConnectRouter } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Clock } from '@platform/kit';
import type { Secrets } from '../access/secrets.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import type { Addresses } from '../wire/base-url.ts';
import { binaryDeletionCalls, boxCalls, datasetMemberCalls, tagCalls } from './binary-edit-calls.ts';
import { binaryLinkCalls, binaryReadCalls, labelListCalls } from './binary-read-calls.ts';
import { sequenceDatasetCalls, sequenceEditCalls, sequenceReadCalls } from './sequence-calls.ts';
import { readingDeletionCalls, readingPageCalls, readingSeriesCalls } from './tabular-calls.ts';

type DataDeps = { db: Database; blobs: BlobStore; clock: Clock; addresses: Addresses; secrets: Secrets };

export const dataRoutes =
  (deps: DataDeps) =>
  (router: ConnectRouter): void => {
    router.service(DataService, {
      ...binaryReadCalls(deps),
      ...binaryLinkCalls(deps),
      ...binaryDeletionCalls(deps),
      ...labelListCalls(deps),
      ...tagCalls(deps),
      ...boxCalls(deps),
      ...datasetMemberCalls(deps),
      ...sequenceReadCalls(deps),
      ...sequenceEditCalls(deps),
      ...sequenceDatasetCalls(deps),
      ...readingPageCalls(deps),
      ...readingSeriesCalls(deps),
      ...readingDeletionCalls(deps),
    });
  };
