import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { callerOf } from '../access/caller.ts';
import { locationFor, organizationFor } from '../access/places.ts';
import { requireMachineOwner, requireMember, requireOwner } from '../access/rules/permissions.ts';
import { audited } from '../access/store/audited.ts';
import { createMachine, removeMachine, restartPart } from './machine-changes.ts';
import { firstLocation } from '../access/store/organizations.ts';
import { problemMessage, readConfig, readConfigOf, saveConfig } from '../configs/config-saving.ts';
import { shownConfig } from '../configs/rules/shown-config.ts';
import { secretMarks } from '../configs/secret-marks.ts';
import { secretHandlers } from '../configs/secret-calls.ts';
import { mergedJsonOf, usedFragments } from '../configs/used-fragments.ts';
import { fragmentPreview } from '../fragments/preview-call.ts';
import { findConfig, requireConfig, revisionsBefore, type SavedRevision } from '../configs/store/configs.ts';
import { operatedMachine, operatedMainPart, operatedPart, ownedPart } from '../machines/part-access.ts';
import { hasOtherAgent, machineFacts } from '../machines/rules/machine-facts.ts';
import { sharedIdentities } from '../machines/shared-identities.ts';
import { unprovenUrl } from '../machines/rules/other-agent.ts';
import {
  clearQuarantine,
  findPart,
  type PartRow,
  requestMigration,
  requestSystemUpgrade,
} from '../machines/store/machines.ts';
import { readBounded, wholeAnswer } from '../rpc/rules/answer-bounds.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { credentialsOf } from './machine-credentials.ts';
import { listMachineFacets, listMachines } from './machine-list.ts';
import { installationHandlers } from './installation.ts';
import { machineMessage, offeredRelease, quarantinedOf } from './machine-message.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { orderHandlers, orderMessages } from './part-orders.ts';
import { sampleHandlers, viewHandlers } from './machine-views.ts';
import { schemaHandlers } from './server-schemas.ts';
import { setUpHandlers } from './set-up.ts';
import { splitHandlers } from './split-machine.ts';
import { tagHandlers } from './machine-tags.ts';

const machineHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async createMachine({ organizationId, locationId, name }, context) {
      const caller = callerOf(context);
      const organization = await organizationFor(db, caller, organizationId);
      requireOwner(caller, organization.id);
      const location = locationId
        ? await locationFor(db, caller, locationId)
        : await firstLocation(db, organization.id);
      if (!location || location.orgId !== organization.id)
        throw new PlatformError('LOCATION_NOT_FOUND', { locationId });
      const created = await createMachine(deps, caller, { ...location, name });
      const part = await findPart(db, created.partId);
      if (!part) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: created.machineId });
      return {
        machine: await machineMessage(deps, part),
        ...(await credentialsOf(deps, part.id, baseUrlOf(deps, context))),
      };
    },
    listMachines: (request, context) => listMachines(deps, request, callerOf(context)),
    listMachineFacets: (request, context) => listMachineFacets(deps, request, callerOf(context)),
    async getMachine({ id }, context) {
      const part = await operatedMainPart(db, callerOf(context), id);
      const sharing = (await sharedIdentities(deps, [part.id])).get(part.id);
      return {
        machine: await machineMessage(deps, part, {
          config: (await findConfig(db, part.id))?.config,
          sharing,
          orders: await orderMessages(deps, part.id),
        }),
      };
    },
    async deleteMachine({ id }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, id, requireMachineOwner);
      await removeMachine(deps, caller, machine);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

/** The ways of credentials to a device. */
const credentialsHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async getCredentials({ partId }, context) {
      const part = await ownedPart(db, callerOf(context), partId);
      return credentialsOf(deps, part.id, baseUrlOf(deps, context));
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

const configHandlers = (deps: FleetDeps) => {
  const { db, releases } = deps;
  return {
    async getConfig({ partId, revision }, context) {
      const part = await operatedPart(db, callerOf(context), partId);
      const config = await requireConfig(db, part, Number(revision));
      return {
        configJson: shownConfig(config).robotConfigJson,
        revision: BigInt(config.revision),
        savedBy: config.savedBy,
        secrets: secretMarks(config.text, { partId: part.id, key: deps.secrets.sealingKey }),
        fragments: usedFragments(config),
        mergedJson: mergedJsonOf(config),
        ...(config.revision > 0 && { savedOn: timestampFromMs(config.savedOn) }),
      };
    },
    async checkConfig({ configJson, partId, secretsOfRevision }, context) {
      const caller = callerOf(context);
      const part = partId ? await operatedPart(db, caller, partId) : undefined;
      const { problems } = part
        ? await readConfigOf(deps, caller, part, { text: configJson, secretsOf: Number(secretsOfRevision) })
        : await readConfig(releases, configJson);
      return { problems: problems.map(problemMessage) };
    },
    async saveConfig({ partId, configJson, expectedRevision, comment, secretsOfRevision }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      const expected = expectedRevision === undefined ? {} : { revision: Number(expectedRevision) };
      const { revision, problems } = await saveConfig(
        deps,
        caller,
        part,
        { text: configJson, comment: comment.trim(), secretsOf: Number(secretsOfRevision) },
        expected,
      );
      return { revision: BigInt(revision), problems: problems.map(problemMessage) };
    },
    async listConfigRevisions({ partId, before }, context) {
      const part = await operatedPart(db, callerOf(context), partId);
      const { rows, isCut } = await readBounded<SavedRevision>({ ...wholeAnswer, atOnce: 1_000 }, (last, limit) =>
        revisionsBefore(db, part.id, { before: last?.revision ?? (Number(before) || undefined), limit }),
      );
      return {
        revisions: rows.map((row) => ({
          revision: BigInt(row.revision),
          savedBy: row.savedBy,
          savedOn: timestampFromMs(row.savedOn),
          sha256: row.sha256.toString('hex'),
          comment: row.comment,
          fragments: usedFragments(row),
        })),
        truncated: isCut,
      };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

/** One-time operations on a machine. */
const operationHandlers = (deps: FleetDeps) => {
  const { db, releases } = deps;
  return {
    async clearQuarantine({ partId }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      await audited(deps, caller, async (trx, record) => {
        await clearQuarantine(trx, part.id);
        await record(
          {
            orgId: part.orgId,
            action: 'clear quarantine',
            subject: part.id,
            details: { versions: quarantinedOf(part) },
          },
          ['part', part.id],
        );
      });
      return {};
    },
    async upgradeSystem({ partId }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      await audited(deps, caller, async (trx, record) => {
        await requestSystemUpgrade(trx, part.id);
        await record({ orgId: part.orgId, action: 'request system upgrade', subject: part.id }, ['part', part.id]);
      });
      return {};
    },
    async migrateMachine({ id }, context) {
      const caller = callerOf(context);
      const part = await operatedMainPart(db, caller, id);
      const version = await migrationVersion(releases, part);
      await audited(deps, caller, async (trx, record) => {
        await requestMigration(trx, part.id);
        await record(
          {
            orgId: part.orgId,
            action: 'request migration',
            subject: part.id,
            details: { version },
          },
          ['part', part.id],
        );
      });
      return { version };
    },
    async restartPart({ partId }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      await restartPart(deps, caller, part);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

/** @throws PlatformError MIGRATION_REFUSED, MIGRATION_WITHOUT_TLS: it could not succeed */
async function migrationVersion(releases: FleetDeps['releases'], part: PartRow): Promise<string> {
  const { machineName: name } = part;
  const refuse = (problem: string) => new PlatformError('MIGRATION_REFUSED', { name, problem });
  if (!hasOtherAgent(part)) throw refuse(part.host ? 'it runs platform-agent' : 'no agent has checked in for it yet');
  const url = unprovenUrl(part.host ?? {});
  if (url !== undefined) throw new PlatformError('MIGRATION_WITHOUT_TLS', { name, url });
  const { platform } = machineFacts(part);
  if (platform?.startsWith('linux/') === false)
    throw refuse(`platform-agent replaces agents on Linux only, and it runs ${platform}`);
  const release = await offeredRelease(releases, platform);
  if (!release) throw refuse(`no stable platform-agent for ${platform} is published`);
  // The agent would refuse it after the download.
  if (!release.target) throw refuse(`no release key signed the stable platform-agent ${release.version}`);
  return release.version;
}

const usageHandlers = (deps: FleetDeps) => {
  const { db, usage } = deps;
  return {
    async getUsage({ organizationId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      requireMember(caller, id);
      const used = await usage.read(id);
      return {
        usedBytes: BigInt(used.usedBytes),
        files: BigInt(used.files),
        waitingBytes: BigInt(used.waitingBytes),
        arrivingBytes: BigInt(used.arrivingBytes),
        limitBytes: BigInt(used.limitBytes),
        images: BigInt(used.images),
        readings: BigInt(used.readings),
        datasets: BigInt(used.datasets),
        machines: BigInt(used.machines),
        jobs: BigInt(used.jobs),
        packageVersions: BigInt(used.packageVersions),
        logBytes: BigInt(used.logBytes),
      };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

export const fleetRoutes =
  (deps: FleetDeps) =>
  (router: ConnectRouter): void => {
    router.service(FleetService, {
      ...machineHandlers(deps),
      ...credentialsHandlers(deps),
      ...setUpHandlers(deps),
      ...installationHandlers(deps),
      ...splitHandlers(deps),
      ...tagHandlers(deps),
      ...viewHandlers(deps),
      ...configHandlers(deps),
      ...secretHandlers(deps),
      ...fragmentPreview(deps),
      ...operationHandlers(deps),
      ...orderHandlers(deps),
      ...usageHandlers(deps),
      ...sampleHandlers(deps),
      ...schemaHandlers(deps),
    });
  };
