import { create } from '@bufbuild/protobuf';
import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { DataCaptureUploadRequest } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RobotConfigSchema, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { RobotConfig } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checksumHeader, crc32c, formatChecksum } from '@platform/sandbox/package-checksum';

/** A package archive as the download URL serves it; its metadata may be wrong on purpose. */
export interface Archive {
  bytes: Buffer;
  contentType?: string;
  crc?: number;
  /** Each next response breaks its connection after this number of bytes. */
  breaksAfter?: number[];
  /** The break waits for this promise. */
  beforeBreak?: () => Promise<void>;
}

/** The part of a machine's configuration that a machine server reads. */
export interface WantedConfig {
  readonly components?: { name: string; type: string; model: string; attributes?: JsonObject }[];
  readonly services?: { name: string; type: string; model?: string; attributes?: JsonObject }[];
  readonly packages?: { name: string; package: string; version: string; type: string }[];
  readonly maintenance?: { sensorName: { name: string }; maintenanceAllowedKey: string };
}

/** A management server for one machine: real HTTP and RPC, everything else in memory. */
export interface FakeCloud extends AsyncDisposable {
  readonly url: string;
  readonly partId: string;
  readonly secret: string;
  config: RobotConfig;
  readonly logs: LogEntry[];
  readonly uploads: DataCaptureUploadRequest[];
  /** Bodies of package downloads, by `<id>/<version>`. */
  readonly archives: Map<string, Archive>;
  /** Requested byte ranges. */
  readonly ranges: string[];
  /** Reported schemas by their SHA-256, and what the machine server asked for. */
  readonly schemas: Map<string, string>;
  readonly schemaCalls: string[];
  /** Errors for the next calls that store schemas. */
  readonly schemaFailures: Code[];
  /** Errors for the next uploads; if empty, uploads succeed. */
  readonly uploadFailures: Code[];
  /** Number of issued tokens; tokens below `validFrom` are invalid. */
  tokens: number;
  validFrom: number;
  setConfig(revision: number, config: WantedConfig): void;
  /** Closes every new connection at once. */
  goOffline(): void;
  goOnline(): void;
}

export async function fakeCloud(): Promise<FakeCloud> {
  const state = { isOnline: true };
  const partId = crypto.randomUUID();
  const secret = crypto.randomUUID();
  const server = createServer((request, response) => {
    if (!state.isOnline) return void request.socket.destroy();
    if (request.url?.startsWith('/packages/')) return servePackage(cloud, request, response);
    return rpc(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cloud: FakeCloud = {
    url,
    partId,
    secret,
    config: create(RobotConfigSchema, { cloud: { id: partId } }),
    logs: [],
    uploads: [],
    archives: new Map(),
    ranges: [],
    schemas: new Map(),
    schemaCalls: [],
    schemaFailures: [],
    uploadFailures: [],
    tokens: 0,
    validFrom: 1,
    setConfig: (revision, config) => {
      cloud.config = create(RobotConfigSchema, { cloud: { id: partId }, ...config, revisionNumber: BigInt(revision) });
    },
    goOffline: () => {
      state.isOnline = false;
      server.closeAllConnections();
    },
    goOnline: () => {
      state.isOnline = true;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const rpc = connectNodeAdapter({ routes: (router) => addRoutes(router, cloud) });
  return cloud;
}

function addRoutes(router: Parameters<Parameters<typeof connectNodeAdapter>[0]['routes']>[0], cloud: FakeCloud): void {
  const allow = (headers: Headers, id?: string) => {
    const token = Number(/^Bearer token-(\d+)$/.exec(headers.get('authorization') ?? '')?.[1]);
    if (!(token >= cloud.validFrom)) throw new ConnectError('token not valid', Code.Unauthenticated);
    if (id !== undefined && id !== cloud.partId) throw new ConnectError('no such part', Code.NotFound);
  };
  router.service(AuthService, {
    authenticate: ({ entity, credentials }) => {
      const isRight =
        entity === cloud.partId && credentials?.type === 'robot-secret' && credentials.payload === cloud.secret;
      if (!isRight) throw new ConnectError('wrong secret', Code.Unauthenticated);
      cloud.tokens += 1;
      return { accessToken: `token-${cloud.tokens}` };
    },
  });
  router.service(RobotService, {
    config: ({ id }, { requestHeader }) => {
      allow(requestHeader, id);
      return { config: cloud.config };
    },
    log: ({ id, logs }, { requestHeader }) => {
      allow(requestHeader, id);
      for (const line of logs) {
        const isKnown = cloud.logs.some((l) => l.bootId === line.bootId && l.sequence === line.sequence);
        if (!isKnown) cloud.logs.push(line);
      }
      return {};
    },
  });
  router.service(DataSyncService, {
    dataCaptureUpload: (request, { requestHeader }) => {
      allow(requestHeader, request.metadata?.partId);
      const code = cloud.uploadFailures.shift();
      if (code !== undefined) throw new ConnectError('set to fail', code);
      cloud.uploads.push(request);
      return { binaryDataId: `org/location/${cloud.uploads.length}` };
    },
  });
  router.service(FleetService, {
    storeServerSchemas: ({ partId, sha256, schemasJson }, { requestHeader }) => {
      allow(requestHeader, partId);
      cloud.schemaCalls.push(schemasJson === '' ? 'asks' : 'sends');
      const code = cloud.schemaFailures.shift();
      if (code !== undefined) throw new ConnectError('set to fail', code);
      if (schemasJson !== '') cloud.schemas.set(sha256, schemasJson);
      return { stored: cloud.schemas.has(sha256) };
    },
  });
  router.service(PackageService, {
    getPackage: ({ id, version, includeUrl }, { requestHeader }) => {
      allow(requestHeader);
      if (!cloud.archives.has(`${id}/${version}`)) throw new ConnectError('no such package', Code.NotFound);
      return { package: { id, ...(includeUrl && { url: `${cloud.url}/packages/${id}/${version}.tar.gz` }) } };
    },
  });
}

function servePackage(cloud: FakeCloud, request: IncomingMessage, response: ServerResponse): void {
  const path = /^\/packages\/(.+)\.tar\.gz$/.exec(request.url ?? '')?.[1] ?? '';
  const archive = cloud.archives.get(path);
  if (request.headers['part_id'] !== cloud.partId || request.headers['secret'] !== cloud.secret) {
    response.writeHead(401).end();
    return;
  }
  if (archive === undefined) {
    response.writeHead(404).end();
    return;
  }
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  if (request.headers.range !== undefined) cloud.ranges.push(request.headers.range);
  const from = Number(range?.[1] ?? 0);
  const body = archive.bytes.subarray(from);
  response.writeHead(range ? 206 : 200, {
    'content-type': archive.contentType ?? 'application/x-gzip',
    'content-length': body.length,
    [checksumHeader]: formatChecksum(archive.crc ?? crc32c(archive.bytes)),
    'accept-ranges': 'bytes',
  });
  if (request.method === 'HEAD') return void response.end();
  const cut = archive.breaksAfter?.shift();
  if (cut === undefined) return void response.end(body);
  response.write(body.subarray(0, cut), () => void archive.beforeBreak?.().then(() => request.socket.destroy()));
}
