import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { PlatformClient } from '@platform/client';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { platformSegment, releasePlatforms, type ReleasePlatform } from '@platform/contract/releases/target-path';
import { errorText } from '@platform/kit';
import { readArchive, type ReleaseFile } from '../archive.ts';
import { checkout } from '../data-folder.ts';
import { ChildFailed, type Children } from './children.ts';
import type { StoryWorld } from './story.ts';

/** What the release for other platforms needs. */
export interface OtherPlatforms {
  readonly client: PlatformClient;
  readonly children: Children;
  /** The programs of this host's platform: the other platforms get the same versions. */
  readonly releases: readonly ReleaseFile[];
  readonly dataDir: string;
  readonly keyFolder: string;
  readonly signal: AbortSignal;
  record: StoryWorld['record'];
  say(text: string): void;
}

/**
 * Builds and publishes the programs of this checkout for the platforms of other hosts, one platform after the other,
 * then patches. The files stay on the server only. It reports a platform that fails; the next start tries it again.
 */
export async function releaseOtherPlatforms(of: OtherPlatforms): Promise<void> {
  const { client, releases, signal, record, say } = of;
  const done: string[] = [];
  try {
    // An archive has no compiler: it holds the programs that it releases.
    const missing = readArchive() ? [] : missingPlatforms(releases, await client.releaseClient.listReleases(''));
    for (const platform of missing) {
      if (signal.aborted) return;
      record('release: other platform begins', { platform });
      const problem = await releaseFor(platform, of);
      if (signal.aborted) return;
      record('release: other platform ends', { platform, ...(problem !== undefined && { problem }) });
      if (problem === undefined) done.push(platform);
      else say(`Not released for ${platform}: ${problem} The next npm start tries it again.`);
    }
    if (done.length > 0) say(`Agent and machine server are released for ${done.join(' and ')}, too.`);
    await run(of, ['apps/cli/src/main.ts', 'release', 'patches', '--keys', of.keyFolder]);
    record('release: patches end');
  } catch (error) {
    // Machines without a patch download the whole file.
    if (!signal.aborted)
      say(`Patches for the releases are missing: ${reasonOf(error)} The next npm start tries it again.`);
  }
}

/** The platforms that lack a program of these versions, or whose program no machine gets. Pure. */
export const missingPlatforms = (
  own: readonly Pick<ReleaseFile, 'name' | 'version' | 'platform'>[],
  published: readonly Pick<Release, 'name' | 'version' | 'platform' | 'channels' | 'target'>[],
): ReleasePlatform[] =>
  releasePlatforms.filter(
    (platform) =>
      !own.some((one) => one.platform === platform) &&
      !own.every(({ name, version }) =>
        published.some(
          (one) =>
            one.name === name &&
            one.version === version &&
            one.platform === platform &&
            one.channels.includes('stable') &&
            one.target !== '',
        ),
      ),
  );

/** @returns why it failed; undefined: it is released */
async function releaseFor(platform: ReleasePlatform, of: OtherPlatforms): Promise<string | undefined> {
  const folder = path.join(of.dataDir, 'builds', platformSegment(platform));
  try {
    const out = await run(of, ['tools/build.ts', '--platform', platform, '--out', folder]);
    const { releases } = JSON.parse(out.trim().split('\n').at(-1) ?? '') as { releases: ReleaseFile[] };
    const files = releases.map(({ file }) => file);
    const channels = ['--channel', 'stable', '--channel', 'dev'];
    await run(of, [
      'apps/cli/src/main.ts',
      'release',
      'publish',
      ...files,
      ...channels,
      '--no-patches',
      '--keys',
      of.keyFolder,
    ]);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

/** The failed program's last line, as a sentence. */
function reasonOf(error: unknown): string {
  const last = error instanceof ChildFailed ? error.tail.findLast((line) => line.trim() !== '') : undefined;
  const words = (last ?? errorText(error)).trim();
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** Runs a program of this checkout to its end. The key is in a file: process lists show arguments. */
const run = ({ children, dataDir, signal }: OtherPlatforms, [file = '', ...args]: string[]): Promise<string> =>
  children.runOnce(
    {
      name: 'releases',
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', path.join(checkout, file), ...args],
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('PLATFORM_'))),
        PLATFORM_CONNECTION_FILE: path.join(dataDir, 'connection.json'),
      },
      cwd: checkout,
      termMs: 5_000,
    },
    signal,
  );
