import type { Problem } from '@platform/contract/config/config';
import { isObject } from '@platform/contract/text/json-object';
import type { Database } from '../database/database.ts';
import { type DesiredPackage, findDesiredPackages } from './store/desired-packages.ts';
import type { JsonObject } from '../database/schema.ts';

/** Limit of lookups; real configurations have fewer packages. */
const mostPackages = 500;

/**
 * Packages and versions in a configuration that the registry does not have for this organization.
 *
 * @param forbidden - paths of names that the caller may not use: it learns nothing about them.
 */
export async function packageProblems(
  db: Database,
  orgId: string,
  config: JsonObject,
  forbidden: ReadonlySet<string> = new Set(),
): Promise<Problem[]> {
  const desired = desiredPackages(config)
    .filter(({ index }) => !forbidden.has(`packages[${index}].package`))
    .slice(0, mostPackages);
  const found = await findDesiredPackages(
    db,
    orgId,
    desired.map(({ of }) => of),
  );
  return desired.flatMap(({ index, of, kind }, n): Problem[] => {
    const { owner, name, version } = of;
    const one = found[n];
    const path = `packages[${index}]`;
    if (!one || one.newest === null)
      return [
        {
          path: `${path}.package`,
          message: `is ${owner}/${name}, and the registry has no such package for this organization.`,
          remedy: `Check organization and name, or publish it. Until then the machine goes without it.`,
          severity: 'warning',
        },
      ];
    if (kind !== undefined && kind !== one.kind)
      return [
        {
          path: `${path}.type`,
          message: `is ${kind}, and ${name} is ${one.kind}.`,
          remedy: `Set the type to ${one.kind}. Until then the machine goes without the package.`,
          severity: 'warning',
        },
      ];
    if (version === '' || version === 'latest' || one.hasVersion) return [];
    return [
      {
        path: `${path}.version`,
        message: `is ${version}, and ${name} has no such version; the newest is ${one.newest}.`,
        remedy: 'Choose a version that was published, or publish this one. Until then the machine goes without it.',
        severity: 'warning',
      },
    ];
  });
}

function desiredPackages(config: JsonObject): { index: number; of: DesiredPackage; kind: string | undefined }[] {
  const listed = config['packages'];
  return (Array.isArray(listed) ? listed : []).flatMap((item: unknown, index) => {
    if (!isObject(item) || typeof item['package'] !== 'string') return [];
    const [owner = '', name = '', ...more] = item['package'].split('/');
    // The schema check reports invalid package names.
    if (owner === '' || name === '' || more.length > 0) return [];
    const version = typeof item['version'] === 'string' ? item['version'] : '';
    const kind = typeof item['type'] === 'string' && item['type'] !== '' ? item['type'] : undefined;
    return [{ index, kind, of: { owner, name, version } }];
  });
}
