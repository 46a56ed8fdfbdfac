import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { attachmentFiles, isAttachmentKind, platformSegment } from '@platform/contract/releases/target-path';
import { formatBytes } from '@platform/kit';
import type { Command } from 'commander';
import { choiceArgument } from '../choices.ts';
import { checkAttachment } from '../releases/attachments.ts';
import { releaseJson } from '../releases/release-json.ts';
import { currentOf } from '../releases/sign.ts';
import type { Run } from '../run.ts';

const programs = { 'platform-agent': 'platform-agent', 'platform-server': 'platform-server' } as const;

/** `release show`: where the SBOM and the licenses of a version are; writes them to a folder. */
export function showCommand(release: Command, run: Run): void {
  release
    .command('show')
    .addArgument(choiceArgument('<name>', 'the program', programs))
    .argument('<version>', 'published version, such as 1.4.0')
    .description('show a version: files, software bill of materials (SBOM) and licenses')
    .option(
      '--save <folder>',
      'write SBOM and licenses to this folder, after checking them against the signed list of files',
    )
    .option('--trusted-root <file>', 'root document with the keys; default: that of the server')
    .action(
      run(async ({ connection, output }, name: string, version: string, flags: ShowFlags) => {
        const { client } = await connection();
        const builds = (await client.releaseClient.listReleases(name)).filter((one) => one.version === version);
        if (builds.length === 0) throw new PlatformError('RELEASE_NOT_FOUND', { name, version });
        const saved = flags.save === undefined ? [] : await saveAll(client, builds, flags.save, flags.trustedRoot);
        output.json({ releases: builds.map(releaseJson), saved });
        for (const one of builds) {
          output.text(`${one.platform}: ${one.url}, ${formatBytes(Number(one.sizeBytes))}`);
          for (const { kind, url } of one.attachments) output.text(`  ${kind}: ${url}`);
          if (one.attachments.length === 0) output.text('  published without SBOM and licenses');
        }
        for (const file of saved) output.text(`Wrote ${file}.`);
      }),
    );
}

interface ShowFlags {
  readonly save?: string;
  readonly trustedRoot?: string;
}

/** @throws PlatformError RELEASE_ATTACHMENT_REFUSED */
async function saveAll(
  client: PlatformClient,
  builds: readonly Release[],
  folder: string,
  trustedRoot: string | undefined,
): Promise<string[]> {
  const { root, targets } = await currentOf(client);
  const trust = { root: trustedRoot === undefined ? root : await readFile(path.resolve(trustedRoot)), targets };
  const files: { file: string; bytes: Buffer }[] = [];
  for (const { name, version, platform, attachments } of builds) {
    for (const { kind, url } of attachments) {
      if (!isAttachmentKind(kind)) continue;
      const answer = await fetch(new URL(new URL(url).pathname, client.url));
      const bytes = Buffer.from(await answer.arrayBuffer());
      checkAttachment(bytes, { kind, name, version, platform }, trust);
      const file = `${name}-${version}-${platformSegment(platform)}.${attachmentFiles[kind]}`;
      files.push({ file: path.join(path.resolve(folder), file), bytes });
    }
  }
  await mkdir(path.resolve(folder), { recursive: true });
  for (const { file, bytes } of files) await writeFile(file, bytes);
  return files.map(({ file }) => file);
}
