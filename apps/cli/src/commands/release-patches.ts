import type { PlatformClient } from '@platform/client';
import type { Command } from 'commander';
import { systemClock } from '@platform/kit/node';
import { targetsOf } from '@platform/releases/documents';
import { isPatch } from '@platform/releases/targets';
import { downloadRelease, earlier, uploadPatches } from '../releases/patches.ts';
import { currentOf, submitSigned } from '../releases/sign.ts';
import { openKeys } from '../releases/keys.ts';
import type { Run } from '../run.ts';

/** `release patches`: makes what `release publish --no-patches` left for later. */
export function patchesCommand(release: Command, run: Run, keysOption: readonly [string, string]): void {
  release
    .command('patches')
    .description('create missing patches to the versions of the channels, from up to five earlier versions')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, flags: { keys?: string[] }) => {
        const { client } = await connection();
        const ring = await openKeys(flags);
        const releases = await client.releaseClient.listReleases('');
        const known = await knownPatches(client);
        let made = 0;
        for (const { name, version, platform, ...one } of releases) {
          if (one.channels.length === 0 || one.target === '' || one.revokedOn) continue;
          const sha256 = hexOf(one.sha256);
          const isKnown = (from: string): boolean => known.has(`${from} ${sha256}`);
          if (earlier(releases, { name, platform, sha256 }).every((before) => isKnown(hexOf(before.sha256)))) continue;
          const bytes = await downloadRelease(client, one);
          if (!bytes) continue;
          const program = { name, version, platform, file: one.url, bytes, sha256 };
          const patches = await uploadPatches(client, program, output.note, isKnown);
          if (patches.length === 0) continue;
          await submitSigned(client, ring, { programs: [], patches }, { threshold: 1, now: systemClock.wall() });
          made += patches.length;
        }
        output.json({ patches: made });
        output.text(made === 0 ? 'No patch was missing.' : `Made ${made} patches.`);
      }),
    );
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The signed patches, as "<from> <to>". */
async function knownPatches(client: PlatformClient): Promise<Set<string>> {
  const { targets } = await currentOf(client);
  const customs = targets.length === 0 ? [] : targetsOf(targets).map(({ custom }) => custom);
  return new Set(customs.filter(isPatch).map(({ from_sha256, to_sha256 }) => `${from_sha256} ${to_sha256}`));
}
