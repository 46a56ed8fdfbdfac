// What a release of all products consists of.
import { platformSegment, releasePlatforms } from '@platform/contract/releases/target-path';
import { serverPlatforms, type ServerPlatform } from '../server/stage.ts';

export const archivePlatforms = Object.keys(serverPlatforms) as readonly ServerPlatform[];

/** A program for machines, by its file name. */
export interface ReleasedProgram {
  readonly name: 'platform-agent' | 'platform-server';
  readonly platform: string;
  readonly file: string;
}

export const releasedPrograms = (version: string): ReleasedProgram[] =>
  (['platform-agent', 'platform-server'] as const).flatMap((name) =>
    releasePlatforms.map((platform) => ({
      name,
      platform,
      file: `${name}-${version}-${platformSegment(platform)}${platform.startsWith('windows/') ? '.exe' : ''}`,
    })),
  );

/** Written beside each program by tools/release.ts. */
export const besideProgram = ['.json', '.licenses.txt', '.sbom.cdx.json', '.sha256'] as const;

export const archiveName = (version: string, platform: ServerPlatform): string =>
  `platform-management-${version}-${platform}.tar.gz`;

/** Written beside each archive by tools/server-archive.ts with a key. */
const besideArchive = ['.licenses.txt', '.sbom.cdx.json', '.sha256', '.sha256.sig'] as const;

export const typescriptClient = (version: string): string => `platform-client-${version}.tgz`;
export const pythonClient = (version: string): { wheel: string; source: string } => ({
  wheel: `platform_client-${version}-py3-none-any.whl`,
  source: `platform_client-${version}.tar.gz`,
});

/** Sums of all files of a release, in the format of sha256sum, and the signature of that list. */
export const sumsFile = 'SHA256SUMS';
export const signatureFile = 'SHA256SUMS.sig';

/** All files of a release besides its sums. */
export function filesOf(version: string, servers: readonly ServerPlatform[]): string[] {
  const { wheel, source } = pythonClient(version);
  return [
    ...releasedPrograms(version).flatMap(({ file }) => [file, ...besideProgram.map((ending) => `${file}${ending}`)]),
    ...servers.flatMap((platform) => {
      const file = archiveName(version, platform);
      return [file, ...besideArchive.map((ending) => `${file}${ending}`)];
    }),
    typescriptClient(version),
    wheel,
    source,
  ].toSorted();
}
