import { createHash } from 'node:crypto';
import { create, type JsonObject, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { LRUCache } from 'lru-cache';
import { isObject } from '@platform/contract/json-object';
import { PlatformError } from '@platform/contract/errors';
import { readAgent } from '@platform/contract/config-reading';
import { toDeviceStructs } from '@platform/contract/device-structs';
import type { Clock } from '@platform/kit';
import {
  DeviceAgentConfigResponseSchema,
  PackageFormat,
  type UpdateInfo,
  UpdateInfoSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RestartWish } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ReleaseBook } from '../releases/release-book.ts';
import { type Product, type Program, releaseName, releasePath, versionWish } from '../releases/rules/update-info.ts';
import type { Changes } from '../database/changes.ts';
import type { PartSource } from './store/part-sources.ts';
import { deltaPath } from '../releases/store/releases.ts';
import { watchers } from './watchers.ts';

/** What the answer to an agent depends on besides the part's configuration. */
export type Ask = {
  partId: string;
  product: Product;
  platform: string;
  baseUrl: string;
  /** Version of the agent that another product's agent has downloaded; empty for ours, which goes by the fingerprint. */
  installed: string;
};

/**
 * An answer as it goes over the wire, without what is no part of the fingerprint: check_interval, and whether a restart of the machine
 * server waits to be asked for.
 */
export type Answer = { fingerprint: string; bytes: Uint8Array; isRestartWanted: boolean; revision: number };

/** Answers to config checks, kept until a change says otherwise. */
export type AgentAnswers = {
  /** @throws PlatformError PART_NOT_FOUND */
  answer(ask: Ask): Promise<Answer>;
  /** The answer, when it is in memory. */
  known(ask: Ask): Answer | undefined;
  /** Watches a part from now on: `wake` is called once or more often when its answer may have changed. @returns ends it. */
  watch(partId: string, wake: () => void): () => void;
  /** A check of this part is held: it hears at once of what changes. */
  isWatched(partId: string): boolean;
};

type Kept = Answer & { key: string };

export function agentAnswers(of: {
  sourceOf: (partId: string) => Promise<PartSource | undefined>;
  releases: ReleaseBook;
  changes: Changes;
  clock: Clock;
  stop: AbortSignal;
}): AgentAnswers {
  const { releases, changes, clock, stop } = of;
  const kept = new LRUCache<string, Kept>({ max: 200_000 });
  const { watch, isWatched, wake, wakeMany } = watchers(clock, stop);
  const epoch = { count: 0 };
  /** There are few: each is kept once. */
  const keys = new Map<string, string>();
  const keyOf = ({ product, platform, baseUrl, installed }: Ask): string => {
    const key = `${product} ${platform} ${baseUrl} ${installed}`;
    const shared = keys.get(key);
    if (shared !== undefined) return shared;
    if (keys.size > 1_000) keys.clear();
    keys.set(key, key);
    return key;
  };
  changes.subscribe((kind, key) => {
    if (kind !== undefined && kind !== 'config' && kind !== 'part' && kind !== 'release' && kind !== 'restart') return;
    epoch.count++;
    if (kind !== 'release' && key !== undefined) {
      kept.delete(key);
      wake(key);
    } else {
      kept.clear();
      wakeMany();
    }
  });
  return {
    async answer(ask) {
      const key = keyOf(ask);
      const found = kept.get(ask.partId);
      if (found?.key === key) return found;
      const before = epoch.count;
      const source = await of.sourceOf(ask.partId);
      // A part that was deleted must not be told that nothing is wanted of it.
      if (!source) throw new PlatformError('PART_NOT_FOUND', { partId: ask.partId });
      const answer = { ...(await build(source, releases, ask)), key };
      if (epoch.count === before) kept.set(ask.partId, answer);
      return answer;
    },
    known(ask) {
      const found = kept.get(ask.partId);
      return found?.key === keyOf(ask) ? found : undefined;
    },
    watch,
    isWatched,
  };
}

const restartOf = (isRestartWanted: boolean): RestartWish => (isRestartWanted ? RestartWish.WAITING : RestartWish.NONE);

/** The whole answer with the interval to the next check. Fields of a message may stand one after the other. */
export const wholeBytes = ({ bytes, isRestartWanted }: Answer, checkMs: number): Uint8Array =>
  Buffer.concat([bytes, encoded({ checkInterval: durationFromMs(checkMs), restart: restartOf(isRestartWanted) })]);

/** Without the answer: only that it is the same. */
export const sameBytes = (
  { fingerprint, isRestartWanted }: Pick<Answer, 'fingerprint' | 'isRestartWanted'>,
  checkMs: number,
): Uint8Array =>
  encoded({
    fingerprint,
    notModified: true,
    checkInterval: durationFromMs(checkMs),
    restart: restartOf(isRestartWanted),
  });

const encoded = (answer: MessageInitShape<typeof DeviceAgentConfigResponseSchema>): Uint8Array =>
  toBinary(DeviceAgentConfigResponseSchema, create(DeviceAgentConfigResponseSchema, answer));

async function build(source: PartSource, releases: ReleaseBook, ask: Ask): Promise<Answer> {
  const agent = isObject(source.agent) ? source.agent : {};
  const versions = readAgent(agent).agent['version_control'];
  const wishes = isObject(versions) ? versions : {};
  const agentUpdateInfo =
    (source.isMigrating && (await migrationInfo(releases, ask))) ||
    (await updateInfo(releases, ask, 'platform-agent', wishes['agent']));
  const serverUpdateInfo = await updateInfo(releases, ask, 'platform-server', wishes['platform-server']);
  const bytes = encoded({
    ...(agentUpdateInfo && { agentUpdateInfo }),
    ...(serverUpdateInfo && { serverUpdateInfo }),
    ...toDeviceStructs(agent, ask.product),
    agent: agent as JsonObject,
    revision: BigInt(source.revision),
    ...(isObject(source.window) && { maintenanceWindow: source.window as JsonObject }),
    quarantineClearance: BigInt(source.quarantineClearance),
  });
  const fingerprint = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const whole = Buffer.concat([bytes, encoded({ fingerprint })]);
  return { fingerprint, bytes: whole, isRestartWanted: source.isRestartWanted, revision: source.revision };
}

/**
 * Our agent, offered to an agent of another product as its update. Undefined for ours, and once the file was taken: an agent that is
 * offered it again after it failed to start would download it in every cycle.
 */
async function migrationInfo(releases: ReleaseBook, ask: Ask): Promise<UpdateInfo | undefined> {
  if (ask.product === 'platform') return undefined;
  const found = await releases.resolve('platform-agent', versionWish('stable'), ask.platform);
  if (found.is !== 'release' || found.release.version === ask.installed) return undefined;
  const { release } = found;
  return create(UpdateInfoSchema, {
    filename: releaseName('platform-agent', ask.product),
    url: `${ask.baseUrl}${releasePath(release)}`,
    version: release.version,
    sha256: release.sha256,
    format: PackageFormat.EXECUTABLE,
    sizeBytes: BigInt(release.sizeBytes),
  });
}

/** Undefined: nothing fits, so the machine keeps what it has. An empty version or hash would make agents download for ever. */
async function updateInfo(
  releases: ReleaseBook,
  ask: Ask,
  program: Program,
  wanted: unknown,
): Promise<UpdateInfo | undefined> {
  const filename = releaseName(program, ask.product);
  const found = await releases.resolve(filename, versionWish(wanted), ask.platform);
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
