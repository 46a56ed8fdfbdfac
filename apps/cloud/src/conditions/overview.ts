import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import {
  type ConditionGroupSchema,
  type FleetNumbersSchema,
  type GetOverviewRequest,
  type GetOverviewResponseSchema as ResponseSchema,
  GetOverviewResponseSchema,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { callerOf } from '../access/caller.ts';
import { isMember } from '../access/rules/permissions.ts';
import { conditionMessage, subjects } from './condition-message.ts';
import { type ConditionDeps, fingerprintOf, scopeOf } from './condition-scope.ts';
import type { OrganizationNumbers } from './rules/fleet-numbers.ts';
import {
  conditionHours,
  type ConditionScope,
  groupConditions,
  type GroupedCondition,
} from './store/condition-lists.ts';
import { readFleetSamples } from './store/fleet-samples.ts';

const mostGroups = 50;
const mostVersions = 8;
const dayMs = 24 * 3_600_000;
/** Numbers that count rows are counted again after this time; those of an organization without any, sooner. */
const countsHoldMs = 60_000;
const emptyHoldMs = 3_000;
/** Smaller changes of the disk do not count. */
const diskStep = 100_000_000;

type Answer = MessageInitShape<typeof ResponseSchema>;
type Group = MessageInitShape<typeof ConditionGroupSchema>;

/** What needs attention, and the numbers of an organization. */
export function overviewHandler(deps: ConditionDeps) {
  const storedOf = keptByOrganization(deps);
  return async (request: GetOverviewRequest, context: HandlerContext): Promise<Answer> => {
    const caller = callerOf(context);
    const scope = await scopeOf(deps, caller, request.organizationId);
    const measured = deps.conditions.last();
    const [{ rows, counts }, numbers] = await Promise.all([
      groupConditions(deps.db, scope, mostGroups),
      isMember(caller, scope.orgId) ? readNumbers(deps, scope, storedOf) : undefined,
    ]);
    const { muted, errors, warnings, notes } = counts;
    const answer: Answer = {
      groups: groupsOf(rows, { presence: deps.presence, now: scope.now }),
      truncated: (rows[0]?.groups ?? 0) > mostGroups,
      counts: { errors, warnings, notes },
      muted,
      ...(numbers && { numbers }),
    };
    const fingerprint = fingerprintOf(toBinary(GetOverviewResponseSchema, create(GetOverviewResponseSchema, answer)));
    const now = {
      ...(measured && { measuredOn: timestampFromMs(measured.at) }),
      measurementLate: deps.conditions.isLate(),
      fingerprint,
    };
    return fingerprint === request.knownFingerprint ? { ...now, unchanged: true } : { ...answer, ...now };
  };
}

function groupsOf(rows: readonly GroupedCondition[], of: Parameters<typeof conditionMessage>[1]): Group[] {
  const groups = Map.groupBy(rows, ({ code, subject }) => `${subject} ${code}`);
  return [...groups.values()].flatMap((examples) => {
    const [first] = examples;
    if (!first) return [];
    return {
      code: first.code,
      subject: subjects[first.subject],
      severity: first.worst,
      count: first.count,
      since: timestampFromMs(first.oldest),
      newestSince: timestampFromMs(first.newest),
      examples: examples.map((one) => conditionMessage(one, of)),
    };
  });
}

type Stored = { images: number; storedBytes: number; allJobs: number };

async function readNumbers(
  { db, conditions }: ConditionDeps,
  { orgId, hasServer, now }: ConditionScope,
  storedOf: (orgId: string) => Promise<Stored>,
): Promise<MessageInitShape<typeof FleetNumbersSchema>> {
  const measured = conditions.last();
  const [samples, hours, stored] = await Promise.all([
    readFleetSamples(db, orgId, now - dayMs),
    conditionHours(db, orgId, now - dayMs),
    storedOf(orgId),
  ]);
  const found = measured?.numbers.get(orgId) ?? none;
  const { serverVersions, agentVersions, ...counts } = found;
  const disk = hasServer ? measured?.disk : undefined;
  return {
    ...counts,
    serverVersions: versionsOf(serverVersions),
    agentVersions: versionsOf(agentVersions),
    jobs: measured?.jobs.get(orgId) ?? {},
    images: BigInt(stored.images),
    storedBytes: BigInt(stored.storedBytes),
    allJobs: BigInt(stored.allJobs),
    ...(disk && {
      disk: {
        sizeBytes: BigInt(disk.size),
        freeBytes: BigInt(Math.floor(disk.free / diskStep) * diskStep),
      },
    }),
    samples: samples.map(({ time, machines, online }) => ({ time: timestampFromMs(time), machines, online })),
    hours: hours.map(({ start, errors, warnings }) => ({ start: timestampFromMs(start), errors, warnings })),
  };
}

const none: OrganizationNumbers = {
  machines: 0,
  online: 0,
  offline: 0,
  awaiting: 0,
  uninstalled: 0,
  failing: 0,
  serverVersions: new Map(),
  agentVersions: new Map(),
};

const versionsOf = (counts: ReadonlyMap<string, number>) =>
  [...counts].slice(0, mostVersions).map(([version, machines]) => ({ version, machines }));

/** Counting rows takes long, so each organization's numbers are kept for a while. */
function keptByOrganization({ usage, clock }: ConditionDeps): (orgId: string) => Promise<Stored> {
  const kept = new Map<string, { value: Promise<Stored>; until: number }>();
  return (orgId) => {
    const known = kept.get(orgId);
    if (known && clock.now() < known.until) return known.value;
    const value = usage
      .read(orgId)
      .then(({ images, usedBytes, jobs }) => ({ images, storedBytes: usedBytes, allJobs: jobs }));
    const row = { value, until: clock.now() + countsHoldMs };
    kept.set(orgId, row);
    value.then(
      ({ images, allJobs }) => (images === 0 || allJobs === 0) && (row.until = clock.now() + emptyHoldMs),
      () => kept.delete(orgId),
    );
    return value;
  };
}
