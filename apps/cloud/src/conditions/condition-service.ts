import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  ConditionService,
  ConditionState,
  type ConditionSubject,
  type ListConditionsRequest,
  ListConditionsResponseSchema,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { callerOf } from '../access/caller.ts';
import type { Caller } from '../access/rules/permissions.ts';
import { conditionToken, pageOf, readConditionToken } from '../rpc/rules/page-tokens.ts';
import { conditionMessage, subjects } from './condition-message.ts';
import { type ConditionDeps, fingerprintOf, scopeOf } from './condition-scope.ts';
import { muteHandlers } from './mute-calls.ts';
import { overviewHandler } from './overview.ts';
import type { SubjectKind } from './rules/condition.ts';
import { type ConditionFilter, listConditions } from './store/condition-lists.ts';

const usualPage = 200;
const longestText = 200;

const states: Readonly<Partial<Record<ConditionState, ConditionFilter['state']>>> = {
  [ConditionState.OPEN]: 'open',
  [ConditionState.MUTED]: 'muted',
  [ConditionState.ENDED]: 'ended',
};

const subjectOf = (wire: ConditionSubject): SubjectKind[] =>
  (Object.keys(subjects) as SubjectKind[]).filter((kind) => subjects[kind] === wire);

/** @throws PlatformError INVALID_ARGUMENT */
function requireFilter(request: ListConditionsRequest): ConditionFilter {
  for (const field of ['code', 'containing', 'machineId'] as const)
    if (request[field].length > longestText || request[field].includes('\0'))
      throw new PlatformError('INVALID_ARGUMENT', {
        field: field === 'machineId' ? 'machine_id' : field,
        value: JSON.stringify(request[field].slice(0, 40)),
        limit: `at most ${longestText} characters without NUL`,
      });
  return {
    state: states[request.state] ?? 'open',
    severities: request.severities,
    subjects: request.subjects.flatMap(subjectOf),
    code: request.code,
    machineId: request.machineId.toLowerCase(),
    containing: request.containing,
  };
}

type ListAnswer = MessageInitShape<typeof ListConditionsResponseSchema>;

async function answerList(deps: ConditionDeps, request: ListConditionsRequest, caller: Caller): Promise<ListAnswer> {
  const filter = requireFilter(request);
  const { after: skip = 0, size } = pageOf(request, readConditionToken);
  const scope = await scopeOf(deps, caller, request.organizationId);
  const page = { skip, size: size === 0 ? usualPage : size };
  const measured = deps.conditions.last();
  const { rows, isCut, counts } = await listConditions(deps.db, scope, filter, page);
  const now = {
    ...(measured && { measuredOn: timestampFromMs(measured.at) }),
    measurementLate: deps.conditions.isLate(),
  };
  const of = { presence: deps.presence, now: scope.now };
  const answer: ListAnswer = {
    conditions: rows.map((row) => conditionMessage(row, of)),
    nextPageToken: isCut ? conditionToken(skip + rows.length) : '',
    counts,
  };
  const fingerprint = fingerprintOf(
    toBinary(ListConditionsResponseSchema, create(ListConditionsResponseSchema, answer)),
  );
  return fingerprint === request.knownFingerprint
    ? { ...now, fingerprint, unchanged: true }
    : { ...answer, ...now, fingerprint };
}

export const conditionRoutes =
  (deps: ConditionDeps) =>
  (router: ConnectRouter): void => {
    router.service(ConditionService, {
      listConditions: (request, context) => answerList(deps, request, callerOf(context)),
      getOverview: overviewHandler(deps),
      ...muteHandlers(deps),
    });
  };
