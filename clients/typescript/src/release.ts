import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type {
  GetMetadataResponse,
  Release,
  ReleaseService,
  SubmitMetadataRequestSchema,
} from '@platform/contract/gen/platform/release/v1/release_pb';
import type { Connection } from './connection.ts';
import { allPages } from './pages.ts';
import { webCrypto } from './runtime.ts';

/** A program to publish. */
export interface ReleaseFile {
  readonly name: 'platform-agent' | 'platform-server' | 'viam-agent' | 'viam-server';
  readonly version: string;
  /** linux/amd64, linux/arm64, windows/amd64. */
  readonly platform: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Channels (stable, dev) that should point to this version immediately. */
  readonly channels?: readonly string[];
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const digest = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await (await webCrypto()).subtle.digest('SHA-256', bytes));

/** Releases of agent and machine server. Publishing is for owners of the installation. */
export class ReleaseClient {
  readonly #rpc: Client<typeof ReleaseService>;
  readonly #connection: Connection;

  constructor(rpc: Client<typeof ReleaseService>, connection: Connection) {
    this.#rpc = rpc;
    this.#connection = connection;
  }

  /** Uploads a file under its hash; idempotent. @returns its sha256 in hex. */
  async putBlob(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    const sha256 = hex(await digest(bytes));
    await this.#connection.request(`/blobs/${sha256}`, { method: 'PUT', body: bytes });
    return sha256;
  }

  /** Uploads and publishes a program. @throws PlatformApiError RELEASE_EXISTS if the version has other bytes. */
  async publish(file: ReleaseFile): Promise<Release> {
    await this.putBlob(file.bytes);
    const { name, version, platform } = file;
    const answer = await this.#rpc.publishRelease({
      name,
      version,
      platform,
      sha256: await digest(file.bytes),
      sizeBytes: BigInt(file.bytes.length),
      channels: [...(file.channels ?? [])],
    });
    if (!answer.release) throw new Error('the server answered PublishRelease without a release');
    return answer.release;
  }

  /** Returns the current signed documents, from which a publisher signs the next ones. */
  getMetadata(): Promise<GetMetadataResponse> {
    return this.#rpc.getMetadata({});
  }

  /** Submits signed documents with their releases and patches, all or nothing. Upload the files first. */
  async submitMetadata(request: MessageInitShape<typeof SubmitMetadataRequestSchema>): Promise<Release[]> {
    return (await this.#rpc.submitMetadata(request)).releases;
  }

  /** Revokes a version; the signed documents must no longer list it. */
  async revoke(name: string, version: string): Promise<void> {
    await this.#rpc.revokeRelease({ name, version });
  }

  /** Lists every release of a program, newest first. An empty name lists all programs. */
  async listReleases(name: string): Promise<Release[]> {
    return allPages(async (pageToken) => {
      const { releases, nextPageToken } = await this.#rpc.listReleases({ name, pageToken });
      return { rows: releases, nextPageToken };
    });
  }

  /** Points a channel to an existing version. */
  async setChannel(name: string, channel: string, version: string): Promise<void> {
    await this.#rpc.setChannel({ name, channel, version });
  }
}
