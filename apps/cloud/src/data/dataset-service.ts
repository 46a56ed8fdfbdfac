import { randomUUID } from 'node:crypto';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { DatasetService, DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { type Caller, isReader, memberships, requireMember, requireReader } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { type DataPlace, datasetToken, pageOf, readDatasetToken } from '../rpc/rules/page-tokens.ts';
import type { Addresses } from '../wire/base-url.ts';
import { sequenceExportCalls } from './sequence-exports.ts';
import {
  createDataset,
  type Dataset,
  datasetsOf,
  deleteDataset,
  findDataset,
  findDatasets,
  mergeDatasets,
  renameDataset,
} from './store/datasets.ts';

const typeNames: Readonly<Record<Dataset['type'], DatasetType>> = {
  binary_data: DatasetType.BINARY_DATA,
  sequence_data: DatasetType.SEQUENCE_DATA,
};
const typeName = (type: DatasetType): Dataset['type'] =>
  type === DatasetType.SEQUENCE_DATA ? 'sequence_data' : 'binary_data';

const message = (row: Dataset) => ({
  id: row.id,
  name: row.name,
  organizationId: row.orgId,
  timeCreated: timeOf(row.createdOn),
  type: typeNames[row.type],
});

const moreAfter = (next: DataPlace | undefined) => ({
  truncated: next !== undefined,
  nextPageToken: next ? datasetToken(next) : '',
});
/** The script of a job may list only its dataset. */
const mayList = (caller: Caller, { id }: Dataset): boolean => caller.kind !== 'script' || caller.datasetId === id;

/** @throws PlatformError DATASET_NOT_FOUND, PERMISSION_DENIED */
async function ownDataset(db: Database, id: string, caller: Caller): Promise<Dataset> {
  const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId: id });
  const dataset = await findDataset(db, id);
  if (!dataset) throw absent();
  requireMember(caller, dataset.orgId, absent);
  return dataset;
}

/** Calls that list datasets. */
const listCalls = ({ db }: { db: Database }) =>
  ({
    async listDatasetsByOrganizationID({ organizationId, type, pageSize, pageToken }, context) {
      const caller = callerOf(context);
      const page = pageOf({ pageSize, pageToken }, readDatasetToken);
      requireReader(caller, check.filled('organization_id', organizationId));
      const of = { ...(type !== undefined && { type: typeName(type) }), ...page };
      const { rows, next } = await datasetsOf(db, [organizationId], of);
      return { datasets: rows.filter((row) => mayList(caller, row)).map(message), ...moreAfter(next) };
    },

    // A public command-line tool sends no IDs to list everything that the key may see.
    async listDatasetsByIDs({ ids, pageSize, pageToken }, context) {
      const caller = callerOf(context);
      const page = pageOf({ pageSize, pageToken }, readDatasetToken);
      const orgIds = [...new Set(memberships(caller).map(({ orgId }) => orgId))];
      const { rows, next } =
        ids.length > 0 ? { rows: await findDatasets(db, ids), next: undefined } : await datasetsOf(db, orgIds, page);
      const listed = rows.filter((row) => isReader(caller, row.orgId) && mayList(caller, row));
      return { datasets: listed.map(message), ...moreAfter(next) };
    },
  }) satisfies Partial<ServiceImpl<typeof DatasetService>>;

/** Calls that create, rename and delete a dataset. */
const editCalls = ({ db, clock }: { db: Database; clock: Clock }) =>
  ({
    async createDataset({ name, organizationId, type }, context) {
      requireMember(callerOf(context), check.filled('organization_id', organizationId));
      const dataset: Dataset = {
        orgId: organizationId,
        id: randomUUID(),
        name: check.nameBesideId('name', name),
        type: typeName(type ?? DatasetType.BINARY_DATA),
        createdOn: clock.wall(),
      };
      await createDataset(db, dataset);
      return { id: dataset.id };
    },

    async deleteDataset({ id }, context) {
      const caller = callerOf(context);
      await deleteDataset(db, await ownDataset(db, id, caller), caller);
      return {};
    },

    async renameDataset({ id, name }, context) {
      const dataset = await ownDataset(db, id, callerOf(context));
      await renameDataset(db, dataset, check.nameBesideId('name', name));
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof DatasetService>>;

const mergeCalls = ({ db, clock }: { db: Database; clock: Clock }) =>
  ({
    async mergeDatasets({ datasetIds, name, organizationId }, context) {
      const caller = callerOf(context);
      requireMember(caller, check.filled('organization_id', organizationId));
      const sources: Dataset[] = [];
      for (const id of datasetIds) sources.push(await ownDataset(db, id, caller));
      const type = requireMergeable(sources, organizationId);
      const merged: Dataset = {
        orgId: organizationId,
        id: randomUUID(),
        name: check.nameBesideId('name', name),
        type,
        createdOn: clock.wall(),
      };
      await mergeDatasets(db, merged, sources);
      return { datasetId: merged.id };
    },
  }) satisfies Partial<ServiceImpl<typeof DatasetService>>;

/**
 * Checks that the datasets are of one organization and one type.
 *
 * @returns their type
 * @throws PlatformError INVALID_ARGUMENT, DATASET_NOT_FOUND, DATASET_TYPE_MISMATCH
 */
function requireMergeable(sources: readonly Dataset[], orgId: string): Dataset['type'] {
  const [first] = sources;
  if (!first) {
    const limit = 'it must not be empty';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'dataset_ids', value: '', limit });
  }
  const foreign = sources.find((dataset) => dataset.orgId !== orgId);
  if (foreign) throw new PlatformError('DATASET_NOT_FOUND', { datasetId: foreign.id });
  const mixed = sources.find((dataset) => dataset.type !== first.type);
  if (!mixed) return first.type;
  throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId: mixed.id, type: mixed.type, wanted: first.type });
}

export const datasetRoutes =
  (deps: { db: Database; clock: Clock; addresses: Addresses; secrets: Secrets }) =>
  (router: ConnectRouter): void => {
    router.service(DatasetService, {
      ...listCalls(deps),
      ...editCalls(deps),
      ...mergeCalls(deps),
      ...sequenceExportCalls(deps),
    });
  };
