import { PlatformError } from '@platform/contract/errors/errors';

/** `metrics`, on the installation alone: reads metrics and the details of the readiness page, and may call nothing. */
export type Role = 'owner' | 'operator' | 'runner' | 'metrics';

/** `reader` is never stored: the key of a training script has it while its job runs. */
export type HeldRole = Role | 'reader';

/** One right. `orgId` is the organization of the resource; undefined for the installation. */
export type Grant<R extends HeldRole = HeldRole> = {
  role: R;
  resource: 'installation' | 'organization' | 'location' | 'robot';
  resourceId: string;
  orgId: string | undefined;
};

/** The caller of a request. A part acts only for its own machine. */
export type Caller =
  /** `byKeyId`: the API key whose sign-in link opened the session; `signedInOn`: ms since 1970. */
  | {
      kind: 'person';
      id: string;
      name: string;
      grants: readonly Grant[];
      byKeyId: string | undefined;
      signedInOn: number;
    }
  | { kind: 'api_key'; id: string; name: string; grants: readonly Grant[] }
  | {
      kind: 'part';
      id: string;
      name: string;
      orgId: string;
      machineId: string;
      locationId: string;
      grants: readonly [];
    }
  | AttemptCaller
  | ScriptCaller;

/** One attempt of a job: it may report, download its images and upload its files. */
export type AttemptCaller = {
  kind: 'attempt';
  /** ID of the job. */
  id: string;
  name: string;
  orgId: string;
  attempt: number;
  runnerId: string;
  manifestSha256: string;
  scriptSha256: string | undefined;
  /** It has ended: it may only repeat its final report. */
  isOver: boolean;
  grants: readonly [];
};
/**
 * The script of a custom job: it may read its job's dataset and the packages that the job names. `id`: ID of its key.
 */
export type ScriptCaller = {
  kind: 'script';
  id: string;
  name: string;
  orgId: string;
  datasetId: string;
  names: ResourceNames;
  grants: readonly Grant[];
};

/** Packages and datasets by the texts that name them in a configuration or a job. */
export type ResourceNames = { packages: ReadonlySet<string>; datasets: ReadonlySet<string> };

/** Creates the error for a caller of another organization: the resource does not exist. */
export type Absent = () => PlatformError;

const noOrganization =
  (orgId: string): Absent =>
  () =>
    new PlatformError('ORGANIZATION_NOT_FOUND', { organizationId: orgId });

const hasRole = (caller: Caller, orgId: string, roles: readonly HeldRole[]): boolean =>
  caller.grants.some(
    (grant) => grant.resource === 'organization' && grant.resourceId === orgId && roles.includes(grant.role),
  );

/** Whether the caller has any right in this organization, even on a single resource of it. */
export const belongsTo = (caller: Caller, orgId: string): boolean =>
  caller.kind === 'part' ? caller.orgId === orgId : caller.grants.some((grant) => grant.orgId === orgId);

export const isMember = (caller: Caller, orgId: string): boolean => hasRole(caller, orgId, ['owner', 'operator']);
/**
 * Whether the caller may at least read. A job's script may read what its job names (registry/rules/named-resources.ts).
 */
export const isReader = (caller: Caller, orgId: string): boolean =>
  hasRole(caller, orgId, ['owner', 'operator', 'reader']);
export const isOwner = (caller: Caller, orgId: string): boolean => hasRole(caller, orgId, ['owner']);

/** The caller's rights on whole organizations, for lists without a filter. */
export const memberships = (caller: Caller): { orgId: string; role: HeldRole }[] =>
  caller.grants.flatMap((grant) =>
    grant.resource === 'organization' ? [{ orgId: grant.resourceId, role: grant.role }] : [],
  );

/**
 * Requires an owner or operator of the whole organization.
 *
 * @param absent - the error for a caller of another organization, for example DATASET_NOT_FOUND for the requested
 * dataset.
 * @throws PlatformError `absent`, or PERMISSION_DENIED within the own organization.
 */
export function requireMember(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (isMember(caller, orgId)) return;
  if (!belongsTo(caller, orgId)) throw absent();
  throw new PlatformError('PERMISSION_DENIED', { resource: `organization ${orgId}` });
}

/** Like `requireMember`, for reading: also allows the script of a job. */
export function requireReader(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (!isReader(caller, orgId)) requireMember(caller, orgId, absent);
}

/** Like `requireMember`, but only for owners: throws NOT_OWNER within the own organization. */
export function requireOwner(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (isOwner(caller, orgId)) return;
  if (!belongsTo(caller, orgId)) throw absent();
  throw new PlatformError('NOT_OWNER', { organizationId: orgId });
}

/** Requires a runner of the organization, or its owner, who may do everything a runner may. */
export function requireRunner(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (hasRole(caller, orgId, ['runner', 'owner'])) return;
  if (!belongsTo(caller, orgId)) throw absent();
  throw new PlatformError('PERMISSION_DENIED', { resource: `the job queue of organization ${orgId}` });
}

/** Requires a member, or a machine of the organization, which uploads its captured data. */
function requireMemberOrPart(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (caller.kind === 'part' && caller.orgId === orgId) return;
  requireMember(caller, orgId, absent);
}

/** Requires a reader, or a machine of the organization. */
export function requireReaderOrPart(caller: Caller, orgId: string, absent: Absent = noOrganization(orgId)): void {
  if (!isReader(caller, orgId)) requireMemberOrPart(caller, orgId, absent);
}

const isInstallationOwner = (caller: Caller): boolean =>
  caller.grants.some((grant) => grant.resource === 'installation' && grant.role === 'owner');

/** Requires an owner of the installation, who publishes releases. */
export function requireInstallationOwner(caller: Caller): void {
  if (isInstallationOwner(caller)) return;
  throw new PlatformError('PERMISSION_DENIED', { resource: 'the installation' });
}

/** Whether the caller may read what is measured of the whole installation. */
export const mayReadMetrics = (caller: Caller): boolean =>
  caller.grants.some(({ resource, role }) => resource === 'installation' && (role === 'owner' || role === 'metrics'));

/** A machine with its location and organization: the resources that rights on it may name. */
export type Place = { orgId: string; locationId: string; machineId: string };

const covers = (grant: Grant, place: Place, roles: readonly HeldRole[]): boolean =>
  roles.includes(grant.role) &&
  ((grant.resource === 'organization' && grant.resourceId === place.orgId) ||
    (grant.resource === 'location' && grant.resourceId === place.locationId) ||
    (grant.resource === 'robot' && grant.resourceId === place.machineId));

/** Whether the caller may see and operate the machine: owner or operator of it, its location or its organization. */
export const mayOperate = (caller: Caller, place: Place): boolean =>
  caller.grants.some((grant) => covers(grant, place, ['owner', 'operator']));

/** Whether the caller may see the location and its machines: owner or operator of it or its organization. */
export const mayReadLocation = (caller: Caller, { orgId, locationId }: Omit<Place, 'machineId'>): boolean =>
  caller.grants.some((grant) => covers(grant, { orgId, locationId, machineId: '' }, ['owner', 'operator']));

/** Resources whose machines the caller may operate, for lists. */
export type Reach = { orgIds: readonly string[]; locationIds: readonly string[]; machineIds: readonly string[] };

export function reachOf(caller: Caller): Reach {
  const idsOf = (resource: Grant['resource']): string[] =>
    caller.grants.flatMap((grant) =>
      grant.resource === resource && ['owner', 'operator'].includes(grant.role) ? [grant.resourceId] : [],
    );
  return { orgIds: idsOf('organization'), locationIds: idsOf('location'), machineIds: idsOf('robot') };
}

export function requireOperator(caller: Caller, place: Place, absent: Absent): void {
  if (mayOperate(caller, place)) return;
  if (!belongsTo(caller, place.orgId)) throw absent();
  throw new PlatformError('PERMISSION_DENIED', { resource: `machine ${place.machineId}` });
}

export const ownsMachine = (caller: Caller, place: Place): boolean =>
  caller.grants.some((grant) => covers(grant, place, ['owner']));

export function requireMachineOwner(caller: Caller, place: Place, absent: Absent): void {
  if (ownsMachine(caller, place)) return;
  if (!belongsTo(caller, place.orgId)) throw absent();
  throw new PlatformError('NOT_OWNER', { organizationId: place.orgId });
}

/**
 * Whether the caller may grant this right. Owners grant what they own; only an owner of the installation grants its
 * rights.
 *
 * @param place - of the machine of a `robot` right. Undefined: it was deleted, so only the organization's owner may
 * grant the right.
 */
export function mayGive(caller: Caller, grant: Grant, place?: Place): boolean {
  if (grant.resource === 'installation') return isInstallationOwner(caller);
  if (grant.orgId !== undefined && isOwner(caller, grant.orgId)) return true;
  return grant.resource === 'robot' && place !== undefined && ownsMachine(caller, place);
}

/** Requires the machine itself (its own part), or a key or user that may operate it. */
export function requirePart(caller: Caller, partId: string, place: Place, absent: Absent): void {
  if (caller.kind === 'part') {
    if (caller.id !== partId) throw absent();
    return;
  }
  requireOperator(caller, place, absent);
}
