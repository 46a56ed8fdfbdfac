import { PlatformError } from '@platform/contract/errors/errors';
import { isProvenUrl } from '@platform/contract/provisioning/proven-url';
import { TrustedMetadataStore } from 'tuf-js/dist/store.js';
import { EqualVersionError, ExpiredMetadataError } from 'tuf-js/dist/error.js';
import type { Disk, Web } from '../../os/ports.ts';
import { readChecked, writeChecked } from '../../storage/checked-file.ts';
import { fetchDocument } from './document-fetch.ts';
import { belowFloor, floorFile, hashOf, parseFloor, type Floor } from './floor.ts';
import type { ReleaseTime } from './release-time.ts';
import type { Context } from '../../health/context.ts';

// The client of The Update Framework (specification 1.0.31, chapter 5). tuf-js verifies signatures, versions, hashes
// and expiry. Fetching with limits, storage, the floor and the current time are ours. Decision 0012.

export interface RefreshParts extends Pick<Context, 'disk' | 'clock' | 'log'> {
  web: Web;
  /** https://host, without a trailing slash. */
  appAddress: string;
  time: () => ReleaseTime;
  /** Receives a document that looks expired by a clock that is not trusted; undefined: none does. */
  late: (document: ExpiredDocument | undefined) => void;
}

/** A document that may have expired. */
export interface ExpiredDocument {
  role: string;
  expires: string;
}

/** A file that the signed targets list. */
export interface ListedFile {
  sizeBytes: number;
  sha256: string;
  custom: Readonly<Record<string, unknown>>;
}

/** The targets that are trusted now. */
export interface Trusted {
  find(target: string): ListedFile | undefined;
  /** The clock is trusted, so these documents have certainly not expired. */
  isFresh: boolean;
  rootVersion: number;
}

const folder = 'state/tuf';
const limits = { root: 512 * 1024, timestamp: 16 * 1024, snapshot: 256 * 1024, targets: 1024 * 1024 } as const;
type RoleName = keyof typeof limits;
/** No owner rotates the root keys more often between two refreshes. */
const mostRotations = 64;

const local = (role: RoleName): string => `${folder}/${role}.json`;
const readLocal = (disk: Disk, role: RoleName): Promise<Uint8Array | undefined> =>
  disk.read(local(role)).catch(() => undefined);
async function keep(disk: Disk, role: RoleName, bytes: Uint8Array): Promise<void> {
  const before = await readLocal(disk, role);
  if (!before || !Buffer.from(before).equals(bytes)) await disk.write(local(role), bytes);
}

/**
 * Updates the documents from the management server and returns what they list.
 *
 * @throws PlatformError METADATA_UNREACHABLE, METADATA_EXPIRED, RELEASE_UNTRUSTED, TRUSTED_ROOT_MISSING, DISK_FULL
 */
export async function refresh(parts: RefreshParts, signal: AbortSignal): Promise<Trusted> {
  const { disk, web, appAddress, clock, log } = parts;
  const fetched = async (name: string, limitBytes: number): Promise<Buffer | undefined> => {
    const bytes = await fetchDocument(web, `${appAddress}/tuf/${name}`, limitBytes, { clock, signal });
    return bytes && Buffer.from(bytes);
  };
  const required = async (name: string, limitBytes: number): Promise<Buffer> => {
    const bytes = await fetched(name, limitBytes);
    if (bytes) return bytes;
    throw new PlatformError('METADATA_UNREACHABLE', { url: `${appAddress}/tuf/${name}`, problem: 'there is none' });
  };
  const stored = await readChecked(disk, floorFile, parseFloor);
  if (stored.problem !== undefined)
    log.warn('the highest trusted versions cannot be read', { problem: stored.problem });
  const floor = stored.value;

  const start = await startingRoot(parts, floor, fetched);
  const store = start.store;
  const rootBytes = await followRotations(start, parts, fetched);
  if (floor && store.root.signed.version < floor.root.version) {
    const problem = `root version ${store.root.signed.version} is older than ${floor.root.version}, which was trusted before`;
    throw new PlatformError('RELEASE_UNTRUSTED', { target: 'root.json', problem });
  }

  const time = parts.time();
  setReferenceTime(store, time.isTrusted ? time.now : time.certain);
  await loadTimestamp(store, disk, await required('timestamp.json', limits.timestamp));
  await loadSnapshot(store, disk, required);
  await loadTargets(store, disk, required);
  const { timestamp, snapshot, targets } = store;
  if (!timestamp || !snapshot || !targets) throw new Error('tuf-js loaded no documents');

  const documents: Documents = { root: store.root, timestamp, snapshot, targets };
  const now = floorOf(documents, rootBytes);
  const problem = belowFloor(now, floor);
  if (problem !== undefined) throw new PlatformError('RELEASE_UNTRUSTED', { target: 'timestamp.json', problem });
  if (JSON.stringify(now) !== JSON.stringify(floor)) await writeChecked(disk, floorFile, now);

  const late = findExpired(documents, time.now);
  if (late) {
    log.warn('a signed document looks expired, but the clock of this machine is not synchronized', { ...late });
  }
  parts.late(late);
  return {
    isFresh: time.isTrusted,
    rootVersion: store.root.signed.version,
    find(target) {
      if (!Object.hasOwn(targets.signed.targets, target)) return undefined;
      const file = targets.signed.targets[target];
      const sha256 = file?.hashes['sha256'];
      return file && sha256 !== undefined ? { sizeBytes: file.length, sha256, custom: file.custom } : undefined;
    },
  };
}

type Fetch = (name: string, limitBytes: number) => Promise<Buffer | undefined>;

interface Documents {
  root: TrustedMetadataStore['root'];
  timestamp: NonNullable<TrustedMetadataStore['timestamp']>;
  snapshot: NonNullable<TrustedMetadataStore['snapshot']>;
  targets: NonNullable<TrustedMetadataStore['targets']>;
}

/** Loads the root documents that follow the first one. Returns the bytes of the last. */
async function followRotations(
  { store, bytes: first }: { store: TrustedMetadataStore; bytes: Uint8Array },
  { disk, log }: RefreshParts,
  fetched: Fetch,
): Promise<Uint8Array> {
  let last = first;
  for (let more = 0; more < mostRotations; more++) {
    const version = store.root.signed.version + 1;
    const bytes = await fetched(`${version}.root.json`, limits.root);
    if (!bytes) break;
    checked(`${version}.root.json`, () => store.updateRoot(bytes));
    last = bytes;
    await keep(disk, 'root', bytes);
    log.info('the keys of the releases were changed by their owners', { rootVersion: version });
  }
  return last;
}

const floorOf = ({ root, timestamp, snapshot, targets }: Documents, rootBytes: Uint8Array): Floor => ({
  root: { version: root.signed.version, sha256: hashOf(rootBytes) },
  timestamp: { version: timestamp.signed.version, keys: keysOf(root, 'timestamp') },
  snapshot: { version: snapshot.signed.version, keys: keysOf(root, 'snapshot') },
  targets: { version: targets.signed.version, keys: keysOf(root, 'targets') },
});

function findExpired(documents: Documents, wall: number): ExpiredDocument | undefined {
  const expired = Object.entries(documents).find(([, { signed }]) => signed.isExpired(new Date(wall)));
  return expired && { role: expired[0], expires: expired[1].signed.expires };
}

/**
 * The root document to start from: the stored one, the one that the floor identifies, or, only once, the server's
 * first.
 */
async function startingRoot(
  { disk, appAddress, log }: RefreshParts,
  floor: Floor | undefined,
  fetched: Fetch,
): Promise<{ store: TrustedMetadataStore; bytes: Uint8Array }> {
  const own = await readLocal(disk, 'root');
  if (own) {
    try {
      return { store: new TrustedMetadataStore(Buffer.from(own)), bytes: own };
    } catch (error) {
      log.warn('the root document on disk is damaged', { error });
    }
  }
  // With a known hash, any source is safe. Without one, only a server with a proven identity is trusted.
  if (!floor && !isProvenUrl(appAddress)) throw new PlatformError('TRUSTED_ROOT_MISSING', { url: appAddress });
  const name = `${floor?.root.version ?? 1}.root.json`;
  const bytes = await fetched(name, limits.root);
  if (!bytes) {
    const problem = 'nothing was ever signed there';
    throw new PlatformError('METADATA_UNREACHABLE', { url: `${appAddress}/tuf/${name}`, problem });
  }
  if (floor && hashOf(bytes) !== floor.root.sha256) {
    const problem = 'it is not the document that was trusted before';
    throw new PlatformError('RELEASE_UNTRUSTED', { target: name, problem });
  }
  const store = checked(name, () => new TrustedMetadataStore(bytes));
  await disk.write(local('root'), bytes);
  if (!floor) log.info('trusting the release keys of this server from now on', { sha256: hashOf(bytes) });
  return { store, bytes };
}

async function loadTimestamp(store: TrustedMetadataStore, disk: Disk, bytes: Buffer): Promise<void> {
  const own = await readLocal(disk, 'timestamp');
  // The stored timestamp guards against older ones even if it has expired. A damaged one, or one of other keys, is
  // ignored.
  if (own) orIgnored(() => store.updateTimestamp(Buffer.from(own)));
  const isSame = checked('timestamp.json', () => {
    try {
      store.updateTimestamp(bytes);
      return false;
    } catch (error) {
      if (error instanceof EqualVersionError) return true;
      throw error;
    }
  });
  if (!isSame) await keep(disk, 'timestamp', bytes);
}

type Required = (name: string, limitBytes: number) => Promise<Buffer>;

async function loadSnapshot(store: TrustedMetadataStore, disk: Disk, required: Required): Promise<void> {
  const own = await readLocal(disk, 'snapshot');
  if (own && orIgnored(() => store.updateSnapshot(Buffer.from(own), true))) return;
  const meta = store.timestamp?.signed.snapshotMeta;
  const name = `${meta?.version}.snapshot.json`;
  const bytes = await required(name, Math.min(meta?.length ?? Infinity, limits.snapshot));
  checked(name, () => store.updateSnapshot(bytes));
  await keep(disk, 'snapshot', bytes);
}

async function loadTargets(store: TrustedMetadataStore, disk: Disk, required: Required): Promise<void> {
  const own = await readLocal(disk, 'targets');
  if (own && orIgnored(() => store.updateDelegatedTargets(Buffer.from(own), 'targets', 'root'))) return;
  const meta = store.snapshot?.signed.meta['targets.json'];
  const name = `${meta?.version}.targets.json`;
  const bytes = await required(name, Math.min(meta?.length ?? Infinity, limits.targets));
  checked(name, () => store.updateDelegatedTargets(bytes, 'targets', 'root'));
  await keep(disk, 'targets', bytes);
}

function orIgnored(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function checked<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpiredMetadataError) {
      throw new PlatformError('METADATA_EXPIRED', { role: roleOf(error.message, name) }, error);
    }
    const problem = error instanceof Error ? error.message : String(error);
    throw new PlatformError('RELEASE_UNTRUSTED', { target: name, problem }, error);
  }
}

const roleOf = (message: string, name: string): string =>
  /(root|timestamp|snapshot|targets)\.json/.exec(message)?.[1] ?? name;

/**
 * tuf-js reads the system clock in its constructor and has no other input for the time. A test fails if this field
 * changes.
 */
function setReferenceTime(store: TrustedMetadataStore, ms: number): void {
  if (!Reflect.has(store, 'referenceTime')) throw new Error('tuf-js keeps its time elsewhere now');
  Reflect.set(store, 'referenceTime', new Date(ms));
}

const keysOf = (root: TrustedMetadataStore['root'], role: RoleName): string =>
  (root.signed.roles[role]?.keyIDs ?? [])
    .map((id) => id.slice(0, 12))
    .toSorted()
    .join(' ');
