import type { FilePin, ReleaseName, DesiredVersion } from './rules/update-info.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { listChannels, listPatches, listReleases, type PatchRow, type ReleaseRow } from './store/releases.ts';

/** The result of resolving a desired version of `version_control` for one platform. */
export type Resolved =
  | { is: 'release'; release: ReleaseRow; /** To this release, smallest first. */ patches: readonly PatchRow[] }
  | { is: 'file'; pin: FilePin }
  /** Nothing was ever published, or the channel points to no version. */
  | { is: 'no version' }
  /** `platforms`: those with a build. */
  | { is: 'no build'; version: string; platforms: readonly string[] };

/** Cache of the published releases, until one changes: all machines of a fleet need the same few. */
export type ReleaseCache = {
  /** @param platform - for example linux/arm64; undefined: any platform with a build of the version. */
  resolve(program: ReleaseName, desired: DesiredVersion, platform: string | undefined): Promise<Resolved>;
};

type CachedReleases = {
  releases: ReadonlyMap<string, readonly ReleaseRow[]>;
  channels: ReadonlyMap<string, string>;
  /** By the hash of the file that they produce. */
  patches: ReadonlyMap<string, readonly PatchRow[]>;
};

export function releaseCache(db: Database, changes: Changes): ReleaseCache {
  const cache: { read: Promise<CachedReleases> | undefined } = { read: undefined };
  changes.subscribe((kind) => {
    if (kind === undefined || kind === 'release') cache.read = undefined;
  });
  const read = (): Promise<CachedReleases> => {
    if (cache.read) return cache.read;
    const reading = readReleases(db);
    cache.read = reading;
    reading.catch(() => {
      if (cache.read === reading) cache.read = undefined;
    });
    return reading;
  };
  return {
    async resolve(program, desired, platform) {
      if (desired.is === 'file') return { is: 'file', pin: desired };
      const { releases, channels, patches } = await read();
      const version =
        desired.is === 'version'
          ? desired.version
          : // Without a dev release, dev means stable.
            (channels.get(`${program} ${desired.channel}`) ?? channels.get(`${program} stable`));
      if (version === undefined) return { is: 'no version' };
      const builds = releases.get(`${program} ${version}`) ?? [];
      const release = platform === undefined ? builds[0] : builds.find((one) => one.platform === platform);
      if (!release) return { is: 'no build', version, platforms: builds.map((one) => one.platform) };
      return { is: 'release', release, patches: patches.get(release.sha256.toString('hex')) ?? [] };
    },
  };
}

async function readReleases(db: Database): Promise<CachedReleases> {
  const rows = await listReleases(db, '');
  return {
    releases: Map.groupBy(rows, (row) => `${row.name} ${row.version}`),
    channels: new Map((await listChannels(db)).map((row) => [`${row.name} ${row.channel}`, row.version])),
    patches: Map.groupBy(await listPatches(db), (row) => row.toSha256.toString('hex')),
  };
}
