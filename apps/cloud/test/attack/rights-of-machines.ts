import { create, toBinary } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { AgentReportSchema, OrderKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  foreigners,
  insiders,
  installers,
  machineOperators,
  machineOwners,
  machines,
  members,
  narrow,
  others,
  owners,
  users,
  placed,
  right,
  type Right,
  unsupported,
} from './rights.ts';
import { rightsOfFragments } from './rights-of-fragments.ts';
import { insertRelease, setChannel } from '../../src/releases/store/releases.ts';
import { grantOn, type World } from './world.ts';

const fleet = (method: string): string => `platform.fleet.v1.FleetService/${method}`;
const app = (method: string): string => `platform.app.v1.AppService/${method}`;
const logs = (method: string): string => `platform.logs.v1.LogService/${method}`;
const live = (method: string): string => `platform.live.v1.LiveService/${method}`;
const robot = (method: string): string => `platform.app.v1.RobotService/${method}`;
const audit = (method: string): string => `platform.audit.v1.AuditService/${method}`;
const session = (method: string): string => `platform.session.v1.SessionService/${method}`;

const part = ({ machine }: World) => ({ partId: machine.partId });
const partById = ({ machine }: World) => ({ id: machine.partId });
const machineById = ({ machine }: World) => ({ id: machine.machineId });
/** Owners of both the organization and the installation. */
const both = ['first key', 'browser', 'browser from its own origin'] as const;
const config = '{"components":[]}';

/** Prepares a machine that runs another product's agent while ours is published and signed for it. */
async function checksWithOtherAgent({ db }: World['on'], partId: string): Promise<void> {
  const [name, version, platform] = ['platform-agent', '0.0.1', 'linux/amd64'];
  await insertRelease(db, { name, version, platform, sha256: Buffer.alloc(32), sizeBytes: 1 });
  await db
    .updateTable('release')
    .set({ target: `${name}/${version}/${platform}` })
    .where('name', '=', name)
    .execute();
  await setChannel(db, name, 'stable', version);
  const host = JSON.stringify({ platform, tags: [] });
  await db.updateTable('part').set({ host }).where('id', '=', partId).execute();
}

/** Its agent has reported that it can restart itself and reboot the device. */
async function knowsOrders({ db }: World['on'], { partId }: { partId: string }): Promise<void> {
  const report = create(AgentReportSchema, { knownOrders: [OrderKind.RESTART_AGENT, OrderKind.REBOOT] });
  const host = JSON.stringify({ platform: 'linux/amd64', tags: ['platform-agent'] });
  const bytes = Buffer.from(toBinary(AgentReportSchema, report));
  await db.updateTable('part').set({ host, report: bytes }).where('id', '=', partId).execute();
}

/** Two runs of an agent have alternated. */
export async function sharesItsIdentity({ db }: World['on'], partId: string): Promise<void> {
  const ago = (minutes: number) => sql<number>`now() - make_interval(mins => ${minutes})`;
  const [firstSeen, lastSent, returnedOn] = [ago(5), ago(1), ago(2)];
  await db
    .insertInto('partRun')
    .values([
      { partId, runId: Buffer.alloc(16, 1), firstSeen, lastSent, returnedOn },
      { partId, runId: Buffer.alloc(16, 2), firstSeen: ago(4), lastSent, returnedOn: null },
    ])
    .execute();
}

const ofFleet: readonly Right[] = [
  right(fleet('CreateMachine'), { ok: owners }, ({ orgId, elsewhereId, freshName }) => ({
    organizationId: orgId,
    locationId: elsewhereId,
    name: freshName(),
  })),
  right(fleet('ListMachines'), { shows: machineOperators, ok: [...others, ...machines, 'runner'] }, ({ orgId }) => ({
    organizationId: orgId,
  })),
  right(fleet('ListMachineFacets'), { ok: [...machineOperators, ...others, ...machines, 'runner'] }, ({ orgId }) => ({
    organizationId: orgId,
    fields: ['state'],
  })),
  right(fleet('SaveMachineView'), { ok: members }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    view: { name: freshName(), query: 'state:offline' },
  })),
  right(fleet('ListMachineViews'), { ok: members }, ({ orgId }) => ({ organizationId: orgId })),
  right(fleet('DeleteMachineView'), { ok: members }, ({ orgId }) => ({ organizationId: orgId, name: 'none' })),
  right(fleet('GetMachine'), { shows: machineOperators }, machineById),
  right(fleet('GetMachine'), { shows: machineOperators }, partById),
  right(fleet('GetMachineSamples'), { ok: machineOperators }, part),
  right('platform.timeline.v1.TimelineService/ListMachineEvents', { ok: machineOperators }, part),
  right(live('GetView'), { ok: machineOperators }, ({ machine }) => ({ partId: machine.partId, camera: 'front' })),
  right(live('GetView'), { ok: machineOperators }, ({ machine }) => ({ partId: machine.partId, isLook: true })),
  right(
    live('SendView'),
    { ok: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] },
    ({ machine }) => ({ partId: machine.partId, camera: 'not looked at', problem: { code: 'CAMERA_FAILED' } }),
  ),
  right(fleet('DeleteMachine'), { ok: machineOwners }, async ({ freshMachine }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.machineId }], machine };
  }),
  right(fleet('SplitMachine'), { ok: owners }, async ({ freshMachine, on }) => {
    const machine = await freshMachine();
    await sharesItsIdentity(on, machine.partId);
    return { messages: [{ id: machine.machineId }], machine };
  }),
  right(fleet('TagMachine'), { ok: machineOperators }, ({ machine }) => ({
    id: machine.machineId,
    add: ['barn'],
    remove: ['field'],
  })),
  right(fleet('GetCredentials'), { ok: machineOwners }, part),
  right(fleet('CreateSetUpCode'), { ok: machineOwners }, part),
  right(fleet('GetSetUp'), { ok: machineOwners }, part),
  right(fleet('CreateInstallKey'), { ok: machineOwners }, part),
  right(fleet('GetInstallation'), { ok: machineOwners }, part),
  right(fleet('GetConfig'), { shows: machineOperators }, part),
  right(fleet('CheckConfig'), { ok: machineOperators }, ({ machine }) => ({
    partId: machine.partId,
    configJson: config,
  })),
  right(fleet('SaveConfig'), { ok: machineOperators }, async ({ freshMachine }) => {
    const machine = await freshMachine();
    return { messages: [{ partId: machine.partId, configJson: config }], machine };
  }),
  right(
    fleet('RevealSecrets'),
    { 'sign in': machineOwners, reveals: ['browser', 'browser from its own origin'] },
    async ({ machine, freshCookie }) => ({ messages: [{ partId: machine.partId }], cookie: await freshCookie() }),
  ),
  right(fleet('ListConfigRevisions'), { shows: machineOperators }, part),
  right(fleet('GetServerSchemas'), { ok: machineOperators }, part),
  right(
    fleet('StoreServerSchemas'),
    { ok: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] },
    ({ machine }) => ({ partId: machine.partId, sha256: 'ab'.repeat(32) }),
  ),
  right(fleet('RestartPart'), { ok: machineOperators }, part),
  right(fleet('OrderPart'), { ok: machineOperators }, async ({ freshMachine, on }) => {
    const machine = await freshMachine();
    await knowsOrders(on, machine);
    return { messages: [{ partId: machine.partId, kind: 'ORDER_KIND_REBOOT' }], machine };
  }),
  right(fleet('ClearQuarantine'), { ok: machineOperators }, part),
  right(fleet('UpgradeSystem'), { ok: machineOperators }, part),
  right(fleet('MigrateMachine'), { ok: machineOperators }, async ({ freshMachine, on }) => {
    const machine = await freshMachine();
    await checksWithOtherAgent(on, machine.partId);
    return { messages: [{ id: machine.machineId }], machine };
  }),
  right(fleet('GetUsage'), { ok: members }, ({ orgId }) => ({ organizationId: orgId })),
];

const ofMachines: readonly Right[] = [
  right(app('GetRobot'), { shows: machineOperators }, machineById),
  right(app('GetRobotParts'), { shows: machineOperators }, ({ machine }) => ({ robotId: machine.machineId })),
  right(app('GetRobotPart'), { shows: machineOperators }, partById),
  right(app('GetRobotPartByNameAndLocation'), { ok: [...members, ...placed] }, ({ beside, locationId }) => ({
    name: `${beside.name}-main`,
    locationId,
  })),
  right(app('GetRobotPartLogs'), { shows: machineOperators }, partById),
  right(logs('SearchLogs'), { shows: machineOperators }, ({ machine }) => ({ partIds: [machine.partId] })),
  right(logs('CountLogs'), { ok: machineOperators }, ({ machine }) => ({
    partIds: [machine.partId],
    from: '2026-11-01T00:00:00Z',
    until: '2026-11-02T00:00:00Z',
  })),
  right(app('TailRobotPartLogs'), { ok: machineOperators }, partById),
  right(logs('WatchLogs'), { ok: machineOperators }, ({ machine }) => ({ partIds: [machine.partId] })),
  right(app('GetRobotPartHistory'), { shows: machineOperators }, partById),
  right(app('UpdateRobotPart'), { ok: machineOperators }, async ({ freshMachine }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.partId, robotConfigJson: config }], machine };
  }),
  right(app('UpdateRobotPart'), { ok: machineOwners }, async ({ freshMachine, freshName }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.partId, name: freshName() }], machine };
  }),
  right(app('NewRobotPart'), { ok: machineOwners }, ({ machine, freshName }) => ({
    robotId: machine.machineId,
    partName: freshName(),
  })),
  right(app('DeleteRobotPart'), { ok: machineOwners }, async ({ on, machine, freshName }) => {
    const client = await on.client(AppService);
    const { partId } = await client.newRobotPart({ robotId: machine.machineId, partName: freshName() });
    return { partId };
  }),
  right(app('GetRobotAPIKeys'), { ok: machineOwners }, ({ machine }) => ({ robotId: machine.machineId })),
  right(app('MarkPartForRestart'), { ok: machineOperators }, part),
  right(app('CreateRobotPartSecret'), { shows: machineOwners }, part),
  right(app('DeleteRobotPartSecret'), { ok: machineOwners }, async ({ on, freshMachine }) => {
    const machine = await freshMachine();
    const { partId } = machine;
    const found = await (await on.client(AppService)).createRobotPartSecret({ partId });
    return { messages: [{ partId, secretId: found.part?.secrets[0]?.id ?? '' }], machine };
  }),
  right(app('ListRobots'), { shows: [...members, ...placed] }, ({ locationId }) => ({ locationId })),
  right(app('ListRobotsForLocations'), { shows: members }, ({ locationId, elsewhereId }) => ({
    locationIds: [locationId, elsewhereId],
  })),
  right(app('ListRobotsForLocations'), { shows: [...members, ...placed] }, ({ locationId }) => ({
    locationIds: [locationId],
  })),
  right(app('ListRobotsForOrg'), { shows: machineOperators, ok: [...others, ...machines, 'runner'] }, ({ orgId }) => ({
    orgId,
  })),
  right(app('NewRobot'), { ok: owners }, ({ locationId, freshName }) => ({ name: freshName(), location: locationId })),
  right(app('UpdateRobot'), { ok: machineOwners }, async ({ freshMachine, freshName }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.machineId, name: freshName() }], machine };
  }),
  right(app('UpdateRobot'), { ok: owners }, async ({ freshMachine, elsewhereId }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.machineId, location: elsewhereId }], machine };
  }),
  right(app('DeleteRobot'), { ok: machineOwners }, async ({ freshMachine }) => {
    const machine = await freshMachine();
    return { messages: [{ id: machine.machineId }], machine };
  }),
  right(app('ListMachineSummaries'), { shows: members }, ({ orgId }) => ({ organizationId: orgId })),
  ...unsupported(app('MarkPartAsMain')),
];

/** Calls that machines make for themselves; an operator of a machine may make them on its behalf. */
const byMachines: readonly Right[] = [
  right(
    robot('Config'),
    { shows: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] },
    partById,
  ),
  right(robot('Certificate'), { unsupported: users }, partById),
  right(
    robot('Log'),
    { ok: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] },
    ({ machine }) => ({ id: machine.partId, logs: [{ message: 'a line' }] }),
  ),
  right(
    robot('NeedsRestart'),
    { ok: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] },
    partById,
  ),
  right(
    'platform.app.agent.v1.AgentDeviceService/DeviceAgentConfig',
    {
      reveals: ['own machine', 'owner', 'first key', 'owner of the machine', 'owner of its place'],
      'not found': [...foreigners, 'machine beside'],
    },
    ({ machine }) => ({ id: machine.partId, hostInfo: { platform: 'linux/amd64', distro: 'debian' } }),
  ),
];

const ofOrganizations: readonly Right[] = [
  right(
    app('ListOrganizations'),
    { shows: [...insiders, 'script'], ok: [...foreigners, 'installation owner'] },
    () => ({}),
  ),
  right(app('GetOrganization'), { shows: [...insiders, 'script'] }, ({ orgId }) => ({ organizationId: orgId })),
  right(app('ListLocations'), { ok: members }, ({ orgId }) => ({ organizationId: orgId })),
  right(app('GetLocation'), { ok: [...members, ...placed] }, ({ locationId }) => ({ locationId })),
  right(app('CreateLocation'), { ok: owners }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
  })),
  right(app('CreateLocation'), { ok: owners }, ({ orgId, locationId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
    parentLocationId: locationId,
  })),
  right(app('UpdateLocation'), { ok: owners }, ({ elsewhereId, freshName }) => ({
    locationId: elsewhereId,
    name: freshName(),
  })),
  right(app('DeleteLocation'), { ok: owners }, async ({ on, orgId, freshName }) => {
    const client = await on.client(AppService);
    const { location } = await client.createLocation({ organizationId: orgId, name: freshName() });
    return { locationId: location?.id ?? '' };
  }),
  right(app('CheckPermissions'), { ok: users }, ({ orgId }) => ({
    permissions: [{ resourceType: 'organization', resourceId: orgId, permissions: ['read'] }],
  })),
  ...unsupported(
    app('CreateOrganization'),
    app('GetOrganizationNamespaceAvailability'),
    app('DeleteOrganization'),
    app('ListOrganizationMembers'),
    app('AddRole'),
    app('RemoveRole'),
    app('ChangeRole'),
    app('ListAuthorizations'),
  ),
];

export const authorization = (
  authorizationId: string,
  resourceType: string,
  resourceId: string,
  organizationId: string,
) => ({
  authorizationType: 'role',
  authorizationId,
  resourceType,
  resourceId,
  organizationId,
});
const operatorKey = ({ freshKey, orgId }: World) => freshKey([grantOn('operator', 'organization', orgId, orgId)]);
/** Equivalent to the first key: owns the organization and the installation. */
const installationKey = ({ freshKey, orgId }: World) =>
  freshKey([
    grantOn('owner', 'organization', orgId, orgId),
    grantOn('owner', 'installation', 'installation', undefined),
  ]);
const byId = async (key: Promise<{ entity: string }>) => ({ id: (await key).entity });

const ofKeys: readonly Right[] = [
  right(app('CreateKey'), { ok: owners }, ({ orgId }) => ({
    authorizations: [authorization('organization_owner', 'organization', orgId, orgId)],
  })),
  right(app('CreateKey'), { ok: owners }, ({ orgId }) => ({
    authorizations: [authorization('organization_runner', 'organization', orgId, orgId)],
  })),
  right(app('CreateKey'), { ok: owners }, ({ orgId, locationId }) => ({
    authorizations: [authorization('location_operator', 'location', locationId, orgId)],
  })),
  right(app('CreateKey'), { ok: machineOwners }, ({ orgId, machine }) => ({
    authorizations: [authorization('robot_owner', 'robot', machine.machineId, orgId)],
  })),
  right(app('CreateKey'), { invalid: users }, ({ orgId }) => ({
    authorizations: [authorization('installation_owner', 'installation', 'installation', orgId)],
  })),
  right(app('ListKeys'), { ok: owners }, ({ orgId }) => ({ orgId })),
  right(app('DeleteKey'), { ok: owners }, (world) => byId(operatorKey(world))),
  right(app('RotateKey'), { ok: owners }, (world) => byId(operatorKey(world))),
  right(app('RenameKey'), { ok: owners }, async (world) => ({ ...(await byId(operatorKey(world))), name: 'x' })),
  right(app('CreateKeyFromExistingKeyAuthorizations'), { ok: owners }, (world) => byId(operatorKey(world))),
  right(app('DeleteKey'), { ok: both }, (world) => byId(installationKey(world))),
  right(app('RotateKey'), { ok: both }, (world) => byId(installationKey(world))),
  right(app('RenameKey'), { ok: both }, async (world) => ({ ...(await byId(installationKey(world))), name: 'x' })),
];

const ofSessions: readonly Right[] = [
  right(audit('ListAuditEntries'), { shows: owners }, ({ orgId }) => ({ organizationId: orgId })),
  right(audit('ListAuditEntries'), { denied: [...foreigners], ok: installers }, () => ({})),
  right(
    'platform.installation.v1.InstallationService/GetHealth',
    { denied: [...foreigners], ok: installers },
    () => ({}),
  ),
  right(
    session('WhoAmI'),
    {
      shows: [...members, 'runner', 'own machine'],
      ok: [...foreigners, ...narrow, 'machine beside', 'installation owner'],
    },
    () => ({}),
  ),
  right(session('CreateSignInLink'), { denied: [...foreigners, 'installation owner'], ok: both }, () => ({})),
  right(
    session('SignOut'),
    { invalid: users, ok: ['browser', 'browser from its own origin'] },
    async ({ freshCookie }) => ({ messages: [{}], cookie: await freshCookie() }),
  ),
  ...unsupported('proto.rpc.v1.ExternalAuthService/AuthenticateTo'),
];

export const rightsOfMachines: readonly Right[] = [
  ...ofFleet,
  ...ofMachines,
  ...rightsOfFragments,
  ...byMachines,
  ...ofOrganizations,
  ...ofKeys,
  ...ofSessions,
  // Removes the marked name.
  right(app('UpdateOrganization'), { ok: owners }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
  })),
];
