import { PlatformError } from '@platform/contract/errors/errors';
import {
  type BinaryID,
  type Filter as SentFilter,
  type TagsFilter,
  TagsFilterType,
} from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { binaryDataId, parseBinaryDataId } from './rules/manifest.ts';
import {
  type Caller,
  isMember,
  isReader,
  memberships,
  requireMember,
  requireReader,
} from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import { type DatumKey, type Filter, findKeys } from './store/binary-data.ts';
import { microsecondsOf } from '../rpc/protobuf-times.ts';

/** Purpose of the access, which decides the required right. */
export type Purpose = 'read' | 'change';
const requireFor = { read: requireReader, change: requireMember } as const;
const mayFor = { read: isReader, change: isMember } as const;

/**
 * Converts a filter and limits it to the organizations that the caller may access.
 *
 * @throws PlatformError ORGANIZATION_NOT_FOUND, PERMISSION_DENIED
 */
export function readFilter(sent: SentFilter | undefined, caller: Caller, to: Purpose): Filter {
  const named = sent?.organizationIds ?? [];
  for (const orgId of named) requireFor[to](caller, orgId);
  const all = memberships(caller).map(({ orgId }) => orgId);
  const orgIds = named.length > 0 ? named : [...new Set(all)].filter((orgId) => mayFor[to](caller, orgId));
  if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'captured data' });
  return {
    orgIds,
    locationIds: sent?.locationIds ?? [],
    mimeTypes: sent?.mimeType ?? [],
    boxLabels: sent?.bboxLabels ?? [],
    machineName: sent?.robotName ?? '',
    machineId: sent?.robotId ?? '',
    partName: sent?.partName ?? '',
    partId: sent?.partId ?? '',
    componentName: sent?.componentName ?? '',
    componentType: sent?.componentType ?? '',
    methodName: sent?.method ?? '',
    datasetId: sent?.datasetId ?? '',
    withinDatasetId: caller.kind === 'script' ? caller.datasetId : '',
    tags: tagsCondition(sent?.tagsFilter),
    isLabelsOnly: sent?.tagsFilter?.labelsOnly ?? false,
    fromUs: sent?.interval?.start ? microsecondsOf(sent.interval.start) : undefined,
    untilUs: sent?.interval?.end ? microsecondsOf(sent.interval.end) : undefined,
  };
}

/**
 * Rejects a filter that only names organizations: a client that omitted its conditions must not delete everything.
 *
 * @throws PlatformError FILTER_EMPTY
 */
export function refuseEmpty({ tags, ...others }: Filter): void {
  const conditions = Object.entries(others).filter(([key, value]) => {
    if (key === 'orgIds' || typeof value === 'boolean') return false;
    return typeof value === 'object' ? value.length > 0 : value !== undefined && value !== '';
  });
  if (tags.is === 'any' && conditions.length === 0) throw new PlatformError('FILTER_EMPTY', {});
}

function tagsCondition(sent: TagsFilter | undefined): Filter['tags'] {
  switch (sent?.type) {
    case TagsFilterType.TAGGED:
      return { is: 'tagged' };
    case TagsFilterType.UNTAGGED:
      return { is: 'untagged' };
    default:
      // Tags without a filter type mean the same: any one of them.
      return sent && sent.tags.length > 0 ? { is: 'one-of', tags: sent.tags } : { is: 'any' };
  }
}

export type NamedDatum = DatumKey & { binaryDataId: string };

const absent = (id: string) => (): PlatformError => new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: id });

/**
 * The data that a call names, in its order: by ID, and by the older ID of three fields.
 *
 * @throws PlatformError BINARY_DATA_NOT_FOUND for a malformed ID or one of another organization; PERMISSION_DENIED
 */
export function namedData(
  ids: readonly string[],
  older: readonly BinaryID[],
  caller: Caller,
  to: Purpose,
): NamedDatum[] {
  const all = [
    ...ids,
    ...older.map((id) => binaryDataId({ orgId: id.organizationId, locationId: id.locationId, id: id.fileId })),
  ];
  return all.map((id) => {
    const key = parseBinaryDataId(id);
    if (!key) throw absent(id)();
    requireFor[to](caller, key.orgId, absent(id));
    return { orgId: key.orgId.toLowerCase(), id: key.id.toLowerCase(), binaryDataId: id };
  });
}

/** Like `namedData`, for one datum. */
export function namedDatum(id: string, older: BinaryID | undefined, caller: Caller): NamedDatum {
  const [datum] = namedData(id === '' ? [] : [id], id === '' && older ? [older] : [], caller, 'change');
  if (!datum)
    throw new PlatformError('INVALID_ARGUMENT', { field: 'binary_data_id', value: '', limit: 'it must not be empty' });
  return datum;
}

/** Whether the caller may read this datum of an organization that it reads: a job's script only reads its dataset. */
export const mayRead = (caller: Caller, { datasetIds }: { datasetIds: readonly string[] }): boolean =>
  caller.kind !== 'script' || datasetIds.includes(caller.datasetId);

/** One datum per key, in the order of `keys`. @throws PlatformError BINARY_DATA_NOT_FOUND if one does not exist. */
export function inOrder<T extends DatumKey>(keys: readonly NamedDatum[], found: readonly T[]): T[] {
  const byId = new Map(found.map((datum) => [datum.id, datum]));
  return keys.map((key) => {
    const datum = byId.get(key.id);
    if (datum?.orgId !== key.orgId) throw absent(key.binaryDataId)();
    return datum;
  });
}

/** The data's keys. Reads only keys, because there may be many. @throws PlatformError BINARY_DATA_NOT_FOUND */
export const existingKeys = async (db: Database, keys: readonly NamedDatum[]): Promise<DatumKey[]> =>
  inOrder(keys, await findKeys(db, keys));
