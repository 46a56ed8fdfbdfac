import { createHash } from 'node:crypto';
import { constants, zstdCompressSync } from 'node:zlib';
import type { PlatformClient } from '@platform/client';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { makePatch } from '@platform/kit/node';
import type { ProgramFile } from './program-file.ts';
import type { SignedPatch } from './sign.ts';

/** Machines with an older version download the whole file. */
const versionsBack = 5;
/** Maximum size of a patch relative to the whole file; a larger one is not worth it. */
const mostOfWhole = 0.6;
/** Maximum size for the strongest compression, which takes too long for larger patches. */
const smallBytes = 4 << 20;
/** Limits the reader's memory for decompression to 8 MiB. */
const zstdWindowLog = 23;

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * Creates and uploads patches from earlier versions to this one.
 *
 * @param known - whether machines have this patch already.
 * @param onNote - called before each patch, and for patches that are not worth it.
 */
export async function uploadPatches(
  client: PlatformClient,
  program: ProgramFile,
  onNote: (note: string) => void,
  known: (fromSha256: string) => boolean = () => false,
): Promise<SignedPatch[]> {
  const patches: SignedPatch[] = [];
  for (const before of earlier(await client.releaseClient.listReleases(program.name), program)) {
    if (known(hexOf(before.sha256))) continue;
    const old = await downloadRelease(client, before);
    if (!old) {
      onNote(`Version ${before.version} cannot be fetched: no patch from it.`);
      continue;
    }
    const patch = packed(Buffer.concat([...makePatch(old, program.bytes)]));
    if (patch.length > mostOfWhole * program.bytes.length) {
      onNote(`A patch from ${before.version} would be ${patch.length} bytes: left out.`);
      continue;
    }
    onNote(`Patch from ${before.version}: ${patch.length} of ${program.bytes.length} bytes.`);
    patches.push({
      from_sha256: hexOf(before.sha256),
      to_sha256: program.sha256,
      sizeBytes: patch.length,
      sha256: await client.releaseClient.putBlob(patch),
    });
  }
  return patches;
}

/** The versions from which a program gets patches, newest first. */
export function earlier(
  releases: readonly Release[],
  program: Pick<ProgramFile, 'name' | 'platform' | 'sha256'>,
): Release[] {
  const at = ({ publishedOn }: Release): bigint => publishedOn?.seconds ?? 0n;
  return releases
    .filter(
      (one) =>
        one.name === program.name &&
        one.platform === program.platform &&
        one.target !== '' &&
        !one.revokedOn &&
        hexOf(one.sha256) !== program.sha256,
    )
    .toSorted((a, b) => Number(at(b) - at(a)))
    .slice(0, versionsBack);
}

/** The file of a release, from the server of `client` whatever its public name; undefined: not there. */
export async function downloadRelease(
  client: Pick<PlatformClient, 'url'>,
  { url, sha256 }: Pick<Release, 'url' | 'sha256'>,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const answer = await fetch(new URL(new URL(url).pathname, client.url)).catch(() => undefined);
  if (!answer?.ok) return undefined;
  const bytes = Buffer.from(await answer.arrayBuffer());
  return createHash('sha256').update(bytes).digest().equals(sha256) ? bytes : undefined;
}

const packed = (patch: Buffer): Buffer<ArrayBuffer> =>
  zstdCompressSync(patch, {
    params: {
      [constants.ZSTD_c_compressionLevel]: patch.length < smallBytes ? 19 : 12,
      [constants.ZSTD_c_windowLog]: zstdWindowLog,
    },
  });
