import {
  belongsTo,
  type Caller,
  isMember,
  isOwner,
  isReader,
  mayOperate,
  ownsMachine,
  type Place,
} from '../../access/rules/permissions.ts';

/** A resource as the rules see it: its organization and, for a machine, its location. */
export type Resource =
  | { is: 'organization'; orgId: string }
  | { is: 'location'; orgId: string; locationId: string }
  | { is: 'robot'; place: Place };

type Rule = (caller: Caller, resource: Resource) => boolean;

const orgOf = (resource: Resource): string => (resource.is === 'robot' ? resource.place.orgId : resource.orgId);

/** Applies a rule to the machines of a resource: this one, all of the location, or all of the organization. */
const everyMachine =
  (rule: (caller: Caller, place: Place) => boolean): Rule =>
  (caller, resource) => {
    if (resource.is === 'robot') return rule(caller, resource.place);
    const place = { orgId: resource.orgId, machineId: '', locationId: '' };
    return rule(caller, resource.is === 'location' ? { ...place, locationId: resource.locationId } : place);
  };

const operates = everyMachine(mayOperate);
const owns = everyMachine(ownsMachine);
const owner: Rule = (caller, resource) => isOwner(caller, orgOf(resource));
const member: Rule = (caller, resource) => isMember(caller, orgOf(resource));

/** The same permissions for one machine and for all machines of a location or an organization. */
const ofMachines = {
  /** GetRobot, GetRobotPart. */
  read_robot: operates,
  /** UpdateRobotPart, MarkPartForRestart. */
  control_robot: operates,
  /** GetRobotPartLogs. */
  read_robot_logs: operates,
  /** FleetService.GetConfig, GetRobotPartHistory. */
  read_robot_config: operates,
  /** FleetService.SaveConfig. */
  edit_robot_config: operates,
  /** UpdateRobot, NewRobotPart, DeleteRobot. */
  edit_robot: owns,
  /** FleetService.GetCredentials. */
  read_robot_secrets: owns,
  /** GetRobotAPIKeys, CreateKey for the machine. */
  manage_robot_keys: owns,
} as const satisfies Readonly<Record<string, Rule>>;

/**
 * Permissions by type of resource, each with the calls that it represents. A test compares the results with the calls'
 * behaviour.
 */
export const permissions = {
  organization: {
    /** GetOrganization. */
    read_organization: (caller, resource) => belongsTo(caller, orgOf(resource)),
    /** UpdateOrganization. */
    edit_organization: owner,
    /** ListLocations. */
    read_location: member,
    /** CreateLocation, UpdateLocation. */
    edit_location: owner,
    /** NewRobot. */
    create_robot: owner,
    /** CreateKey, ListKeys. */
    manage_keys: owner,
    /** AuditService.ListAuditEntries. */
    read_audit: owner,
    /** DataService, DatasetService: reading. */
    read_data: (caller, resource) => isReader(caller, orgOf(resource)),
    /** DataService, DatasetService: changing. */
    edit_data: member,
    /** MLTrainingService. */
    train: owner,
    ...ofMachines,
  },
  location: {
    /** GetLocation, ListRobots. */
    read_location: operates,
    /** UpdateLocation, DeleteLocation. */
    edit_location: owner,
    /** NewRobot. */
    create_robot: owner,
    ...ofMachines,
  },
  robot: ofMachines,
} as const satisfies Readonly<Record<Resource['is'], Readonly<Record<string, Rule>>>>;

export const resourceTypes = Object.keys(permissions) as Resource['is'][];

/** The requested permissions that the caller has; unknown names are never granted. */
export function granted(caller: Caller, resource: Resource, asked: readonly string[]): string[] {
  const rules: Readonly<Record<string, Rule>> = permissions[resource.is];
  return asked.filter((name) => Object.hasOwn(rules, name) && rules[name]?.(caller, resource));
}
