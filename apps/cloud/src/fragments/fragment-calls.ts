import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { type FragmentUse, readFragmentUses, withVariables } from '@platform/contract/config/fragments';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type AppService,
  type FragmentSchema,
  FragmentVisibility,
} from '@platform/contract/gen/platform/app/v1/app_pb';
import { callerOf } from '../access/caller.ts';
import { organizationFor } from '../access/places.ts';
import { type Caller, isMember, reachOf, requireOwner } from '../access/rules/permissions.ts';
import { findOrganizations, type OrganizationRow } from '../access/store/organizations.ts';
import { shownConfig } from '../configs/rules/shown-config.ts';
import { findConfig } from '../configs/store/configs.ts';
import {
  findFragments,
  type FragmentRow,
  fragmentUsage,
  type FragmentUsage as Usage,
  listFragmentRevisions,
  listFragments,
} from '../configs/store/fragments.ts';
import type { Database } from '../database/database.ts';
import { operatedMachine } from '../machines/part-access.ts';
import { listParts } from '../machines/store/machines.ts';
import { requiredName } from '../rpc/fields.ts';
import { msOf } from '../rpc/protobuf-times.ts';
import { readBounded, wholeAnswer } from '../rpc/rules/answer-bounds.ts';
import { ownedFragment, readableFragment } from './fragment-access.ts';
import { createFragment, type FragmentDeps, removeFragment, saveFragment } from './fragment-saving.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** Fragments belong to one organization; nothing else can be asked for. */
function requirePrivate(visibility: FragmentVisibility | undefined, isPublic = false): void {
  const isPrivate = (visibility ?? 0) === 0 || visibility === FragmentVisibility.PRIVATE;
  if (!isPrivate || isPublic) throw new PlatformError('UNSUPPORTED', { what: 'public fragments' });
}

const mostRevisions = 500;

/** Members see all machines of the organization; others count theirs. */
const reachIn = (caller: Caller, orgId: string) => (isMember(caller, orgId) ? undefined : reachOf(caller));

async function messageOf(db: Database, caller: Caller, row: FragmentRow) {
  const usage = (await fragmentUsage(db, [row.id], reachIn(caller, row.orgId))).get(row.id);
  const [organization] = await findOrganizations(db, [row.orgId]);
  return { fragment: fragmentMessage(row, organization, usage), usage };
}

const fragmentReads = ({ db }: FragmentDeps) =>
  ({
    async listFragments({ organizationId, fragmentVisibility }, context) {
      const caller = callerOf(context);
      const organization = await organizationFor(db, caller, organizationId);
      const wanted = fragmentVisibility.filter((one) => one !== FragmentVisibility.UNSPECIFIED);
      if (wanted.length > 0 && !wanted.includes(FragmentVisibility.PRIVATE)) return {};
      const reach = reachIn(caller, organization.id);
      const of = { ...wholeAnswer, atOnce: 100, size: ({ text }: FragmentRow) => 500 + 2 * text.length };
      const { rows, isCut } = await readBounded<FragmentRow>(of, (last, limit) =>
        listFragments(db, organization.id, { ...(reach && { reach }), after: last?.name, limit }),
      );
      const usage = await fragmentUsage(
        db,
        rows.map(({ id }) => id),
        reach,
      );
      return {
        fragments: rows.map((row) => fragmentMessage(row, organization, usage.get(row.id))),
        fragmentUsages: rows.map(({ id }) => usageMessage(id, usage.get(id))),
        truncated: isCut,
      };
    },
    async getFragment({ id, version }, context) {
      const caller = callerOf(context);
      const row = await readableFragment(db, caller, id, version);
      const { fragment, usage } = await messageOf(db, caller, row);
      const revisions = await listFragmentRevisions(db, row.id, mostRevisions + 1);
      return {
        fragment,
        fragmentUsage: usageMessage(row.id, usage),
        truncated: revisions.length > mostRevisions,
        revisions: revisions.slice(0, mostRevisions).map(({ revision, savedOn, savedBy, comment }) => ({
          revision: String(revision),
          createdAt: timestampFromMs(savedOn),
          savedBy,
          comment,
        })),
      };
    },
  }) satisfies Partial<ServiceImpl<typeof AppService>>;

/** The text to save: as typed, or written from the message. */
const textOf = (json: string | undefined, config: JsonObject | undefined): string | undefined =>
  json ?? (config ? JSON.stringify(config, null, 2) : undefined);

const fragmentChanges = (deps: FragmentDeps) => {
  const { db } = deps;
  return {
    async createFragment({ organizationId, name, config, configJson, visibility, comment }, context) {
      const caller = callerOf(context);
      const { id: orgId } = await organizationFor(db, caller, organizationId);
      requireOwner(caller, orgId);
      requirePrivate(visibility);
      const text = textOf(configJson, config) ?? '{}';
      const named = { orgId, name: requiredName('name', name), text, comment: comment.trim() };
      const id = await createFragment(deps, caller, named);
      return { fragment: (await messageOf(db, caller, await readableFragment(db, caller, id))).fragment };
    },
    async updateFragment(request, context) {
      const caller = callerOf(context);
      const { id, name, config, configJson, visibility, lastKnownUpdate, comment, expectedRevision } = request;
      const fragment = await ownedFragment(db, caller, id);
      requirePrivate(visibility, request.public);
      await saveFragment(deps, caller, fragment.id, {
        name: nameIn(name, fragment),
        text: textOf(configJson, config),
        comment: comment.trim(),
        expected: {
          ...(expectedRevision !== undefined && { revision: revisionIn(expectedRevision) }),
          ...(lastKnownUpdate && { lastUpdated: msOf(lastKnownUpdate) }),
        },
      });
      return { fragment: (await messageOf(db, caller, await readableFragment(db, caller, id))).fragment };
    },
    async deleteFragment({ id }, context) {
      const caller = callerOf(context);
      await removeFragment(deps, caller, await ownedFragment(db, caller, id));
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** A name that it has already may be one of before today's rules. */
const nameIn = (name: string, fragment: FragmentRow): string | undefined =>
  name === '' ? undefined : name === fragment.name ? name : requiredName('name', name);

function revisionIn(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw invalidArgument('expected_revision', JSON.stringify(text.slice(0, 40)), 'the number of a revision');
}

const machineFragments = ({ db }: FragmentDeps) =>
  ({
    async listMachineFragments({ machineId, additionalFragmentIds, additionalFragments }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, machineId);
      const [main] = await listParts(db, machine.id);
      const saved = main && (await findConfig(db, main.id));
      const { uses } = readFragmentUses(saved ? (JSON.parse(saved.text) as JsonObject) : {});
      const own = await findFragments(
        db,
        machine.orgId,
        uses.map(({ id, version }) => ({ id, revision: version })),
      );
      const more = await additional(db, caller, [
        ...additionalFragmentIds.map((fragmentId) => ({ fragmentId, version: '' })),
        ...additionalFragments.map(({ fragmentId, version = '' }) => ({ fragmentId, version })),
      ]);
      const rows = [...new Map([...own, ...more].map((row) => [`${row.id} ${row.revision}`, row])).values()];
      const [organization] = await findOrganizations(db, [machine.orgId]);
      return {
        fragments: rows.map((row) => fragmentMessage(row, organization, undefined)),
        resolvedFragments: uses.flatMap((use) => {
          const row = own.find(({ id, revision, newest }) => id === use.id && revision === (use.version ?? newest));
          return row ? [resolvedMessage(row, use)] : [];
        }),
      };
    },
  }) satisfies Partial<ServiceImpl<typeof AppService>>;

const mostAdditional = 50;

async function additional(
  db: Database,
  caller: Caller,
  names: readonly { fragmentId: string; version: string }[],
): Promise<FragmentRow[]> {
  const limit = `at most ${mostAdditional} fragments`;
  if (names.length > mostAdditional)
    throw new PlatformError('INVALID_ARGUMENT', { field: 'additional_fragments', value: String(names.length), limit });
  return Promise.all(names.map(({ fragmentId, version }) => readableFragment(db, caller, fragmentId, version)));
}

/** With the variables of the machine, without its secrets. */
const resolvedMessage = (row: FragmentRow, { variables }: FragmentUse) => ({
  fragmentId: row.id,
  revision: String(row.revision),
  resolvedConfig: shownConfig({ text: JSON.stringify(withVariables(row.config, variables).config) }).robotConfig,
});

/** Calls of public clients; the texts of fragments are ours. */
export const fragmentCalls = (deps: FragmentDeps) => ({
  ...fragmentReads(deps),
  ...fragmentChanges(deps),
  ...machineFragments(deps),
});

function fragmentMessage(
  row: FragmentRow,
  organization: Pick<OrganizationRow, 'name' | 'publicNamespace'> | undefined,
  usage: Usage | undefined,
): MessageInitShape<typeof FragmentSchema> {
  const { robotConfig, robotConfigJson } = shownConfig(row);
  return {
    id: row.id,
    name: row.name,
    fragment: robotConfig,
    fragmentJson: robotConfigJson,
    organizationOwner: row.orgId,
    organizationName: organization?.name ?? '',
    publicNamespace: organization?.publicNamespace ?? '',
    public: false,
    visibility: FragmentVisibility.PRIVATE,
    onlyUsedByOwner: true,
    createdOn: timestampFromMs(row.createdOn),
    lastUpdated: timestampFromMs(row.lastUpdated),
    revision: String(row.revision),
    robotPartCount: usage?.parts ?? 0,
    organizationCount: usage ? 1 : 0,
    usedElsewhere: usage?.elsewhere ?? false,
    savedBy: row.savedBy,
    comment: row.comment,
  };
}

const usageMessage = (fragmentId: string, usage: Usage | undefined) => ({
  fragmentId,
  organizations: usage ? 1 : 0,
  machines: usage?.machines ?? 0,
  machinesInCurrentOrg: usage?.machines ?? 0,
});
