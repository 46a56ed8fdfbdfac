import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type Patch,
  type PublishReleaseRequest,
  type ReleaseAttachment,
  ReleaseService,
} from '@platform/contract/gen/platform/release/v1/release_pb';
import { isSemanticVersion } from '@platform/contract/releases/semantic-version';
import { patchTargetPath, programTargetPath } from '@platform/contract/releases/target-path';
import { platformPattern, type Target } from '@platform/releases/targets';
import type { Clock } from '@platform/kit';
import type { SigningKey } from '@platform/releases/keys';
import { callerOf } from '../access/caller.ts';
import { requireInstallationOwner } from '../access/rules/permissions.ts';
import { audited } from '../access/store/audited.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Changes } from '../database/changes.ts';
import type { Database, Trx } from '../database/database.ts';
import { pageOf, readReleaseToken, releaseToken } from '../rpc/rules/page-tokens.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';
import { otherReleases, releasePath } from './rules/update-info.ts';
import { attachmentKindOf, attachmentMessage, storeAttachments } from './attachments.ts';
import { type AttachmentRow, listAttachments } from './store/attachments.ts';
import { newestDocument, newestSigned } from './store/release-metadata.ts';
import {
  insertPatch,
  insertRelease,
  listReleases,
  newestReleases,
  type NewRelease,
  type PatchRow,
  type ReleaseWithChannels,
  revokeRelease,
  setChannel,
  setTargets,
} from './store/releases.ts';
import { takeOver } from './tuf-repository.ts';

const programs = ['platform-agent', 'platform-server'];
const channels = ['stable', 'dev'];

type ReleaseDeps = {
  db: Database;
  blobs: BlobStore;
  changes: Changes;
  clock: Clock;
  releaseKey: SigningKey;
  addresses: Addresses;
};

const releaseMessage = (row: ReleaseWithChannels, attachments: readonly AttachmentRow[], baseUrl: string) => ({
  name: row.name,
  version: row.version,
  platform: row.platform,
  sha256: row.sha256,
  sizeBytes: BigInt(row.sizeBytes),
  url: `${baseUrl}${releasePath(row)}`,
  publishedOn: timestampFromMs(row.publishedOn),
  channels: row.channels,
  target: row.target ?? '',
  attachments: attachments.filter((one) => isSame(one, row)).map((one) => attachmentMessage(one, baseUrl)),
  ...(row.revokedOn !== null && { revokedOn: timestampFromMs(row.revokedOn) }),
});

const readCalls = (deps: Pick<ReleaseDeps, 'db' | 'releaseKey' | 'addresses'>) => {
  const { db, releaseKey } = deps;
  return {
    async listReleases({ name, pageSize, pageToken }, context) {
      callerOf(context);
      const page = pageOf({ pageSize, pageToken }, readReleaseToken);
      const baseUrl = baseUrlOf(deps, context);
      const { rows, isCut } = await newestReleases(db, name, page);
      const attachments = await listAttachments(db, name);
      const last = rows.at(-1);
      return {
        releases: rows.map((row) => releaseMessage(row, attachments, baseUrl)),
        truncated: isCut,
        nextPageToken: isCut && last ? releaseToken(last) : '',
      };
    },

    async getMetadata(_, context) {
      callerOf(context);
      const { root, targets } = await newestSigned(db);
      return {
        root: root?.bytes ?? new Uint8Array(),
        targets: targets?.bytes ?? new Uint8Array(),
        onlineKey: JSON.stringify(releaseKey.publicKey),
      };
    },
  } satisfies Partial<ServiceImpl<typeof ReleaseService>>;
};

const publicationCalls = (deps: ReleaseDeps) => {
  const { db, blobs, clock, releaseKey } = deps;
  return {
    async publishRelease(request, context) {
      const caller = callerOf(context);
      requireInstallationOwner(caller);
      const release = await releaseOf(request, blobs);
      const { name, version, platform } = release;
      await audited(deps, caller, async (trx, record) => {
        const isSigned = (await newestDocument(trx, 'root')) !== undefined;
        await insertRelease(trx, release);
        for (const channel of request.channels) await setChannel(trx, name, channel, version);
        const stored = (await listReleases(trx, name)).find((row) => isSame(row, release));
        // Agents of the other product check no signatures.
        if (isSigned && !stored?.target && !otherReleases.includes(name))
          throw new PlatformError('RELEASE_UNSIGNED', { name, version, platform });
        await record({ orgId: null, action: 'publish release', ...entryOf(release, request.channels) }, [
          'release',
          name,
        ]);
      });

      const stored = (await listReleases(db, name)).find((row) => isSame(row, release));
      if (!stored) throw new PlatformError('RELEASE_NOT_FOUND', { name, version, platform });
      return { release: releaseMessage(stored, await listAttachments(db, name), baseUrlOf(deps, context)) };
    },

    async submitMetadata(request, context) {
      const caller = callerOf(context);
      requireInstallationOwner(caller);
      const releases: NewRelease[] = [];
      for (const one of request.releases) releases.push(await releaseOf(one, blobs));
      const patches: PatchRow[] = [];
      for (const one of request.patches) patches.push(await patchOf(one, blobs));
      const attachments: AttachmentRow[] = [];
      for (const one of request.attachments) attachments.push(await attachmentOf(one, blobs));
      await audited(deps, caller, async (trx, record) => {
        const taken = await takeOver(trx, request, releaseKey, clock.wall());
        await insertListed(trx, taken.targets, { releases, patches });
        await storeAttachments(trx, blobs, taken.targets, attachments);
        const programNames = await setTargets(trx, taken.programs);
        const pointed = await pointChannels(trx, releases, request.releases);
        const subject =
          releases.map(({ name, version, platform }) => `${name} ${version} ${platform}`).join(', ') ||
          `documents root ${taken.versions.root}, targets ${taken.versions.targets}`;
        const details = { ...taken.versions, patches: patches.length, channels: pointed };
        const names = new Set([...programNames, ...releases.map(({ name }) => name)]);
        await record(
          { orgId: null, action: 'sign releases', subject, details },
          // The documents alone may be new.
          ...[...names, 'documents'].map((name) => ['release', name] as const),
        );
      });
      const baseUrl = baseUrlOf(deps, context);
      const stored = (await listReleases(db, '')).filter((row) => releases.some((one) => isSame(row, one)));
      const attached = await listAttachments(db, '');
      return { releases: stored.map((row) => releaseMessage(row, attached, baseUrl)) };
    },
  } satisfies Partial<ServiceImpl<typeof ReleaseService>>;
};

const channelCalls = (deps: { db: Database; changes: Changes }) =>
  ({
    async setChannel({ name, channel, version }, context) {
      const caller = callerOf(context);
      requireInstallationOwner(caller);
      check('channel', channel, channels.includes(channel), channels.join(', '));
      await audited(deps, caller, async (trx, record) => {
        await setChannel(trx, name, channel, version);
        const subject = `${name} ${channel}`;
        await record({ orgId: null, action: 'set channel', subject, details: { version } }, ['release', name]);
      });
      return {};
    },

    async revokeRelease({ name, version }, context) {
      const caller = callerOf(context);
      requireInstallationOwner(caller);
      await audited(deps, caller, async (trx, record) => {
        await revokeRelease(trx, name, version);
        const listed = await listReleases(trx, name, { isRevokedToo: true });
        const signed = listed.find((row) => row.version === version && row.target !== null);
        if (signed) {
          const problem = `the signed targets still list ${signed.target}`;
          throw new PlatformError('METADATA_REFUSED', { problem });
        }
        await record({ orgId: null, action: 'revoke release', subject: `${name} ${version}` }, ['release', name]);
      });
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof ReleaseService>>;

export const releaseRoutes =
  (deps: ReleaseDeps) =>
  (router: ConnectRouter): void => {
    router.service(ReleaseService, { ...readCalls(deps), ...publicationCalls(deps), ...channelCalls(deps) });
  };

/** Inserts the programs and patches, which the signed targets must list. @throws PlatformError METADATA_REFUSED */
async function insertListed(
  trx: Trx,
  targets: readonly Target[],
  { releases, patches }: { releases: readonly NewRelease[]; patches: readonly PatchRow[] },
): Promise<void> {
  for (const release of releases) {
    requireTarget(targets, programTargetPath(release), release);
    await insertRelease(trx, release);
  }
  for (const patch of patches) {
    const [fromSha256, toSha256] = [patch.fromSha256.toString('hex'), patch.toSha256.toString('hex')];
    requireTarget(targets, patchTargetPath({ fromSha256, toSha256 }), patch);
    await insertPatch(trx, patch);
  }
}

/** Points each release's requested channels to it. @returns the versions by `<name> <channel>`. */
async function pointChannels(
  trx: Trx,
  releases: readonly NewRelease[],
  requests: readonly PublishReleaseRequest[],
): Promise<Record<string, string>> {
  const pointed: Record<string, string> = {};
  for (const [i, { name, version }] of releases.entries()) {
    for (const channel of requests[i]?.channels ?? []) {
      await setChannel(trx, name, channel, version);
      pointed[`${name} ${channel}`] = version;
    }
  }
  return pointed;
}

type Identity = Pick<NewRelease, 'name' | 'version' | 'platform'>;
const isSame = (row: Identity, one: Identity): boolean =>
  row.name === one.name && row.version === one.version && row.platform === one.platform;
const entryOf = ({ name, version, platform, sha256 }: NewRelease, pointed: readonly string[]) => ({
  subject: `${name} ${version} ${platform}`,
  details: { sha256: sha256.toString('hex'), channels: pointed },
});

/** Validates a requested release and checks that its file is stored. */
async function releaseOf(request: PublishReleaseRequest, blobs: BlobStore): Promise<NewRelease> {
  const { name, version, platform, sizeBytes, channels: pointed } = request;
  const names = [...programs, ...otherReleases];
  check('name', name, names.includes(name), names.join(', '));
  check('version', version, isSemanticVersion(version), 'a semantic version, for example 1.2.3');
  check('platform', platform, platformPattern.test(platform), 'for example linux/amd64');
  for (const channel of pointed) check('channels', channel, channels.includes(channel), channels.join(', '));
  const sha256 = checkedHash('sha256', request.sha256);
  return { name, version, platform, sha256, sizeBytes: await storedBytes(blobs, sha256, sizeBytes) };
}

async function patchOf(request: Patch, blobs: BlobStore): Promise<PatchRow> {
  const sha256 = checkedHash('patches.sha256', request.sha256);
  return {
    fromSha256: checkedHash('patches.from_sha256', request.fromSha256),
    toSha256: checkedHash('patches.to_sha256', request.toSha256),
    sha256,
    sizeBytes: await storedBytes(blobs, sha256, request.sizeBytes),
  };
}

async function attachmentOf(request: ReleaseAttachment, blobs: BlobStore): Promise<AttachmentRow> {
  const { name, version, platform, sizeBytes } = request;
  const kind = attachmentKindOf(request);
  const sha256 = checkedHash('attachments.sha256', request.sha256);
  return { name, version, platform, kind, sha256, sizeBytes: await storedBytes(blobs, sha256, sizeBytes) };
}

function checkedHash(field: string, sha256: Uint8Array): Buffer {
  check(field, `${sha256.length} bytes`, sha256.length === 32, '32 bytes');
  return Buffer.from(sha256);
}

async function storedBytes(blobs: BlobStore, sha256: Buffer, sizeBytes: bigint): Promise<number> {
  const hex = sha256.toString('hex');
  // `touch` keeps sweeps from deleting it before the release references it.
  const stored = (await blobs.touch(hex)) ? await blobs.head(hex) : undefined;
  if (!stored) throw new PlatformError('BLOB_MISSING', { sha256: hex });
  const isRight = Number(sizeBytes) === stored.sizeBytes;
  check('size_bytes', String(sizeBytes), isRight, `the file has ${stored.sizeBytes}`);
  return stored.sizeBytes;
}

function requireTarget(targets: readonly Target[], path: string, file: { sha256: Buffer; sizeBytes: number }): void {
  const target = targets.find((one) => one.path === path);
  if (target?.sha256 === file.sha256.toString('hex') && target.sizeBytes === file.sizeBytes) return;
  throw new PlatformError('METADATA_REFUSED', { problem: `the signed targets do not list ${path} with these bytes` });
}

function check(field: string, value: string, isValid: boolean, limit: string): void {
  if (!isValid) throw new PlatformError('INVALID_ARGUMENT', { field, value: value.slice(0, 60), limit });
}
