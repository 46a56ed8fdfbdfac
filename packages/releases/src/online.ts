import { PlatformError } from '@platform/contract/errors/errors';
import {
  readRoot,
  readSnapshot,
  readTargets,
  readTimestamp,
  rolesOf,
  signSnapshot,
  signTimestamp,
  validMs,
} from './documents.ts';
import { keyId, type SigningKey } from './keys.ts';

/** The documents that the server currently serves. */
export interface Served {
  readonly root: Uint8Array;
  readonly targets: Uint8Array;
  readonly snapshot: Uint8Array | undefined;
  readonly timestamp: Uint8Array | undefined;
}

/** The server signs a new timestamp after this time. */
export const timestampAgeMs = 3_600_000;

/**
 * Signs the documents that need a new signature of the server's key: the targets changed, the key changed, or a
 * document aged.
 *
 * @param now - ms since 1970.
 * @throws PlatformError ONLINE_KEY_UNKNOWN when the root document does not list this key.
 */
export function renewed(served: Served, key: SigningKey, now: number): { snapshot?: Buffer; timestamp?: Buffer } {
  if (!rolesOf(served.root).online.some((one) => keyId(one) === key.id)) {
    throw new PlatformError('ONLINE_KEY_UNKNOWN', { keyId: key.id.slice(0, 12) });
  }
  const keys = [key];
  const root = readRoot(served.root);
  const targets = readTargets(served.targets).signed.version;
  const oldSnapshot = served.snapshot && readSnapshot(served.snapshot);
  const oldTimestamp = served.timestamp && readTimestamp(served.timestamp);
  const isSigned = (role: 'snapshot' | 'timestamp'): boolean => {
    try {
      const document = role === 'snapshot' ? oldSnapshot : oldTimestamp;
      if (!document) return false;
      root.verifyDelegate(role, document);
      return true;
    } catch {
      return false;
    }
  };
  const isSnapshotGood =
    isSigned('snapshot') &&
    oldSnapshot?.signed.meta['targets.json']?.version === targets &&
    Date.parse(oldSnapshot.signed.expires) - now > validMs.snapshot / 2;
  const snapshot = isSnapshotGood
    ? undefined
    : signSnapshot({ version: (oldSnapshot?.signed.version ?? 0) + 1, targets: served.targets, now, keys });
  const isTimestampGood =
    snapshot === undefined &&
    isSigned('timestamp') &&
    Date.parse(oldTimestamp?.signed.expires ?? '') - now > validMs.timestamp - timestampAgeMs;
  const named = snapshot ?? served.snapshot;
  if (isTimestampGood || named === undefined) return snapshot ? { snapshot } : {};
  const timestamp = signTimestamp({ version: (oldTimestamp?.signed.version ?? 0) + 1, snapshot: named, now, keys });
  return { ...(snapshot && { snapshot }), timestamp };
}
