import { createHash } from 'node:crypto';
import {
  Key,
  Metadata,
  MetadataKind,
  MetaFile,
  Root,
  Signature,
  Snapshot,
  TargetFile,
  Targets,
  Timestamp,
} from '@tufjs/models';
import { isTargetOf, type Target } from './targets.ts';
import { keyId, type PublicKey, type SigningKey } from './keys.ts';

// Creates and signs the documents of The Update Framework (specification 1.0.31); checks.ts verifies them.

const dayMs = 86_400_000;
/** Validity of each document from its signature on. */
export const validMs = {
  root: 365 * dayMs,
  targets: 90 * dayMs,
  snapshot: 7 * dayMs,
  timestamp: 1 * dayMs,
} as const;
export type RoleName = keyof typeof validMs;
export const roleNames = ['root', 'targets', 'snapshot', 'timestamp'] as const satisfies readonly RoleName[];

const specVersion = '1.0.31';

/** Field of the root document with the SPKI PEM of the key that signs the list of hashes for shell installers. */
export const installerKeyField = 'x-platform-installer-key';

/** Keys of each role, and how many of them must sign. */
export interface Roles {
  readonly root: { readonly keys: readonly PublicKey[]; readonly threshold: number };
  readonly targets: { readonly keys: readonly PublicKey[]; readonly threshold: number };
  /** Signs snapshot and timestamp; held by the management server. */
  readonly online: readonly PublicKey[];
  /** SPKI PEM, P-256. */
  readonly installerKey: string;
}

type Signable = Root | Targets | Snapshot | Timestamp;

/** Whole seconds in UTC, as the specification requires. */
const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** Adds a signature of each key. */
export function sign(document: Metadata<Signable>, keys: readonly SigningKey[]): void {
  for (const key of keys) {
    document.sign((bytes) => new Signature({ keyID: key.id, sig: Buffer.from(key.sign(bytes)).toString('hex') }));
  }
}

function encoded(signed: Signable, keys: readonly SigningKey[]): Buffer {
  const document = new Metadata(signed);
  sign(document, keys);
  return Buffer.from(JSON.stringify(document.toJSON()));
}

/** @param now - ms since 1970. */
export function signRoot(of: { version: number; roles: Roles; now: number; keys: readonly SigningKey[] }): Buffer {
  const { version, roles, now, keys } = of;
  const root = new Root({
    specVersion,
    version,
    expires: time(now + validMs.root),
    consistentSnapshot: true,
    unrecognizedFields: { [installerKeyField]: roles.installerKey },
  });
  const give = (role: RoleName, publicKeys: readonly PublicKey[], threshold: number): void => {
    for (const { keytype, scheme, keyval } of publicKeys) {
      const id = keyId({ keytype, scheme, keyval });
      root.addKey(new Key({ keyID: id, keyType: keytype, scheme, keyVal: { ...keyval } }), role);
    }
    const entry = root.roles[role];
    if (entry) Object.assign(entry, { threshold });
  };
  give('root', roles.root.keys, roles.root.threshold);
  give('targets', roles.targets.keys, roles.targets.threshold);
  give('snapshot', roles.online, 1);
  give('timestamp', roles.online, 1);
  return encoded(root, keys);
}

/** @param now - ms since 1970. */
export function signTargets(of: {
  version: number;
  targets: readonly Target[];
  now: number;
  keys: readonly SigningKey[];
}): Buffer {
  const targets = Object.fromEntries(
    of.targets
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .map(({ path, sizeBytes, sha256, custom }) => [
        path,
        new TargetFile({
          path,
          length: sizeBytes,
          hashes: { sha256 },
          unrecognizedFields: { custom: { ...custom } },
        }),
      ]),
  );
  return encoded(
    new Targets({ specVersion, version: of.version, expires: time(of.now + validMs.targets), targets }),
    of.keys,
  );
}

const describing = (version: number, bytes: Uint8Array): MetaFile =>
  new MetaFile({
    version,
    length: bytes.length,
    hashes: { sha256: createHash('sha256').update(bytes).digest('hex') },
  });

/** @param now - ms since 1970. */
export const signSnapshot = (of: {
  version: number;
  targets: Uint8Array;
  now: number;
  keys: readonly SigningKey[];
}): Buffer =>
  encoded(
    new Snapshot({
      specVersion,
      version: of.version,
      expires: time(of.now + validMs.snapshot),
      meta: { 'targets.json': describing(readTargets(of.targets).signed.version, of.targets) },
    }),
    of.keys,
  );

/** @param now - ms since 1970. */
export const signTimestamp = (of: {
  version: number;
  snapshot: Uint8Array;
  now: number;
  keys: readonly SigningKey[];
}): Buffer =>
  encoded(
    new Timestamp({
      specVersion,
      version: of.version,
      expires: time(of.now + validMs.timestamp),
      snapshotMeta: describing(readSnapshot(of.snapshot).signed.version, of.snapshot),
    }),
    of.keys,
  );

const json = (bytes: Uint8Array): Parameters<typeof Metadata.fromJSON>[1] =>
  JSON.parse(Buffer.from(bytes).toString('utf8')) as Parameters<typeof Metadata.fromJSON>[1];

/** The readers check the format only, not the signatures. They throw plain errors. */
export const readRoot = (bytes: Uint8Array): Metadata<Root> => Metadata.fromJSON(MetadataKind.Root, json(bytes));
export const readTargets = (bytes: Uint8Array): Metadata<Targets> =>
  Metadata.fromJSON(MetadataKind.Targets, json(bytes));
export const readSnapshot = (bytes: Uint8Array): Metadata<Snapshot> =>
  Metadata.fromJSON(MetadataKind.Snapshot, json(bytes));
export const readTimestamp = (bytes: Uint8Array): Metadata<Timestamp> =>
  Metadata.fromJSON(MetadataKind.Timestamp, json(bytes));

/** The targets of a document; skips entries of another format. */
export function targetsOf(bytes: Uint8Array): Target[] {
  return Object.values(readTargets(bytes).signed.targets).flatMap((file) => {
    const target = {
      path: file.path,
      sizeBytes: file.length,
      sha256: file.hashes['sha256'] ?? '',
      custom: file.custom,
    };
    return isTargetOf(target) ? [target] : [];
  });
}

/** Keys and thresholds of a root document. */
export function rolesOf(bytes: Uint8Array): Roles {
  const { signed } = readRoot(bytes);
  const keysOf = (role: RoleName): PublicKey[] =>
    (signed.roles[role]?.keyIDs ?? []).flatMap((id) => {
      const key = signed.keys[id];
      return key ? [key.toJSON() as unknown as PublicKey] : [];
    });
  const installerKey = signed.unrecognizedFields[installerKeyField];
  return {
    root: { keys: keysOf('root'), threshold: signed.roles['root']?.threshold ?? 0 },
    targets: { keys: keysOf('targets'), threshold: signed.roles['targets']?.threshold ?? 0 },
    online: keysOf('timestamp'),
    installerKey: typeof installerKey === 'string' ? installerKey : '',
  };
}
