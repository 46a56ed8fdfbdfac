import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { boundedList } from '../../database/bounded-list.ts';
import { type Database, atUs } from '../../database/database.ts';
import type { Tables } from '../../database/schema.ts';
import type { ImageContent } from '../../images/rules/image-content.ts';
import { type Bounded, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { DataPlace } from '../../rpc/rules/page-tokens.ts';
import { groupTagPrefix, splitTagNames } from '../rules/dataset-rules.ts';
import type { DatasetImage } from '../rules/manifest.ts';

/** A datum with all of its metadata. Times in µs since 1970, because clients send and compare µs. */
export type Datum = DatasetImage & {
  machineName: string;
  partName: string;
  componentType: string;
  methodName: string;
  methodParameters: { [key: string]: unknown } | null;
  mimeType: string;
  timeReceivedUs: number;
  datasetIds: string[];
  /** Null: not measured yet. */
  imageKind: ImageContent['kind'] | null;
  /** Media type by content, of an image. */
  imageType: string | null;
  imageWidth: number | null;
  imageHeight: number | null;
};

/** A datum whose classifications have IDs, as in the public protocol. */
export type FullDatum = Omit<Datum, 'classifications'> & {
  classifications: readonly { id: string; label: string; confidence: number | null }[];
};

/** Identity of a datum. The location is part of the public ID, but identifies nothing. */
export type DatumKey = { orgId: string; id: string };

const us = (column: 'time_requested' | 'time_received'): RawBuilder<number> =>
  sql<number>`(extract(epoch from ${sql.ref(`binary_data.${column}`)}) * 1000000)::bigint`;

/** Boxes, classifications and datasets as JSON columns: one statement for any number of rows. */
const columns = (eb: ExpressionBuilder<Tables, 'binaryData'>) =>
  [
    eb.ref('binaryData.orgId').as('orgId'),
    eb.ref('binaryData.id').as('id'),
    eb.ref('binaryData.locationId').as('locationId'),
    eb.ref('binaryData.machineId').as('machineId'),
    eb.ref('binaryData.machineName').as('machineName'),
    eb.ref('binaryData.partId').as('partId'),
    eb.ref('binaryData.partName').as('partName'),
    eb.ref('binaryData.sha256').as('sha256'),
    eb.ref('binaryData.sizeBytes').as('sizeBytes'),
    eb.ref('binaryData.fileName').as('fileName'),
    eb.ref('binaryData.fileExt').as('fileExt'),
    eb.ref('binaryData.mimeType').as('mimeType'),
    eb.ref('binaryData.componentType').as('componentType'),
    eb.ref('binaryData.componentName').as('componentName'),
    eb.ref('binaryData.methodName').as('methodName'),
    eb.ref('binaryData.methodParameters').as('methodParameters'),
    eb.ref('binaryData.tags').as('tags'),
    eb.ref('binaryData.imageKind').as('imageKind'),
    eb.ref('binaryData.imageType').as('imageType'),
    eb.ref('binaryData.imageWidth').as('imageWidth'),
    eb.ref('binaryData.imageHeight').as('imageHeight'),
    eb.ref('binaryData.imageUsedBits').as('imageUsedBits'),
    eb.ref('binaryData.imageProblem').as('imageProblem'),
    'binaryData.captureTags',
    us('time_requested').as('timeRequestedUs'),
    us('time_received').as('timeReceivedUs'),
    sql<DatasetImage['boxes']>`(select coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'label', b.label,
        'xMin', b.x_min, 'yMin', b.y_min, 'xMax', b.x_max, 'yMax', b.y_max, 'confidence', b.confidence) order by b.ordinal), '[]')
      from bounding_box b where b.org_id = binary_data.org_id and b.binary_id = binary_data.id)`.as('boxes'),
    sql<(DatasetImage['classifications'][number] & { id: string })[]>`(select coalesce(jsonb_agg(
        jsonb_build_object('id', c.id, 'label', c.label, 'confidence', c.confidence) order by c.ordinal), '[]')
      from classification c where c.org_id = binary_data.org_id and c.binary_id = binary_data.id)`.as(
      'classifications',
    ),
    sql<string[]>`(select coalesce(jsonb_agg(m.dataset_id order by m.dataset_id), '[]')
      from dataset_member m where m.org_id = binary_data.org_id and m.binary_id = binary_data.id)`.as('datasetIds'),
  ] as const;

/** Selects all columns of data, one row each. */
export const data = (db: Database) => db.selectFrom('binaryData').select(columns);

const isOneOf = (keys: readonly DatumKey[]) =>
  sql<boolean>`(binary_data.org_id, binary_data.id) in (select * from unnest(
    ${keys.map((key) => key.orgId)}::uuid[], ${keys.map((key) => key.id)}::uuid[]))`;

/** Data in any order; unknown keys are omitted. */
export const findData = async (db: Database, keys: readonly DatumKey[]): Promise<FullDatum[]> =>
  keys.length === 0 ? [] : data(db).where(isOneOf(keys)).execute();

/** The existing keys, in any order. */
export const findKeys = async (db: Database, keys: readonly DatumKey[]): Promise<DatumKey[]> =>
  keys.length === 0
    ? []
    : db.selectFrom('binaryData').select(['binaryData.orgId', 'binaryData.id']).where(isOneOf(keys)).execute();

/** AND of all conditions, OR within a list. An empty list does not restrict. */
export type Filter = {
  /** Always set: the organizations that the caller may access. */
  orgIds: readonly string[];
  locationIds: readonly string[];
  mimeTypes: readonly string[];
  boxLabels: readonly string[];
  machineName: string;
  machineId: string;
  partName: string;
  partId: string;
  componentName: string;
  componentType: string;
  methodName: string;
  datasetId: string;
  /** The caller may only read this dataset. '': no limit. */
  withinDatasetId: string;
  tags: { is: 'any' } | { is: 'one-of'; tags: readonly string[] } | { is: 'tagged' } | { is: 'untagged' };
  /** `tags` matches labels: no capture tags and no split tags, but classifications. */
  isLabelsOnly: boolean;
  /** µs since 1970; `untilUs` is exclusive. */
  fromUs: number | undefined;
  untilUs: number | undefined;
};

function condition(filter: Filter): RawBuilder<boolean> {
  const parts = [sql<boolean>`binary_data.org_id = any(${filter.orgIds}::uuid[])`];
  const oneOf = (column: RawBuilder<unknown>, values: readonly string[]) => {
    if (values.length > 0) parts.push(sql`${column} = any(${values}::text[])`);
  };
  const equal = (column: RawBuilder<unknown>, value: string) => {
    if (value) parts.push(sql`${column} = ${value}`);
  };
  oneOf(sql`binary_data.location_id`, filter.locationIds);
  oneOf(sql`binary_data.mime_type`, filter.mimeTypes);
  equal(sql`binary_data.machine_name`, filter.machineName);
  equal(sql`binary_data.machine_id::text`, filter.machineId.toLowerCase());
  equal(sql`binary_data.part_name`, filter.partName);
  equal(sql`binary_data.part_id::text`, filter.partId.toLowerCase());
  equal(sql`binary_data.component_name`, filter.componentName);
  equal(sql`binary_data.component_type`, filter.componentType);
  equal(sql`binary_data.method_name`, filter.methodName);
  if (filter.boxLabels.length > 0) {
    parts.push(sql`exists (select from bounding_box b where b.org_id = binary_data.org_id
      and b.binary_id = binary_data.id and b.label = any(${filter.boxLabels}::text[]))`);
  }
  for (const datasetId of [filter.datasetId, filter.withinDatasetId]) {
    if (datasetId === '') continue;
    parts.push(sql`exists (select from dataset_member m where m.org_id = binary_data.org_id
      and m.binary_id = binary_data.id and m.dataset_id::text = ${datasetId.toLowerCase()})`);
  }
  if (filter.tags.is !== 'any') parts.push(filter.isLabelsOnly ? withLabels(filter.tags) : withTags(filter.tags));
  if (filter.fromUs !== undefined) parts.push(sql`binary_data.time_requested >= ${atUs(filter.fromUs)}`);
  if (filter.untilUs !== undefined) parts.push(sql`binary_data.time_requested < ${atUs(filter.untilUs)}`);
  return sql<boolean>`(${sql.join(parts, sql` and `)})`;
}

type TagsCondition = Exclude<Filter['tags'], { is: 'any' }>;

function withTags(tags: TagsCondition): RawBuilder<boolean> {
  if (tags.is === 'one-of') return sql`binary_data.tags && ${tags.tags}::text[]`;
  return tags.is === 'tagged' ? sql`cardinality(binary_data.tags) > 0` : sql`cardinality(binary_data.tags) = 0`;
}

const isLabelTag = sql`tag <> all(coalesce(binary_data.capture_tags, '{}')) and tag <> all(${splitTagNames}::text[])
  and not starts_with(tag, ${groupTagPrefix})`;
/** Every label of an image, one row each, like `labelsOf` of the rules. */
const labelRows = sql`select tag as label from unnest(binary_data.tags) tag where ${isLabelTag}
  union all select c.label from classification c where c.org_id = binary_data.org_id and c.binary_id = binary_data.id
    and c.label <> all(${splitTagNames}::text[]) and not starts_with(c.label, ${groupTagPrefix})`;

function withLabels(tags: TagsCondition): RawBuilder<boolean> {
  if (tags.is === 'one-of')
    return sql`exists (select from (${labelRows}) named where label = any(${tags.tags}::text[]))`;
  return tags.is === 'tagged' ? sql`exists (${labelRows})` : sql`not exists (${labelRows})`;
}

export const pageOfData = (
  db: Database,
  filter: Filter,
  page: { after: DataPlace | undefined; isAscending: boolean; limit: number },
): Promise<FullDatum[]> => {
  const order = sql.raw(page.isAscending ? 'asc' : 'desc');
  const beyond = sql.raw(page.isAscending ? '>' : '<');
  const matching = data(db).where(condition(filter));
  const rest = page.after
    ? matching.where(
        sql<boolean>`(binary_data.time_requested, binary_data.id) ${beyond} (${atUs(page.after.us)}, ${page.after.id}::uuid)`,
      )
    : matching;
  return rest
    .orderBy(sql`binary_data.time_requested ${order}`)
    .orderBy(sql`binary_data.id ${order}`)
    .limit(page.limit)
    .execute();
};

export const countData = async (db: Database, filter: Filter): Promise<{ count: number; sizeBytes: number }> =>
  db
    .selectFrom('binaryData')
    .select([
      sql<number>`count(*)::bigint`.as('count'),
      sql<number>`coalesce(sum(size_bytes), 0)::bigint`.as('sizeBytes'),
    ])
    .where(condition(filter))
    .executeTakeFirstOrThrow();

/** Keys of all matching data. */
export const matchingKeys = (db: Database, filter: Filter): Promise<DatumKey[]> =>
  db.selectFrom('binaryData').select(['binaryData.orgId', 'binaryData.id']).where(condition(filter)).execute();

const wordBounds = { ...wholeAnswer, atOnce: 2_000 };
const wordsOf = async (db: Database, query: RawBuilder<{ word: string }>): Promise<Bounded<string>> => {
  const { rows, isCut } = await boundedList(db, query, wordBounds);
  return { rows: rows.map(({ word }) => word), isCut };
};

/** Distinct tags after this one, sorted. */
export const tagsOf = (db: Database, filter: Filter, after: string): Promise<Bounded<string>> =>
  wordsOf(
    db,
    sql`select tag word from binary_data, unnest(tags) tag
      where ${condition(filter)} and (${after}::text = '' or tag collate "C" > ${after}) group by tag order by tag collate "C"`,
  );

/** Distinct labels of images after this one, sorted; the labels that training uses. */
export const labelsOfData = (db: Database, filter: Filter, after: string): Promise<Bounded<string>> =>
  wordsOf(
    db,
    sql`select named.label word from binary_data, lateral (${labelRows}) named
      where ${condition(filter)} and (${after}::text = '' or named.label collate "C" > ${after})
      group by named.label order by named.label collate "C"`,
  );

/** Distinct labels of boxes after this one, sorted. */
export const boxLabelsOf = (db: Database, filter: Filter, after: string): Promise<Bounded<string>> =>
  wordsOf(
    db,
    sql`select box.label word from binary_data join bounding_box box
        on box.org_id = binary_data.org_id and box.binary_id = binary_data.id
      where ${condition(filter)} and (${after}::text = '' or box.label collate "C" > ${after}) group by box.label order by box.label collate "C"`,
  );
