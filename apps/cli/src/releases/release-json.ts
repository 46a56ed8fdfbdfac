import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { isoTime } from '../output.ts';

export const releaseJson = (one: Release): Record<string, unknown> => ({
  name: one.name,
  version: one.version,
  platform: one.platform,
  channels: one.channels,
  size_bytes: Number(one.sizeBytes),
  sha256: Buffer.from(one.sha256).toString('hex'),
  url: one.url,
  target: one.target,
  signed: one.target !== '',
  revoked: one.revokedOn !== undefined,
  published_on: isoTime(one.publishedOn),
  attachments: one.attachments.map(({ kind, url, sha256, sizeBytes }) => ({
    kind,
    url,
    sha256: Buffer.from(sha256).toString('hex'),
    size_bytes: Number(sizeBytes),
  })),
});
