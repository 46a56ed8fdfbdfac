import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { callerOf } from '../auth/caller.ts';
import { requireInstallationOwner } from '../rules/permissions.ts';
import { releasePath } from '../rules/update-info.ts';
import { audit } from '../store/audit.ts';
import { insertRelease, listReleases, type ReleaseWithChannels, setChannel } from '../store/releases.ts';
import { baseUrlOf } from './base-url.ts';
import type { Deps } from './routes.ts';

const programs = ['platform-agent', 'platform-server'];
const channels = ['stable', 'dev'];
const versionPattern = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
const platformPattern = /^(linux|windows|darwin)\/(amd64|arm64|arm)$/;

export const releaseRoutes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    const { db, blobs, changes } = deps;
    const message = (row: ReleaseWithChannels, baseUrl: string) => ({
      name: row.name,
      version: row.version,
      platform: row.platform,
      sha256: row.sha256,
      sizeBytes: BigInt(row.sizeBytes),
      url: `${baseUrl}${releasePath(row)}`,
      publishedOn: timestampFromMs(row.publishedOn),
      channels: row.channels,
    });

    router.service(ReleaseService, {
      async publishRelease({ name, version, platform, sha256, sizeBytes, channels: pointed }, context) {
        const caller = callerOf(context);
        requireInstallationOwner(caller);
        check('name', name, programs.includes(name), programs.join(', '));
        check('version', version, versionPattern.test(version), 'a semantic version, for example 1.2.3');
        check('platform', platform, platformPattern.test(platform), 'for example linux/amd64');
        check('sha256', `${sha256.length} bytes`, sha256.length === 32, '32 bytes');
        for (const channel of pointed) check('channels', channel, channels.includes(channel), channels.join(', '));
        const hex = Buffer.from(sha256).toString('hex');
        const stored = await blobs.head(hex);
        if (!stored) throw new PlatformError('BLOB_MISSING', { sha256: hex });
        check(
          'size_bytes',
          String(sizeBytes),
          Number(sizeBytes) === stored.sizeBytes,
          `the file has ${stored.sizeBytes}`,
        );
        await db.transaction().execute(async (trx) => {
          await insertRelease(trx, {
            name,
            version,
            platform,
            sha256: Buffer.from(sha256),
            sizeBytes: stored.sizeBytes,
          });
          for (const channel of pointed) await setChannel(trx, name, channel, version);
          await audit(trx, {
            orgId: null,
            caller,
            action: 'publish release',
            subject: `${name} ${version} ${platform}`,
            details: { sha256: hex, channels: pointed },
          });
        });
        changes.tell('release', name);
        const release = (await listReleases(db, name)).find(
          (row) => row.version === version && row.platform === platform,
        );
        if (!release) throw new PlatformError('RELEASE_NOT_FOUND', { name, version, platform });
        return { release: message(release, baseUrlOf(deps, context)) };
      },
      async listReleases({ name }, context) {
        callerOf(context);
        const baseUrl = baseUrlOf(deps, context);
        return { releases: (await listReleases(db, name)).map((row) => message(row, baseUrl)) };
      },
      async setChannel({ name, channel, version }, context) {
        const caller = callerOf(context);
        requireInstallationOwner(caller);
        check('channel', channel, channels.includes(channel), channels.join(', '));
        await db.transaction().execute(async (trx) => {
          await setChannel(trx, name, channel, version);
          await audit(trx, {
            orgId: null,
            caller,
            action: 'set channel',
            subject: `${name} ${channel}`,
            details: { version },
          });
        });
        changes.tell('release', name);
        return {};
      },
    });
  };

function check(field: string, value: string, isValid: boolean, limit: string): void {
  if (!isValid) throw new PlatformError('INVALID_ARGUMENT', { field, value: value.slice(0, 60), limit });
}
