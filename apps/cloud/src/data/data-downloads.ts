import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { signerOf } from '../access/signed-urls.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { isShown } from './rules/file-kind.ts';
import { parseBinaryDataId } from './rules/manifest.ts';
import { requireReader } from '../access/rules/permissions.ts';
import { mayRead } from './data-filter.ts';
import { findData, type FullDatum } from './store/binary-data.ts';
import type { Images } from '../images/images.ts';
import { brokenBecause } from '../images/rules/image-content.ts';
import type { ThumbnailEdge } from '../images/thumbnails.ts';
import type { Database } from '../database/database.ts';
import { type Exchange, type Route, send, sendBlob } from '../wire/exchange.ts';

/** Path of a datum's content on this server. */
export const dataPath = (binaryDataId: string): string => `/data/${binaryDataId}`;

type DownloadDeps = {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  secrets: { signingKey: Buffer };
  images: Pick<Images, 'thumbnail'>;
};

/**
 * GET, HEAD /data/<organization>/<location>/<file>: the bytes of a datum, with Range; with `?width=200` or 800 a small
 * upright copy of an image. For members, and by signed links.
 */
export const dataDownloads = ({ db, blobs, clock, secrets, images }: DownloadDeps): Route => ({
  methods: ['GET', 'HEAD'],
  path: /^\/data\/([^/]+)\/([^/]*)\/([^/]+)$/,
  async answer(exchange, groups) {
    const binaryDataId = groups.join('/');
    const absent = () => new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId });
    const key = parseBinaryDataId(binaryDataId);
    const signer = signerOf(secrets.signingKey, exchange.url, clock.wall());
    if (signer !== undefined) exchange.admitLink(signer);
    const caller = signer === undefined ? await exchange.caller() : undefined;
    if (!key) throw absent();
    if (caller) requireReader(caller, key.orgId, absent);
    const [datum] = await findData(db, [key]);
    if (datum?.locationId !== key.locationId || (caller && !mayRead(caller, datum))) throw absent();
    const width = exchange.url.searchParams.get('width');
    if (width !== null) return sendThumbnail(exchange, images, datum, edgeOf(width));
    const type = typeOf(datum);
    const isInline = isShown(type);
    await sendBlob(exchange, blobs, {
      sha256: datum.sha256,
      sizeBytes: datum.sizeBytes,
      contentType: isInline ? type : 'application/octet-stream',
      headers: {
        ...harmless,
        'content-disposition': `${isInline ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeURIComponent(nameOf(datum))}`,
      },
    });
  },
});

/** Uploaded content must never run as a page of this origin. */
const harmless = { 'content-security-policy': "default-src 'none'; sandbox" };

/** The media type by content. What says that it is an image and is none is only downloaded. */
function typeOf({ imageKind, imageType, mimeType }: FullDatum): string {
  if (imageKind === null) return mimeType;
  return imageType ?? (mimeType.startsWith('image/') ? 'application/octet-stream' : mimeType);
}

/** @throws PlatformError INVALID_ARGUMENT */
function edgeOf(width: string): ThumbnailEdge {
  if (width === '200') return 200;
  if (width === '800') return 800;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'width', value: width, limit: '200 or 800' });
}

/** @throws PlatformError IMAGE_NOT_USABLE */
async function sendThumbnail(
  { request, response, chargeSent }: Exchange,
  images: Pick<Images, 'thumbnail'>,
  datum: FullDatum,
  edge: ThumbnailEdge,
): Promise<void> {
  const etag = `"${datum.sha256}-${edge}"`;
  const headers = { etag, 'cache-control': 'private, no-cache', ...harmless };
  if (request.headers['if-none-match'] === etag) return send(response, 304, headers);
  const refused = (problem: string) => new PlatformError('IMAGE_NOT_USABLE', { name: nameOf(datum), problem });
  const { imageProblem = null } = datum;
  if (imageProblem !== null) throw refused(imageProblem);
  const made = await images.thumbnail(datum.sha256, edge);
  if (made.is === 'failed') throw refused(brokenBecause(made.message));
  const length = { 'content-type': 'image/webp', 'content-length': made.value.length };
  if (request.method === 'HEAD') return send(response, 200, { ...headers, ...length });
  chargeSent(made.value.length);
  send(response, 200, { ...headers, ...length }, made.value);
}

const nameOf = ({ fileName, id, fileExt }: { fileName: string; id: string; fileExt: string }): string =>
  fileName.split('/').at(-1) || `${id}${fileExt}`;
