import { PlatformError } from '@platform/contract/errors/errors';
import {
  type Absent,
  type Caller,
  isMember,
  requireReaderOrPart,
  type ResourceNames,
} from '../../access/rules/permissions.ts';

/** A package with the names of its owner. */
export type NamedPackage = { orgId: string; publicNamespace: string; name: string };

/** Configurations and arguments use `<owner>/<name>`, registry items `<owner>:<name>`, own packages the name alone. */
const isNamed = ({ packages }: ResourceNames, of: NamedPackage, callerOrgId: string): boolean =>
  [of.orgId, of.publicNamespace].some(
    (owner) => owner !== '' && (packages.has(`${owner}/${of.name}`) || packages.has(`${owner}:${of.name}`)),
  ) ||
  (of.orgId === callerOrgId && packages.has(of.name));

/**
 * Requires that the caller may read the package. Members read every package of their organization. A machine reads
 * those that its configuration names, and a job's script those that its job names.
 *
 * @param namesOf - finds what the caller's configuration or job names; called only for limited callers.
 * @throws PlatformError `absent`, or RESOURCE_NOT_NAMED within the own organization.
 */
export async function requirePackageReader(
  caller: Caller,
  of: NamedPackage,
  namesOf: (caller: LimitedCaller) => Promise<ResourceNames>,
  absent: Absent,
): Promise<void> {
  requireReaderOrPart(caller, of.orgId, absent);
  if (!isLimited(caller) || isNamed(await namesOf(caller), of, caller.orgId)) return;
  throw notNamed(caller.kind, `package ${of.orgId}/${of.name}`);
}

/** The names that limit what the caller may read; undefined: it may read everything of its organization. */
export const limitingNames = async (
  caller: Caller,
  namesOf: (caller: LimitedCaller) => Promise<ResourceNames>,
): Promise<ResourceNames | undefined> => (isLimited(caller) ? namesOf(caller) : undefined);

/** The packages that the caller may read, all of its own organization. */
export const readablePackages = <T extends NamedPackage>(
  caller: Caller,
  packages: readonly T[],
  names: ResourceNames | undefined,
): readonly T[] => (names && isLimited(caller) ? packages.filter((of) => isNamed(names, of, caller.orgId)) : packages);

/**
 * Requires that the caller may add data to these datasets. Members add to every dataset of their organization. A
 * machine, and a caller with rights only on that machine, add to the datasets that its configuration names.
 *
 * @throws PlatformError RESOURCE_NOT_NAMED
 */
export async function requireDatasets(
  caller: Caller,
  { orgId, datasetIds }: { orgId: string; datasetIds: readonly string[] },
  namesOfMachine: () => Promise<ResourceNames>,
): Promise<void> {
  if (datasetIds.length === 0 || isMember(caller, orgId)) return;
  const { datasets } = await namesOfMachine();
  const known = new Set([...datasets].map((id) => id.toLowerCase()));
  const other = datasetIds.find((id) => !known.has(id.toLowerCase()));
  if (other !== undefined) throw notNamed('part', `dataset ${other}`);
}

/** Callers that may read only what their configuration or job names. */
export type LimitedCaller = Extract<Caller, { kind: 'part' | 'script' }>;

const isLimited = (caller: Caller): caller is LimitedCaller => caller.kind === 'part' || caller.kind === 'script';

const notNamed = (kind: LimitedCaller['kind'], resource: string): PlatformError =>
  new PlatformError('RESOURCE_NOT_NAMED', {
    resource,
    by: kind === 'part' ? 'The configuration of this machine' : 'This job',
  });
