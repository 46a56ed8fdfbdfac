import { createHash } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { type Exchange, type Route, send, sendBlob, sendText } from '../wire/exchange.ts';
import { findDocument, installerSums, newestDocument, installerSignature } from './store/release-metadata.ts';
import { findPatch } from './store/releases.ts';

/**
 * Public documents by which machines and installers verify releases: GET /tuf/<n>.root.json, /tuf/timestamp.json,
 * /tuf/<n>.snapshot.json, /tuf/<n>.targets.json, /releases/SHA256SUMS with its signature, /releases/deltas/<sha256>.
 */
export const tufRoutes = ({ db, blobs }: { db: Database; blobs: BlobStore }): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/tuf\/(.*)$/,
    async answer(exchange, [name = '']) {
      const document = await found(db, name);
      if (!document) return sendText(exchange.response, 404, 'not found\n');
      // Only the timestamp changes its content without changing its name.
      sendDocument(exchange, document, 'application/json', name !== 'timestamp.json');
    },
  },
  {
    methods: ['GET', 'HEAD'],
    path: /^\/releases\/SHA256SUMS(\.sig)?$/,
    async answer(exchange, [suffix]) {
      const bytes = suffix ? await installerSignature(db) : await installerSums(db);
      if (bytes === undefined) throw new PlatformError('RELEASE_NOT_FOUND', { name: 'SHA256SUMS' });
      const type = suffix ? 'application/octet-stream' : 'text/plain; charset=utf-8';
      sendDocument(exchange, Buffer.from(bytes), type, false);
    },
  },
  {
    methods: ['GET', 'HEAD'],
    path: /^\/releases\/deltas\/([0-9a-f]{64})$/,
    async answer(exchange, [sha256 = '']) {
      const patch = await findPatch(db, Buffer.from(sha256, 'hex'));
      if (!patch) throw new PlatformError('BLOB_NOT_FOUND', { sha256 });
      const contentType = 'application/octet-stream';
      await sendBlob(exchange, blobs, { sha256, sizeBytes: patch.sizeBytes, contentType, isImmutable: true });
    },
  },
];

async function found(db: Database, name: string): Promise<Buffer | undefined> {
  if (name === 'timestamp.json') return (await newestDocument(db, 'timestamp'))?.bytes;
  const [, version, role] = /^([1-9]\d{0,8})\.(root|targets|snapshot)\.json$/.exec(name) ?? [];
  if (role !== 'root' && role !== 'targets' && role !== 'snapshot') return undefined;
  return (await findDocument(db, role, Number(version)))?.bytes;
}

function sendDocument({ request, response }: Exchange, bytes: Buffer, contentType: string, isImmutable: boolean): void {
  const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
  const headers = {
    'content-type': contentType,
    etag,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'public, no-cache',
  };
  if (request.headers['if-none-match'] === etag) return send(response, 304, headers);
  const body = request.method === 'HEAD' ? undefined : bytes;
  send(response, 200, { ...headers, 'content-length': bytes.length }, body);
}
