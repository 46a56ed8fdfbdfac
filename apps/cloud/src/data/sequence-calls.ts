import { randomUUID } from 'node:crypto';
import type { ServiceImpl } from '@connectrpc/connect';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import type { DataService, SequenceResourceFilter } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import { findPart } from '../machines/store/machines.ts';
import { timeOfUs, microsecondsOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { type DataPlace, pageOf, readSequenceToken, sequenceToken } from '../rpc/rules/page-tokens.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';
import { binaryMetadata } from './binary-metadata.ts';
import { type Dataset, findDataset } from './store/datasets.ts';
import {
  addSequences,
  countSequences,
  deleteSequence,
  findSequence,
  insertSequence,
  removeSequences,
  type Sequence,
  sequenceData,
  sequencesOf,
  type StoredSequence,
  updateSequence,
} from './store/sequences.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const usualPage = 100;
const mostResources = 100;
const mostTags = 100;
/** Limit of the sequences that one call adds or removes. */
const mostNamed = 1000;

/** Calls that read sequences, which are time ranges of a machine part's captures. */
export const sequenceReadCalls = (deps: { db: Database; addresses: Addresses }) => {
  const { db } = deps;
  return {
    async getSequence({ id }, context) {
      return { sequence: message(await ownSequence(db, id, callerOf(context))) };
    },

    async listSequences({ organizationId: orgId, ...request }, context) {
      requireMember(callerOf(context), check.filled('organization_id', orgId));
      const { rows, next } = await sequencesOf(db, { orgId }, placed(request));
      return { sequences: rows.map(message), nextPageToken: next ? sequenceToken(next) : '' };
    },

    async getSequenceBinaryData({ sequenceId, ...request }, context) {
      const sequence = await ownSequence(db, sequenceId, callerOf(context));
      const { rows, isCut } = await sequenceData(db, sequence, placed(request));
      const baseUrl = baseUrlOf(deps, context);
      const last = rows.at(-1);
      return {
        data: rows.map((datum) => ({ metadata: binaryMetadata(datum, baseUrl) })),
        nextPageToken: isCut && last ? sequenceToken({ us: last.timeRequestedUs, id: last.id }) : '',
      };
    },
  } satisfies Partial<ServiceImpl<typeof DataService>>;
};

/** Calls that create, change and delete sequences. */
export const sequenceEditCalls = ({ db }: { db: Database }) =>
  ({
    async createSequence({ partId, resources, sequenceTags, startTime, endTime }, context) {
      const caller = callerOf(context);
      const absent = () => new PlatformError('PART_NOT_FOUND', { partId });
      const part = await findPart(db, check.filled('part_id', partId));
      if (!part) throw absent();
      requireMember(caller, part.orgId, absent);
      const id = randomUUID();
      const range = rangeOf(timeUs('start_time', startTime), timeUs('end_time', endTime));
      const of = { ...resourcesOf(resources), tags: tagsOf(sequenceTags), ...range };
      await insertSequence(db, { orgId: part.orgId, id, partId: part.id, ...of });
      return { id };
    },

    async updateSequence({ id, fieldMask, ...sent }, context) {
      const sequence = await ownSequence(db, id, callerOf(context));
      const paths = new Set(fieldMask?.paths);
      const unknown = [...paths].find((path) => !changeable.includes(path));
      if (paths.size === 0 || unknown !== undefined) {
        const limit = `at least one of ${changeable.join(', ')}, and nothing else`;
        throw invalidArgument('field_mask', unknown?.slice(0, 80).toWellFormed() ?? '', limit);
      }
      const change = {
        ...(paths.has('resources') && resourcesOf(sent.resources)),
        ...(paths.has('sequence_tags') && { tags: tagsOf(sent.sequenceTags) }),
        ...(paths.has('start_time') && { startUs: timeUs('start_time', sent.startTime) }),
        ...(paths.has('end_time') && { endUs: timeUs('end_time', sent.endTime) }),
      };
      await updateSequence(db, sequence, (before) => {
        const after = { ...before, ...change };
        return { ...after, ...rangeOf(after.startUs, after.endUs) };
      });
      return {};
    },

    async deleteSequence({ id }, context) {
      const caller = callerOf(context);
      await deleteSequence(db, await ownSequence(db, id, caller), caller);
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls on the datasets of sequences. */
export const sequenceDatasetCalls = ({ db }: { db: Database }) =>
  ({
    async sequencesByDatasetID({ datasetId, countOnly, ...request }, context) {
      const dataset = await sequenceDataset(db, datasetId, callerOf(context));
      const page = placed(request);
      const count = BigInt(await countSequences(db, dataset));
      if (countOnly) return { count };
      const { rows, next } = await sequencesOf(db, { orgId: dataset.orgId, datasetId: dataset.id }, page);
      return { sequences: rows.map(message), nextPageToken: next ? sequenceToken(next) : '', count };
    },

    async addSequencesToDataset({ datasetId, sequenceIds }, context) {
      const dataset = await sequenceDataset(db, datasetId, callerOf(context));
      await addSequences(db, dataset, namedOf(sequenceIds));
      return {};
    },
    async removeSequencesFromDataset({ datasetId, sequenceIds }, context) {
      const dataset = await sequenceDataset(db, datasetId, callerOf(context));
      await removeSequences(db, dataset, namedOf(sequenceIds));
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

const changeable: readonly string[] = ['resources', 'sequence_tags', 'start_time', 'end_time'];

const message = (row: StoredSequence) => ({
  id: row.id,
  partId: row.partId,
  sequenceTags: row.tags,
  createdAt: timeOfUs(row.createdUs),
  updatedAt: timeOfUs(row.updatedUs),
  startTime: timeOfUs(row.startUs),
  endTime: timeOfUs(row.endUs),
  resources: row.resourceNames.map((resourceName, n) => ({ resourceName, methodName: row.methodNames[n] ?? '' })),
  datasetIds: row.datasetIds,
});

/** @throws PlatformError SEQUENCE_NOT_FOUND, PERMISSION_DENIED */
async function ownSequence(db: Database, id: string, caller: Caller): Promise<StoredSequence> {
  const absent = () => new PlatformError('SEQUENCE_NOT_FOUND', { sequenceId: id });
  const sequence = await findSequence(db, id);
  if (!sequence) throw absent();
  requireMember(caller, sequence.orgId, absent);
  return sequence;
}

/** @throws PlatformError DATASET_NOT_FOUND, PERMISSION_DENIED, DATASET_TYPE_MISMATCH */
export async function sequenceDataset(db: Database, id: string, caller: Caller): Promise<Dataset> {
  const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId: id });
  const dataset = await findDataset(db, check.filled('dataset_id', id));
  if (!dataset) throw absent();
  requireMember(caller, dataset.orgId, absent);
  if (dataset.type === 'sequence_data') return dataset;
  throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId: id, type: 'images and files', wanted: 'sequences' });
}

const invalid = (field: string, value: string | number, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });

function placed(request: { pageSize: number; pageToken: string }): { after: DataPlace | undefined; size: number } {
  const { after, size } = pageOf(request, readSequenceToken);
  return { after, size: size || usualPage };
}

function resourcesOf(sent: readonly SequenceResourceFilter[]): Pick<Sequence, 'resourceNames' | 'methodNames'> {
  if (sent.length === 0 || sent.length > mostResources)
    throw invalid('resources', `${sent.length} resources`, `1 to ${mostResources}`);
  const method = (name: string, n: number) => (name === '' ? '' : check.shortText(`resources[${n}].method_name`, name));
  return {
    resourceNames: sent.map(({ resourceName }, n) => check.shortText(`resources[${n}].resource_name`, resourceName)),
    methodNames: sent.map(({ methodName }, n) => method(methodName, n)),
  };
}

function tagsOf(sent: readonly string[]): string[] {
  if (sent.length > mostTags) throw invalid('sequence_tags', `${sent.length} tags`, `at most ${mostTags}`);
  return sent.map((tag, n) => check.newName(`sequence_tags[${n}]`, tag));
}

function namedOf(ids: readonly string[]): readonly string[] {
  if (ids.length > mostNamed) throw invalid('sequence_ids', `${ids.length} ids`, `at most ${mostNamed} in one call`);
  return ids;
}

function timeUs(field: string, time: Timestamp | undefined): number {
  if (!time) throw invalid(field, '', 'it must not be empty');
  return microsecondsOf(time);
}

function rangeOf(startUs: number, endUs: number): Pick<Sequence, 'startUs' | 'endUs'> {
  if (endUs > startUs) return { startUs, endUs };
  throw invalid('end_time', new Date(endUs / 1000).toISOString(), 'it must be after start_time');
}
