import { mkdir, readFile } from 'node:fs/promises';
import { programTargetPath } from '@platform/contract/releases/target-path';
import type { Clock, Log } from '@platform/kit';
import { fileDisk } from '../os/file-disk.ts';
import { createWeb } from '../os/web.ts';
import { pinRoot, releaseTrust } from '../versions/trust/trust.ts';
import { timeOf } from '../versions/device-fetch.ts';
import type { Candidate } from './facts.ts';
import type { Disk, System } from '../os/ports.ts';

const longestMs = 60_000;

/**
 * Verifies that the release keys signed this file. Stores the new metadata below the root only if they did.
 *
 * @returns its path among the signed targets.
 * @throws PlatformError RELEASE_UNTRUSTED, METADATA_UNREACHABLE …
 */
export async function verifyRelease(
  of: {
    appAddress: string;
    root: string;
    candidate: Candidate;
    platform: string;
    trustedRoot: string | undefined;
    send: typeof fetch;
  },
  { system, clock, log }: { system: System; clock: Clock; log: Log },
): Promise<string> {
  const { appAddress, candidate, platform } = of;
  const program = 'platform-agent';
  const target = programTargetPath({ name: program, version: candidate.version, platform });
  const { disk, keep } = pendingDisk(fileDisk(system.files(of.root)));
  if (of.trustedRoot !== undefined) await pinRoot(disk, await readFile(of.trustedRoot));
  const now = await timeOf(disk, system, clock);
  // An expired document needs no handler: the refresh logs it.
  const trust = releaseTrust({
    disk,
    web: createWeb(of.send),
    appAddress,
    time: () => now,
    late: () => {},
    clock,
    log,
  });
  const late = new AbortController();
  const done = new AbortController();
  void clock.sleep(longestMs, done.signal).then(() => late.abort(new Error('the signatures took too long')));
  try {
    const { version, sha256 } = candidate;
    await trust.check({ target, program, version, platform, sha256 }, late.signal);
  } finally {
    done.abort();
  }
  await mkdir(of.root, { recursive: true, mode: 0o755 });
  await keep();
  return target;
}

/** Trusts this first root of the release keys from now on; fetches nothing. @throws PlatformError RELEASE_UNTRUSTED */
export async function pinTrustedRoot({ root, system }: { root: string; system: System }, file: string): Promise<void> {
  const bytes = await readFile(file);
  await mkdir(root, { recursive: true, mode: 0o755 });
  await pinRoot(fileDisk(system.files(root)), bytes);
}

/** Buffers writes until `keep`. */
function pendingDisk(disk: Disk): { disk: Disk; keep: () => Promise<void> } {
  const pending = new Map<string, Uint8Array | undefined>();
  return {
    disk: {
      ...disk,
      read: async (file) => (pending.has(file) ? pending.get(file) : disk.read(file)),
      write: async (file, bytes) => void pending.set(file, bytes),
      remove: async (file) => void pending.set(file, undefined),
    },
    async keep() {
      for (const [file, bytes] of pending) {
        if (bytes) await disk.write(file, bytes);
        else await disk.remove(file);
      }
    },
  };
}
