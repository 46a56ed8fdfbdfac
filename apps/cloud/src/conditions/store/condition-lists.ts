import { type RawBuilder, sql } from 'kysely';
import { isUuid } from '@platform/contract/text/names';
import type { Reach } from '../../access/rules/permissions.ts';
import { at, type Database } from '../../database/database.ts';
import { type Bounded, boundsOf, readBounded } from '../../rpc/rules/answer-bounds.ts';
import type { SeverityNumber, SubjectKind } from '../rules/condition.ts';

/** What a caller sees of an organization. */
export interface ConditionScope {
  readonly orgId: string;
  readonly reach: Reach;
  /** Whether the caller may know how the server is. */
  readonly hasServer: boolean;
  /** ms since 1970: mutes count until then. */
  readonly now: number;
}

export interface ConditionFilter {
  readonly state: 'open' | 'muted' | 'ended';
  readonly severities: readonly number[];
  readonly subjects: readonly SubjectKind[];
  readonly code: string;
  /** ID of a machine or of its main part; empty: any. */
  readonly machineId: string;
  readonly containing: string;
}

export interface ListedCondition {
  readonly id: string;
  readonly orgId: string | null;
  readonly code: string;
  readonly severity: SeverityNumber;
  readonly subject: SubjectKind;
  readonly subjectId: string;
  readonly subjectName: string;
  readonly place: string;
  readonly message: string;
  readonly remedy: string;
  readonly beganOn: number;
  readonly endedOn: number | null;
  readonly partId: string | null;
  readonly lastSeen: number | null;
  readonly reportedOn: number | null;
  readonly muteId: string | null;
  readonly reason: string | null;
  readonly mutedBy: string | null;
  readonly mutedOn: number | null;
  readonly until: number | null;
  readonly isOfAll: boolean | null;
}

/** The machines that a caller may see of an organization that is not the caller's as a whole. */
const inReach = ({ orgId, reach }: ConditionScope): RawBuilder<boolean> =>
  reach.orgIds.includes(orgId)
    ? sql`true`
    : sql`one.machine_id in (select id from machine
        where location_id = any(${reach.locationIds}::text[]) or id::text = any(${reach.machineIds}::text[]))`;

const scoped = (scope: ConditionScope): RawBuilder<boolean> =>
  sql`((one.org_id = ${scope.orgId}::uuid and ${inReach(scope)}) or (one.org_id is null and ${scope.hasServer}::boolean))`;

/** Both joins compare for equality, so that the database need not try each mute for each condition. */
const muteJoins = (scope: ConditionScope): RawBuilder<unknown> => sql`
    left join condition_mute own on own.code = one.code and own.subject = one.subject and own.subject_id = one.subject_id
      and own.place = one.place and own.org_id is not distinct from one.org_id and own.until > ${at(scope.now)}
    left join condition_mute wide on wide.code = one.code and wide.subject = one.subject and wide.subject_id is null
      and wide.org_id is not distinct from one.org_id and wide.until > ${at(scope.now)}`;

const isMuted = sql<boolean>`(coalesce(own.id, wide.id) is not null)`;

/** Conditions with the mute that holds, and the machine's contact. */
const readByIds = (db: Database, scope: ConditionScope, ids: readonly string[]) =>
  sql<ListedCondition>`
  select one.*, part.id as part_id, part.last_seen, part.reported_on, coalesce(own.id, wide.id) as mute_id,
         coalesce(own.reason, wide.reason) as reason, coalesce(own.muted_by, wide.muted_by) as muted_by,
         coalesce(own.muted_on, wide.muted_on) as muted_on, coalesce(own.until, wide.until) as until,
         own.id is null and wide.id is not null as is_of_all
    from condition_record one
    left join part on part.machine_id = one.machine_id and part.is_main
    ${muteJoins(scope)}
   where one.id = any(${[...ids]}::uuid[])`.execute(db);

/** Normalizing takes most of the time of a search, and changes nothing in ASCII. */
const folded = (text: RawBuilder<string>): RawBuilder<string> => sql`(
  select lower(case when octet_length(raw) = length(raw) then raw else normalize(raw, NFKC) end) from (values (${text})) of(raw))`;

/** A machine by its ID or by that of its main part. */
const ofMachine = (id: string): RawBuilder<boolean> =>
  isUuid(id)
    ? sql`one.machine_id in (select ${id}::uuid union all
        select machine_id from part where is_main and id = ${id}::uuid)`
    : sql`false`;

const chosen = (filter: ConditionFilter): RawBuilder<boolean> => {
  const { state, severities, subjects, code, machineId, containing } = filter;
  const terms = [
    state === 'ended' ? sql`one.ended_on is not null` : sql`one.ended_on is null`,
    ...(state === 'ended' ? [] : [state === 'muted' ? isMuted : sql`not ${isMuted}`]),
    ...(severities.length === 0 ? [] : [sql`one.severity = any(${severities}::int[])`]),
    ...(subjects.length === 0 ? [] : [sql`one.subject = any(${subjects}::text[])`]),
    ...(code === '' ? [] : [sql`one.code = ${code}`]),
    ...(machineId === '' ? [] : [ofMachine(machineId)]),
    ...(containing === ''
      ? []
      : [
          sql`position(${folded(sql`${containing}::text`)} in
            ${folded(sql`concat_ws(chr(10), one.subject_name, one.code, one.message)`)}) > 0`,
        ]),
  ];
  return sql<boolean>`(${sql.join(terms, sql` and `)})`;
};

const orders = {
  open: sql`severity desc, began_on desc, id`,
  muted: sql`until, severity desc, id`,
  ended: sql`ended_on desc, id`,
} as const satisfies Record<ConditionFilter['state'], unknown>;

export interface SeverityCounts {
  readonly errors: number;
  readonly warnings: number;
  readonly notes: number;
}

/** A page of conditions, and the numbers of all that match, in one pass over those that the caller may see. */
export async function listConditions(
  db: Database,
  scope: ConditionScope,
  filter: ConditionFilter,
  { skip, size }: { skip: number; size: number },
): Promise<Bounded<ListedCondition> & { counts: SeverityCounts }> {
  const order = orders[filter.state];
  const { rows: found } = await sql<SeverityCounts & { id: string | null }>`
    with matching as materialized (
      select one.id, one.severity, one.began_on, one.ended_on, coalesce(own.until, wide.until) as until
        from condition_record one ${muteJoins(scope)} where ${scoped(scope)} and ${chosen(filter)}),
    page as (select id, row_number() over (order by ${order}) as nth from matching order by ${order}
      limit ${size + 1} offset ${skip}),
    counted as (select ${severityCounts} from matching)
    select page.id, counted.* from counted left join page on true order by page.nth`.execute(db);
  const ids = found.flatMap(({ id }) => id ?? []);
  const bounds = { ...boundsOf(size), atOnce: size + 1 };
  const { rows, isCut } = await readBounded<ListedCondition>(bounds, async (last) =>
    last === undefined ? inOrder((await readByIds(db, scope, ids)).rows, ids) : [],
  );
  return { rows, isCut: isCut || ids.length > size, counts: found[0] ?? { errors: 0, warnings: 0, notes: 0 } };
}

/** Without those that were deleted meanwhile. */
function inOrder<T extends { id: string }>(rows: readonly T[], ids: readonly string[]): T[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

const severityCounts = sql`(count(*) filter (where severity = 3))::int as errors,
  (count(*) filter (where severity = 2))::int as warnings, (count(*) filter (where severity = 1))::int as notes`;

export interface GroupedCondition extends ListedCondition {
  readonly count: number;
  readonly worst: SeverityNumber;
  readonly oldest: number;
  readonly newest: number;
}

const mostExamples = 3;

/** The worst open conditions of a group that has a rank. */
const examples = (scope: ConditionScope, ofGroup: RawBuilder<boolean>): RawBuilder<unknown> => sql`
  (select one.id, one.severity, one.began_on from condition_record one ${muteJoins(scope)}
    where one.ended_on is null and ${ofGroup} and one.code = ranked.code and one.subject = ranked.subject and not ${isMuted}
    order by one.severity desc, one.began_on desc, one.id limit ${mostExamples})`;

/** Open conditions of the worst groups, each with its worst examples; and the numbers of all. */
export async function groupConditions(db: Database, scope: ConditionScope, mostGroups: number) {
  const { rows } = await sql<PlacedCondition>`
    with grouped as materialized (
      select org_id, code, subject, (count(*) filter (where not is_muted))::int as count,
             max(severity) filter (where not is_muted) as worst, min(began_on) filter (where not is_muted) as oldest,
             max(began_on) filter (where not is_muted) as newest,
             count(*) filter (where severity = 3 and not is_muted) as errors,
             count(*) filter (where severity = 2 and not is_muted) as warnings,
             count(*) filter (where severity = 1 and not is_muted) as notes, count(*) filter (where is_muted) as muted
        from (select one.org_id, one.code, one.subject, one.severity, one.began_on, ${isMuted} as is_muted
                from condition_record one ${muteJoins(scope)} where one.ended_on is null and ${scoped(scope)}) open
       group by org_id, code, subject),
    counted as (
      select coalesce(sum(errors), 0)::int as errors, coalesce(sum(warnings), 0)::int as warnings,
             coalesce(sum(notes), 0)::int as notes, coalesce(sum(muted), 0)::int as muted from grouped),
    ranked as (
      select *, row_number() over (order by worst desc, count desc, newest desc, code) as rank,
             (count(*) over ())::int as groups from grouped where count > 0)
    select example.id, ranked.count, ranked.worst, ranked.oldest, ranked.newest, ranked.groups, counted.*
      from counted left join (select * from ranked where rank <= ${mostGroups}) ranked on true
      left join lateral (${examples(scope, sql`one.org_id = ranked.org_id and ${inReach(scope)}`)}
        union all ${examples(scope, sql`ranked.org_id is null and one.org_id is null`)}) example on true
     order by ranked.rank, example.severity desc, example.began_on desc, example.id`.execute(db);
  const found = await readByIds(
    db,
    scope,
    rows.flatMap(({ id }) => id ?? []),
  );
  const byId = new Map(found.rows.map((one) => [one.id, one]));
  return {
    // One that was deleted meanwhile is left out.
    rows: rows.flatMap(({ id, ...group }) => {
      const one = byId.get(id ?? '');
      return one ? [{ ...one, ...group }] : [];
    }),
    counts: rows[0] ?? { errors: 0, warnings: 0, notes: 0, muted: 0 },
  };
}

type PlacedCondition = Pick<GroupedCondition, 'count' | 'worst' | 'oldest' | 'newest'> &
  SeverityCounts & { id: string | null; groups: number; muted: number };

/** Hours since then in which conditions of machines, jobs and runners of an organization began. */
export async function conditionHours(
  db: Database,
  orgId: string,
  since: number,
): Promise<{ start: number; errors: number; warnings: number }[]> {
  const { rows } = await sql<{ start: number; errors: number; warnings: number }>`
    select date_bin('1 hour', began_on, 'epoch'::timestamptz) as start,
           (count(*) filter (where severity = 3))::int as errors, (count(*) filter (where severity = 2))::int as warnings
      from condition_record where org_id = ${orgId}::uuid and began_on >= ${at(since)} and severity > 1
     group by 1 order by 1`.execute(db);
  return rows;
}
