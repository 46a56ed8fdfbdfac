import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The products of one release have one version. */
export class VersionsDiffer extends Error {}

const manifests = [
  'package.json',
  'apps/agent/package.json',
  'apps/machine-server/package.json',
  'clients/typescript/package.json',
  'clients/python/pyproject.toml',
];

/** @throws VersionsDiffer */
export function releaseVersion(root: string): string {
  const versions = new Map(manifests.map((file) => [file, versionIn(readFileSync(path.join(root, file), 'utf8'))]));
  const [version, ...others] = new Set(versions.values());
  if (version !== undefined && others.length === 0) return version;
  const named = [...versions].map(([file, of]) => `${file}: ${of ?? 'none'}`).join(', ');
  throw new VersionsDiffer(`The products have different versions: ${named}. Set one version in all of these files.`);
}

/** Reads package.json and pyproject.toml. */
const versionIn = (text: string): string | undefined => /^ *"?version"?(?:: | = )"([^"]+)"/m.exec(text)?.[1];
