import { createHash } from 'node:crypto';
import { create, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { LRUCache } from 'lru-cache';
import { isObject } from '@platform/contract/config-field';
import { PlatformError } from '@platform/contract/errors';
import { readAgent } from '@platform/contract/config-reading';
import { toDeviceStructs } from '@platform/contract/device-structs';
import {
  DeviceAgentConfigResponseSchema,
  type DeviceAgentConfigResponse,
  PackageFormat,
  type UpdateInfo,
  UpdateInfoSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { ReleaseBook } from './release-book.ts';
import { fileName, type Product, type Program, releasePath, versionWish } from './rules/update-info.ts';
import type { Changes } from './store/changes.ts';
import { findConfig } from './store/configs.ts';
import type { Database } from './store/database.ts';
import { findPart } from './store/machines.ts';
import { deltaPath } from './store/releases.ts';

/** What the answer to an agent depends on besides the part's configuration. */
export type Ask = { partId: string; product: Product; platform: string; baseUrl: string };

/** Answers to config checks, kept until a change says otherwise. */
export type AgentAnswers = {
  /** Without check_interval, which is no part of the fingerprint. */
  answer(ask: Ask): Promise<DeviceAgentConfigResponse>;
  /** The fingerprint of the answer, when it is in memory. */
  known(ask: Ask): string | undefined;
  /** The encoded answer "nothing has changed"; only while `known` names a fingerprint. */
  notModified(ask: Ask, checkMs: number): Uint8Array;
  /** Watches a part from now on: `changed` resolves when its answer may have changed. */
  watch(partId: string): { changed: Promise<void>; close(): void };
};

type Kept = { key: string; answer: DeviceAgentConfigResponse; same?: { checkMs: number; bytes: Uint8Array } };
const keyOf = (ask: Ask): string => `${ask.product} ${ask.platform} ${ask.baseUrl}`;

export function agentAnswers(db: Database, releases: ReleaseBook, changes: Changes): AgentAnswers {
  const kept = new LRUCache<string, Kept>({ max: 200_000 });
  const watching = new Map<string, Set<() => void>>();
  const epoch = { count: 0 };
  const wake = (partId: string) => {
    for (const one of watching.get(partId) ?? []) one();
  };
  changes.subscribe((kind, key) => {
    if (kind !== undefined && kind !== 'config' && kind !== 'part' && kind !== 'release') return;
    epoch.count++;
    if (kind !== 'release' && key !== undefined) {
      kept.delete(key);
      wake(key);
    } else {
      kept.clear();
      for (const partId of watching.keys()) wake(partId);
    }
  });
  return {
    async answer(ask) {
      const key = keyOf(ask);
      const found = kept.get(ask.partId);
      if (found?.key === key) return found.answer;
      const before = epoch.count;
      const answer = await build(db, releases, ask);
      if (epoch.count === before) kept.set(ask.partId, { key, answer });
      return answer;
    },
    known(ask) {
      const found = kept.get(ask.partId);
      return found?.key === keyOf(ask) ? found.answer.fingerprint : undefined;
    },
    notModified(ask, checkMs) {
      const found = kept.get(ask.partId);
      if (found?.same?.checkMs === checkMs) return found.same.bytes;
      const bytes = notModifiedBytes(found?.answer.fingerprint ?? '', checkMs);
      if (found) found.same = { checkMs, bytes };
      return bytes;
    },
    watch(partId) {
      const set = watching.get(partId) ?? new Set();
      watching.set(partId, set);
      const { promise, resolve } = Promise.withResolvers<void>();
      set.add(resolve);
      return {
        changed: promise,
        close() {
          set.delete(resolve);
          if (set.size === 0) watching.delete(partId);
        },
      };
    },
  };
}

/** Without the answer: only that it is the same. */
const notModifiedBytes = (fingerprint: string, checkMs: number): Uint8Array =>
  toBinary(
    DeviceAgentConfigResponseSchema,
    create(DeviceAgentConfigResponseSchema, { fingerprint, notModified: true, checkInterval: durationFromMs(checkMs) }),
  );

async function build(db: Database, releases: ReleaseBook, ask: Ask): Promise<DeviceAgentConfigResponse> {
  const part = await findPart(db, ask.partId);
  // A part that was deleted must not be told that nothing is wanted of it.
  if (!part) throw new PlatformError('PART_NOT_FOUND', { partId: ask.partId });
  const saved = await findConfig(db, ask.partId);
  const config = saved?.config ?? {};
  const agent = isObject(config['agent']) ? config['agent'] : {};
  const versions = readAgent(agent).agent['version_control'];
  const wishes = isObject(versions) ? versions : {};
  const window = config['maintenance_window'];
  const agentUpdateInfo = await updateInfo(releases, ask, 'platform-agent', wishes['agent']);
  const serverUpdateInfo = await updateInfo(releases, ask, 'platform-server', wishes['platform-server']);
  const answer = create(DeviceAgentConfigResponseSchema, {
    ...(agentUpdateInfo && { agentUpdateInfo }),
    ...(serverUpdateInfo && { serverUpdateInfo }),
    ...toDeviceStructs(agent, ask.product),
    agent: agent as JsonObject,
    revision: BigInt(saved?.revision ?? 0),
    ...(isObject(window) && { maintenanceWindow: window as JsonObject }),
    quarantineClearance: BigInt(part.quarantineClearance),
  });
  answer.fingerprint = createHash('sha256')
    .update(toBinary(DeviceAgentConfigResponseSchema, answer))
    .digest('base64url')
    .slice(0, 22);
  return answer;
}

/** Undefined: nothing fits, so the machine keeps what it has. An empty version or hash would make agents download for ever. */
async function updateInfo(
  releases: ReleaseBook,
  ask: Ask,
  program: Program,
  wanted: unknown,
): Promise<UpdateInfo | undefined> {
  const found = await releases.resolve(program, versionWish(wanted), ask.platform);
  const filename = fileName(program, ask.product);
  const wish = typeof wanted === 'string' && wanted !== '' ? wanted : 'stable';
  const format = PackageFormat.EXECUTABLE;
  if (found.is === 'file') {
    const { url, sha256, problem } = found.pin;
    // Saved before such pins were refused.
    if (problem) return undefined;
    return create(UpdateInfoSchema, {
      filename,
      url,
      version: 'customURL',
      // Agents of the public protocol compute the hash of such a file themselves, and take one that is sent for a promise.
      ...(ask.product === 'platform' && { sha256: Buffer.from(sha256, 'hex') }),
      format,
      unsigned: true,
      wish,
    });
  }
  if (found.is !== 'release') return undefined;
  const { release, patches } = found;
  return create(UpdateInfoSchema, {
    filename,
    url: `${ask.baseUrl}${releasePath(release)}`,
    version: release.version,
    sha256: release.sha256,
    format,
    sizeBytes: BigInt(release.sizeBytes),
    target: release.target ?? '',
    deltas: patches.map(({ fromSha256, sha256, sizeBytes }) => ({
      fromSha256,
      sha256,
      sizeBytes: BigInt(sizeBytes),
      url: `${ask.baseUrl}${deltaPath(sha256)}`,
    })),
    wish,
  });
}
