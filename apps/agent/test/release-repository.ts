// Signed releases of a management server over real HTTP, made by the production code; and the changes that
// a man in the middle could make.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  readRoot,
  readSnapshot,
  readTargets,
  readTimestamp,
  signRoot,
  signSnapshot,
  signTimestamp,
  type Roles,
} from '@platform/releases/documents';
import { makeKey, readKey, type SigningKey } from '@platform/releases/keys';
import type { KeyRing } from '@platform/releases/key-folder';
import { renewed } from '@platform/releases/online';
import { firstRoot, nextRoot, nextTargets, patchTarget, programTarget } from '@platform/releases/publication';
import type { Target } from '@platform/releases/targets';

export const newKey = (kind: 'ed25519' | 'p256' = 'ed25519'): SigningKey => readKey(makeKey(kind), 'test');
export const newRing = (rootKeys = 3): KeyRing => ({
  root: Array.from({ length: rootKeys }, () => newKey()),
  targets: [newKey()],
  installer: [newKey('p256')],
  folders: ['test'],
});
export const sha256Of = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

/** A test program: its content is its name. */
export const program = (version: string, platform = 'linux/amd64', name = 'platform-agent'): Target => {
  const text = `${name} ${version} ${platform}`;
  return programTarget({ name, version, platform }, { sizeBytes: text.length, sha256: sha256Of(text) });
};
export const patch = (from: Target, to: Target, text: string): Target =>
  patchTarget({ from_sha256: from.sha256, to_sha256: to.sha256 }, { sizeBytes: text.length, sha256: sha256Of(text) });

/** One document by its name below /tuf/, or a handler that answers in its place. */
export type Page = Buffer | ((response: ServerResponse) => void);

export class Repository {
  readonly pages = new Map<string, Page>();
  readonly asked: string[] = [];
  ring: KeyRing;
  online: SigningKey;
  root: Buffer;
  targets: Buffer = Buffer.alloc(0);
  snapshot: Buffer | undefined;
  timestamp: Buffer | undefined;
  /** ms since 1970. */
  now: number;

  constructor({ ring = newRing(), threshold = 2, now }: { ring?: KeyRing; threshold?: number; now: number }) {
    this.ring = ring;
    this.online = newKey();
    this.now = now;
    this.root = firstRoot(ring, threshold, this.online.publicKey, now);
    this.pages.set('1.root.json', this.root);
  }

  publish(...add: Target[]): void {
    this.targets = nextTargets({ root: this.root, targets: this.targets }, this.ring, this.now, { add }).targets;
    this.pages.set(`${readTargets(this.targets).signed.version}.targets.json`, this.targets);
    this.renew();
  }

  /** Renews the documents, as the server does every hour. */
  renew(): void {
    const { root, targets, snapshot, timestamp } = this;
    const made = renewed({ root, targets, snapshot, timestamp }, this.online, this.now);
    if (made.snapshot) this.serveSnapshot(made.snapshot);
    if (made.timestamp) this.serveTimestamp(made.timestamp);
  }

  /** Signs the next root document with the keys of `ring` and the previous keys. */
  rotate(change: (roles: Roles) => Roles, ring = this.ring): void {
    this.root = nextRoot(this.root, { ...ring, root: [...this.ring.root, ...ring.root] }, this.now, change);
    this.ring = ring;
    this.pages.set(`${readRoot(this.root).signed.version}.root.json`, this.root);
  }

  serveSnapshot(bytes: Buffer): void {
    this.snapshot = bytes;
    this.pages.set(`${readSnapshot(bytes).signed.version}.snapshot.json`, bytes);
  }

  serveTimestamp(bytes: Buffer): void {
    this.timestamp = bytes;
    this.pages.set('timestamp.json', bytes);
  }

  /** Copies all served documents, so that a test can replay them later. */
  copy(): Map<string, Page> {
    return new Map(this.pages);
  }

  /** Signs the documents that an attacker with these keys could create from the current ones. */
  forgeOnline(version: number, targets: Buffer, keys: readonly SigningKey[]): void {
    this.pages.set(`${readTargets(targets).signed.version}.targets.json`, targets);
    this.serveSnapshot(signSnapshot({ version, targets, now: this.now, keys }));
    this.serveTimestamp(signTimestamp({ version, snapshot: this.snapshot ?? targets, now: this.now, keys }));
  }

  forgeRoot(version: number, roles: Roles, keys: readonly SigningKey[]): void {
    this.pages.set(`${version}.root.json`, signRoot({ version, roles, now: this.now, keys }));
  }

  get timestampVersion(): number {
    return this.timestamp ? readTimestamp(this.timestamp).signed.version : 0;
  }

  async serve(): Promise<AsyncDisposable & { url: string }> {
    const server = createServer((request, response) => {
      const name = (request.url ?? '').replace('/tuf/', '');
      this.asked.push(name);
      const page = this.pages.get(name);
      if (typeof page === 'function') page(response);
      else response.writeHead(page ? 200 : 404).end(page);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}`,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }
}
