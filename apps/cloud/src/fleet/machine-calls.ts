import type { ServiceImpl } from '@connectrpc/connect';
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import { type AppService, OnlineState, SharedSecret_State } from '@platform/contract/gen/platform/app/v1/app_pb';
import { callerOf } from '../access/caller.ts';
import { locationFor, organizationFor, readableLocation } from '../access/places.ts';
import {
  type Caller,
  ownsMachine,
  reachOf,
  requireMachineOwner,
  requireMember,
  requireOwner,
} from '../access/rules/permissions.ts';
import { changed } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import { changeMachine, createMachine, removeMachine, restartPart } from './machine-changes.ts';
import { saveConfig } from '../configs/config-saving.ts';
import { longestHistory, partHistory } from '../configs/part-history.ts';
import { shownConfig } from '../configs/rules/shown-config.ts';
import { findConfig } from '../configs/store/configs.ts';
import { operatedMachine, operatedPart, ownedPart } from '../machines/part-access.ts';
import { partAddress } from '../machines/rules/addresses.ts';
import { type MachineFilter, type MachineLine, newestMachines } from '../machines/store/machine-lists.ts';
import {
  deletePart,
  deletePartSecret,
  findNamedPart,
  findPart,
  insertPart,
  insertPartSecret,
  listParts,
  type PartRow,
  readPartSecrets,
  renamePart,
} from '../machines/store/machines.ts';
import { requiredName } from '../rpc/fields.ts';
import { parsePageToken } from '../rpc/paging.ts';
import { msOf } from '../rpc/protobuf-times.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';
import type { FleetDeps } from './fleet-deps.ts';

const onlineStates = {
  online: OnlineState.ONLINE,
  offline: OnlineState.OFFLINE,
  'awaiting setup': OnlineState.AWAITING_SETUP,
} as const;

type MachineDeps = Pick<FleetDeps, 'db' | 'presence' | 'changes' | 'secrets' | 'clock' | 'releases'>;

const contactOf = ({ presence, clock }: MachineDeps, part: Pick<PartRow, 'id' | 'lastSeen' | 'createdOn'>) => {
  const seen = presence.lastSeen(part.id, part.lastSeen);
  const onlineState = onlineStates[presence.online(part.id, part.lastSeen)];
  return {
    onlineState,
    // Without a value, clients show 1970.
    lastAccess: timestampFromMs(seen ?? part.createdOn),
    secondsSinceOnline: BigInt(
      seen === undefined || onlineState === OnlineState.ONLINE
        ? 0
        : Math.max(0, Math.round((clock.wall() - seen) / 1000)),
    ),
  };
};
const robotMessage = (deps: MachineDeps, main: PartRow | MachineLine) => ({
  id: main.machineId,
  name: main.machineName,
  location: main.locationId,
  createdOn: timestampFromMs(main.machineCreatedOn),
  ...contactOf(deps, main),
});
/** A part of a machine. Only owners of the machine get its secrets. */
const partMessage = async (deps: MachineDeps, part: PartRow, caller: Caller) => {
  const { db, secrets } = deps;
  const saved = await findConfig(db, part.id);
  const owned = ownsMachine(caller, part) ? await readPartSecrets(db, part.id, secrets.sealingKey) : [];
  return {
    id: part.id,
    name: part.name,
    robot: part.machineId,
    secret: owned[0]?.secret ?? '',
    secrets: owned.map((one) => ({
      id: one.id,
      secret: one.secret,
      createdOn: timestampFromMs(one.createdOn),
      state: SharedSecret_State.ENABLED,
    })),
    ...shownConfig(saved),
    userSuppliedInfo: (part.host ?? {}) as JsonObject,
    mainPart: part.isMain,
    fqdn: partAddress(part.name, part.locationId, 'platform.local'),
    dnsName: partAddress(part.name, part.locationId, 'platform.local'),
    localFqdn: partAddress(part.name, part.locationId, 'local'),
    locationId: part.locationId,
    createdOn: timestampFromMs(part.createdOn),
    lastUpdated: timestampFromMs(part.lastUpdated),
    ...contactOf(deps, part),
  };
};
const freshPart = async (deps: MachineDeps, id: string, caller: Caller) => {
  const part = await findPart(deps.db, id);
  if (!part) throw new PlatformError('PART_NOT_FOUND', { partId: id });
  return partMessage(deps, part, caller);
};
const robotsOf = async (deps: MachineDeps, caller: Caller, of: Omit<MachineFilter, 'reach'>) => {
  const { rows, isCut } = await newestMachines(deps.db, { reach: reachOf(caller), ...of });
  return { robots: rows.map((main) => robotMessage(deps, main)), truncated: isCut };
};

const robotReads = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async getRobot({ id }, context) {
      const machine = await operatedMachine(db, callerOf(context), id);
      const [main] = await listParts(db, machine.id);
      if (!main) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: id });
      return { robot: robotMessage(deps, main) };
    },
    async listRobots({ locationId }, context) {
      const caller = callerOf(context);
      const location = await readableLocation(db, caller, locationId);
      return robotsOf(deps, caller, { locationIds: [location.id] });
    },
    async listRobotsForLocations({ locationIds }, context) {
      const caller = callerOf(context);
      const ids = [...new Set(locationIds)];
      for (const id of ids) await readableLocation(db, caller, id);
      const { robots, truncated } = await robotsOf(deps, caller, { locationIds: ids });
      const byLocation = Map.groupBy(robots, ({ location }) => location);
      return { robots: ids.flatMap((id) => byLocation.get(id) ?? []), truncated };
    },
    async listRobotsForOrg({ orgId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, orgId);
      return robotsOf(deps, caller, { orgId: id });
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** Machines by location, for overviews. */
const summaryCalls = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async listMachineSummaries({ organizationId, locationIds, limit }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      requireMember(caller, id);
      const { rows, isCut } = await newestMachines(db, {
        reach: reachOf(caller),
        orgId: id,
        ...(locationIds.length > 0 && { locationIds }),
      });
      const isLimited = limit !== undefined && limit > 0;
      const places = Map.groupBy(isLimited ? rows.slice(0, limit) : rows, ({ locationId }) => locationId);
      return {
        locationSummaries: [...places].map(([locationId, parts]) => ({
          locationId,
          locationName: parts[0]?.locationName ?? '',
          machineSummaries: parts.map((part) => ({
            machineId: part.machineId,
            machineName: part.machineName,
            partSummaries: [
              {
                partId: part.id,
                partName: part.name,
                isMainPart: true,
                platform: part.platform,
                os: part.os,
                ...contactOf(deps, part),
              },
            ],
          })),
        })),
        truncated: isCut,
      };
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** Calls that create, change and delete machines. */
const robotChanges = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async newRobot({ name, location: locationId }, context) {
      const caller = callerOf(context);
      const location = await locationFor(db, caller, locationId, requireOwner);
      const { machineId } = await createMachine(deps, caller, { ...location, name });
      return { id: machineId };
    },
    async updateRobot({ id, name, location: locationId }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, id, requireMachineOwner);
      // A request with the current location does not move the machine, so it needs no right to move it.
      const isMoved = locationId !== '' && locationId !== machine.locationId;
      const location = isMoved ? await locationFor(db, caller, locationId, requireOwner) : undefined;
      if (location && location.orgId !== machine.orgId) throw new PlatformError('LOCATION_NOT_FOUND', { locationId });
      const next = {
        name: name === '' || name === machine.name ? machine.name : requiredName('name', name),
        locationId: location?.id ?? machine.locationId,
      };
      await changeMachine(deps, caller, machine, next);
      const [main] = await listParts(db, machine.id);
      if (!main) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: id });
      return { robot: robotMessage(deps, main) };
    },
    async deleteRobot({ id }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, id, requireMachineOwner);
      await removeMachine(deps, caller, machine);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** Calls that read parts and their configuration history. */
const partReads = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async getRobotParts({ robotId }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, robotId);
      return {
        parts: await Promise.all((await listParts(db, machine.id)).map((part) => partMessage(deps, part, caller))),
      };
    },
    async getRobotPart({ id }, context) {
      const caller = callerOf(context);
      const part = await partMessage(deps, await operatedPart(db, caller, id), caller);
      return { part, configJson: part.robotConfigJson };
    },
    async getRobotPartByNameAndLocation({ name, locationId }, context) {
      const caller = callerOf(context);
      const location = await readableLocation(db, caller, locationId);
      const part = await findNamedPart(db, location.id, name);
      if (!part) throw new PlatformError('PART_NOT_FOUND', { partId: name });
      return { part: await partMessage(deps, part, caller) };
    },
    async getRobotPartHistory({ id, pageToken: token, pageLimit, start, end }, context) {
      const part = await operatedPart(db, callerOf(context), id);
      const wanted = Number(pageLimit ?? 0n);
      return partHistory(db, part, {
        before: parsePageToken(token),
        limit: wanted > 0 ? Math.min(wanted, longestHistory) : longestHistory,
        ...(start && { from: msOf(start) }),
        ...(end && { until: msOf(end) }),
      });
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** Calls that create, change and delete parts. */
const partChanges = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async newRobotPart({ robotId, partName }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, robotId, requireMachineOwner);
      const partId = await audited(deps, caller, async (trx, record) => {
        const id = await insertPart(trx, {
          orgId: machine.orgId,
          machineId: machine.id,
          name: requiredName('part_name', partName),
          isMain: false,
          sealingKey: deps.secrets.sealingKey,
        });
        await record({ orgId: machine.orgId, action: 'create part', subject: id });
        return id;
      });
      return { partId };
    },
    async deleteRobotPart({ partId }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      if (part.isMain) throw invalidArgument('part_id', partId, 'the main part goes with its machine');
      await audited(deps, caller, async (trx, record) => {
        await deletePart(trx, part.id);
        await record({ orgId: part.orgId, action: 'delete part', subject: part.id }, ['part', part.id]);
      });
      return {};
    },
    async updateRobotPart({ id, name, robotConfig, robotConfigJson, lastKnownUpdate }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, id);
      const text = robotConfigJson ?? (robotConfig ? JSON.stringify(robotConfig, null, 2) : undefined);
      if (text !== undefined) {
        await saveConfig(deps, caller, part, { text }, lastKnownUpdate ? { lastUpdated: msOf(lastKnownUpdate) } : {});
      }
      if (name !== '' && name !== part.name) {
        requireMachineOwner(caller, part, () => new PlatformError('PART_NOT_FOUND', { partId: id }));
        const newName = requiredName('name', name);
        await audited(deps, caller, async (trx, record) => {
          await renamePart(trx, part.id, newName);
          const details = changed({ name: part.name }, { name: newName }) ?? {};
          await record({ orgId: part.orgId, action: 'update part', subject: part.id, details }, ['part', part.id]);
        });
      }
      return { part: await freshPart(deps, part.id, caller) };
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

const partOperations = (deps: MachineDeps) => {
  const { db } = deps;
  return {
    async markPartForRestart({ partId }, context) {
      const caller = callerOf(context);
      const part = await operatedPart(db, caller, partId);
      await restartPart(deps, caller, part);
      return {};
    },
    async createRobotPartSecret({ partId }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      await audited(deps, caller, async (trx, record) => {
        await insertPartSecret(trx, { orgId: part.orgId, partId: part.id, sealingKey: deps.secrets.sealingKey });
        await record({ orgId: part.orgId, action: 'create part secret', subject: part.id }, ['part', part.id]);
      });
      return { part: await freshPart(deps, part.id, caller) };
    },
    async deleteRobotPartSecret({ partId, secretId }, context) {
      const caller = callerOf(context);
      const part = await ownedPart(db, caller, partId);
      await audited(deps, caller, async (trx, record) => {
        if (!(await deletePartSecret(trx, part.id, secretId)))
          throw invalidArgument('secret_id', secretId, 'one of several secrets of this part');
        await record({ orgId: part.orgId, action: 'delete part secret', subject: part.id }, ['part', part.id]);
      });
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

export const machineCalls = (deps: MachineDeps) => ({
  ...robotReads(deps),
  ...summaryCalls(deps),
  ...robotChanges(deps),
  ...partReads(deps),
  ...partChanges(deps),
  ...partOperations(deps),
});
