import { documentEnds } from './document-ends.ts';
import { errorText, type Clock, type Log } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors/errors';
import { checkRoot, checkTargets } from '@platform/releases/checks';
import { readRoot, readSnapshot, readTargets, readTimestamp, targetsOf } from '@platform/releases/documents';
import { checkInstallerList } from '@platform/releases/installer-list';
import type { SigningKey } from '@platform/releases/keys';
import { renewed } from '@platform/releases/online';
import { isProgram, type Target } from '@platform/releases/targets';
import type { Database } from '../database/database.ts';
import { insertDocument, lockDocuments, newestDocument, replaceInstallerSignature } from './store/release-metadata.ts';

/** Signed documents from a publisher; empty bytes: the document stays unchanged. */
export type Submitted = { root: Uint8Array; targets: Uint8Array; installerSignature: Uint8Array };

/** The valid metadata after a submission. */
export type Taken = {
  targets: Target[];
  programs: { name: string; version: string; platform: string; path: string; sha256: string }[];
  versions: { root: number; targets: number };
};

/**
 * Verifies and stores a publisher's signed documents and signs the derived ones, in the caller's transaction.
 *
 * @param now - ms since 1970.
 * @throws PlatformError METADATA_REFUSED, ONLINE_KEY_UNKNOWN
 */
export async function takeOver(trx: Database, submitted: Submitted, key: SigningKey, now: number): Promise<Taken> {
  await lockDocuments(trx);
  const before = { root: await newestDocument(trx, 'root'), targets: await newestDocument(trx, 'targets') };
  const hasRoot = submitted.root.length > 0;
  const hasTargets = submitted.targets.length > 0;
  const root = hasRoot ? Buffer.from(submitted.root) : before.root?.bytes;
  if (!root) throw new PlatformError('METADATA_REFUSED', { problem: 'there is no root document yet, send the first' });
  const targets = hasTargets ? Buffer.from(submitted.targets) : before.targets?.bytes;
  if (!targets) throw new PlatformError('METADATA_REFUSED', { problem: 'there is no targets document yet' });

  if (hasRoot) checkRoot(root, before.root?.bytes, now);
  if (hasTargets) checkTargets(root, targets, before.targets?.bytes, now);
  else checkStillSigned(root, targets);
  if (hasRoot || hasTargets) checkInstallerList(root, targets, submitted.installerSignature);
  if (hasRoot) await insertDocument(trx, 'root', { version: readRoot(root).signed.version, bytes: root });
  if (hasTargets) {
    const { version } = readTargets(targets).signed;
    await insertDocument(trx, 'targets', { version, bytes: targets });
  }
  if (hasRoot || hasTargets) await replaceInstallerSignature(trx, Buffer.from(submitted.installerSignature));
  await renew(trx, key, now);
  const listed = targetsOf(targets);
  return {
    targets: listed,
    programs: listed.flatMap(({ path, sha256, custom }) => (isProgram(custom) ? [{ ...custom, path, sha256 }] : [])),
    versions: { root: readRoot(root).signed.version, targets: readTargets(targets).signed.version },
  };
}

/** The served targets must be valid under the new root, too. */
function checkStillSigned(root: Uint8Array, targets: Uint8Array): void {
  try {
    readRoot(root).verifyDelegate('targets', readTargets(targets));
  } catch (error) {
    const problem = 'the new root names other keys for the targets: sign the targets with them and send both';
    throw new PlatformError('METADATA_REFUSED', { problem }, error);
  }
}

/** Signs snapshot and timestamp if due. @returns whether it did. */
async function renew(trx: Database, key: SigningKey, now: number): Promise<boolean> {
  const [root, targets, snapshot, timestamp] = [
    await newestDocument(trx, 'root'),
    await newestDocument(trx, 'targets'),
    await newestDocument(trx, 'snapshot'),
    await newestDocument(trx, 'timestamp'),
  ];
  if (!root || !targets) return false;
  const served = {
    root: root.bytes,
    targets: targets.bytes,
    snapshot: snapshot?.bytes,
    timestamp: timestamp?.bytes,
  };
  const made = renewed(served, key, now);
  if (made.snapshot) {
    const { version } = readSnapshot(made.snapshot).signed;
    await insertDocument(trx, 'snapshot', { version, bytes: made.snapshot });
  }
  if (made.timestamp) {
    const { version } = readTimestamp(made.timestamp).signed;
    await insertDocument(trx, 'timestamp', { version, bytes: made.timestamp });
  }
  return made.timestamp !== undefined;
}

const lookMs = 5 * 60_000;
const warnMs = 14 * 86_400_000;

/**
 * Re-signs snapshot and timestamp before they expire, and warns before documents expire that users must sign. Ends with
 * `signal`.
 */
export async function keepFresh(
  { db, key, clock, log }: { db: Database; key: SigningKey; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const warned = new Map<string, number>();
  while (!signal.aborted) {
    try {
      // The server's own periodic change: it has no caller, so the audit log gets no entry.
      const isDone = await db.transaction().execute(async (trx) => {
        await lockDocuments(trx);
        return renew(trx, key, clock.wall());
      });
      if (isDone) log.debug('the timestamp of the releases was signed anew');
      for (const { role, endsAt } of await documentEnds(db)) {
        if (role === 'snapshot' || role === 'timestamp') continue;
        const isNear = endsAt - clock.wall() < warnMs;
        if (!isNear || clock.now() - (warned.get(role) ?? -Infinity) < 86_400_000) continue;
        warned.set(role, clock.now());
        const remedy = role === 'root' ? 'platform release rotate-root' : 'platform release sign';
        const expires = new Date(endsAt).toISOString();
        log.warn('a signed document of the releases expires soon', { role, expires, remedy });
      }
    } catch (error) {
      log.error('the documents of the releases could not be signed', { error: errorText(error) });
    }
    await clock.sleep(lookMs, signal);
  }
}
