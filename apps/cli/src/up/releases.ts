import { makeKeyFolder, readKeyFolders } from '@platform/releases/key-folder';
import { readProgram } from '../archive.ts';
import { readAttachments } from '../releases/attachments.ts';
import { renewDocuments, type SignedAttachment, submitSigned } from '../releases/sign.ts';
import type { StoryWorld } from './story.ts';

/**
 * Publishes the machine server and the agent of this checkout as releases on channel stable. Keys of this data folder
 * sign them. Publishes only missing ones. The agent is for machines that install.sh sets up.
 */
export async function publishReleases({
  releases,
  client,
  keyFolder,
  clock,
  record,
}: Pick<StoryWorld, 'releases' | 'client' | 'keyFolder' | 'clock' | 'record'>): Promise<void> {
  await makeKeyFolder(keyFolder, 1);
  const keys = await readKeyFolders([keyFolder]);
  const there = await client.releaseClient.listReleases('');
  const programs = [];
  const attachments: SignedAttachment[] = [];
  for (const { name, version, platform, file, size, sha256 } of releases) {
    const release = there.find((one) => one.name === name && one.version === version && one.platform === platform);
    const isSame = release === undefined || Buffer.from(release.sha256).toString('hex') === sha256;
    if (isSame && (release?.attachments ?? []).length === 0) {
      for (const { bytes, ...one } of await readAttachments({ name, version, platform, file, sha256 })) {
        await client.releaseClient.putBlob(bytes);
        attachments.push({ ...one, sizeBytes: bytes.length });
      }
    }
    if (release?.channels.includes('stable') && release.target !== '') continue;
    if (!release) await client.releaseClient.putBlob(readProgram(file));
    // A version is immutable: sign the bytes that an earlier checkout published under this number.
    const stored = release
      ? { sizeBytes: Number(release.sizeBytes), sha256: Buffer.from(release.sha256).toString('hex') }
      : { sizeBytes: size, sha256 };
    programs.push({ name, version, platform, ...stored, channels: ['stable', 'dev'] });
  }
  if (programs.length + attachments.length > 0) {
    await submitSigned(client, keys, { programs, attachments }, { threshold: 1, now: clock.wall() });
    for (const { name, version } of programs) record('release: published', { name, version });
  }
  const renewed = await renewDocuments(client, keys, clock.wall(), { rootDays: 180, targetsDays: 45 });
  if (renewed.length > 0) record('release: signed anew', { documents: renewed.join(' ') });
}
