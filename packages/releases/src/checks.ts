import { PlatformError } from '@platform/contract/errors/errors';
import { isTargetOf } from './targets.ts';
import { installerKeyField, readRoot, readTargets, roleNames, validMs } from './documents.ts';
import { keyId, type PublicKey } from './keys.ts';

// Checks of the management server on a publisher's documents. It rejects what an agent would refuse later, and any
// state that it could not leave again.

/** Far above the size of real documents; agents refuse larger ones. */
const documentLimitBytes = 1 << 20;

const refuse = (problem: string, cause?: unknown): never => {
  throw new PlatformError('METADATA_REFUSED', { problem }, cause);
};

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    return refuse(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/**
 * @param previous - the currently trusted root document; undefined if none exists yet.
 * @param now - ms since 1970.
 * @throws PlatformError METADATA_REFUSED
 */
export function checkRoot(bytes: Uint8Array, previous: Uint8Array | undefined, now: number): void {
  if (bytes.length > documentLimitBytes) refuse(`root: ${bytes.length} bytes, the limit is ${documentLimitBytes}`);
  const document = reading('root', () => readRoot(bytes));
  const { signed } = document;
  const before = previous === undefined ? undefined : readRoot(previous);
  const wanted = (before?.signed.version ?? 0) + 1;
  if (signed.version !== wanted) refuse(`root: version ${signed.version}, expected ${wanted}`);
  checkExpiry('root', signed.expires, now, validMs.root);
  if (!signed.consistentSnapshot) refuse('root: consistent_snapshot must be true');
  for (const [id, key] of Object.entries(signed.keys)) {
    if (keyId(key.toJSON() as unknown as PublicKey) !== id) refuse(`root: the key ${id} has another id`);
  }
  for (const role of roleNames) {
    const entry = signed.roles[role] ?? refuse(`root: no keys for ${role}`);
    const known = new Set(entry.keyIDs.filter((id) => Object.hasOwn(signed.keys, id)));
    if (known.size !== entry.keyIDs.length) refuse(`root: ${role} names a key twice or one that is not there`);
    if (entry.threshold < 1 || entry.threshold > known.size)
      refuse(`root: ${role} wants ${entry.threshold} of ${known.size} keys`);
  }
  const online = new Set([...(signed.roles['snapshot']?.keyIDs ?? []), ...(signed.roles['timestamp']?.keyIDs ?? [])]);
  for (const role of ['root', 'targets'] as const) {
    if (signed.roles[role]?.keyIDs.some((id) => online.has(id)))
      refuse(`root: a key of the server may not sign ${role}, too`);
  }
  if (!String(signed.unrecognizedFields[installerKeyField]).startsWith('-----BEGIN PUBLIC KEY-----\n'))
    refuse(`root: ${installerKeyField} is not a public key in PEM form`);
  if (before) reading('root, by the keys of the root before it', () => before.verifyDelegate('root', document));
  reading('root, by its own keys', () => document.verifyDelegate('root', document));
}

/**
 * @param root - the root document that is trusted from now on.
 * @param previous - the current targets document; undefined if none exists yet.
 * @param now - ms since 1970.
 * @throws PlatformError METADATA_REFUSED
 */
export function checkTargets(root: Uint8Array, bytes: Uint8Array, previous: Uint8Array | undefined, now: number): void {
  if (bytes.length > documentLimitBytes) refuse(`targets: ${bytes.length} bytes, the limit is ${documentLimitBytes}`);
  const document = reading('targets', () => readTargets(bytes));
  const { signed } = document;
  const before = previous === undefined ? undefined : readTargets(previous).signed;
  const wanted = (before?.version ?? 0) + 1;
  if (signed.version !== wanted) {
    refuse(`targets: version ${signed.version}, expected ${wanted}; another publisher may have published meanwhile`);
  }
  checkExpiry('targets', signed.expires, now, validMs.targets);
  if (signed.delegations) refuse('targets: delegations are not supported');
  for (const [path, file] of Object.entries(signed.targets)) {
    const sha256 = file.hashes['sha256'] ?? '';
    if (!isTargetOf({ path, sizeBytes: file.length, sha256, custom: file.custom }))
      refuse(`targets: ${path} is not described as it should be`);
    const old = before && Object.hasOwn(before.targets, path) ? before.targets[path] : undefined;
    if (old && old.hashes['sha256'] !== sha256) refuse(`targets: ${path} was published with other bytes`);
  }
  reading('targets', () => readRoot(root).verifyDelegate('targets', document));
}

/** Allows a day of difference for the publisher's clock. */
function checkExpiry(what: string, expires: string, now: number, mostMs: number): void {
  const at = Date.parse(expires);
  if (!(at > now)) refuse(`${what}: expired on ${expires}`);
  if (at > now + mostMs + 86_400_000)
    refuse(`${what}: valid until ${expires}, longer than ${mostMs / 86_400_000} days`);
}
