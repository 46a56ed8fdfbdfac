import { createHash } from 'node:crypto';
import { create, fromJson, type JsonObject, type JsonValue, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationFromMs, ValueSchema } from '@bufbuild/protobuf/wkt';
import { LRUCache } from 'lru-cache';
import { isObject } from '@platform/contract/text/json-object';
import { PlatformError } from '@platform/contract/errors/errors';
import { readAgent } from '@platform/contract/config/reading';
import { toDeviceStructs } from '@platform/contract/config/device-structs';
import type { Clock } from '@platform/kit';
import {
  DeviceAgentConfigResponseSchema,
  PackageFormat,
  type UpdateInfo,
  UpdateInfoSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { MachineOrderSchema, RestartRequest } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ReleaseCache } from '../releases/release-cache.ts';
import {
  type Product,
  type Program,
  releaseName,
  releasePath,
  parseDesiredVersion,
} from '../releases/rules/update-info.ts';
import type { Changes } from '../database/changes.ts';
import { orderKinds } from '../machines/rules/part-orders.ts';
import type { PendingSplit } from '../machines/store/machine-splits.ts';
import { revealedSecrets } from '@platform/contract/config/placeholders';
import type { PartSource } from './store/part-sources.ts';
import { deltaPath } from '../releases/store/releases.ts';
import { watchers } from './watchers.ts';

/** What the response to an agent depends on besides the part's configuration. */
export type Ask = {
  partId: string;
  product: Product;
  platform: string;
  baseUrl: string;
  /** Version that another product's agent has downloaded; empty for our agent, which compares fingerprints. */
  installed: string;
  /** Whether the secrets of the configuration may be in the answer; without this right, one that has some is refused. */
  readsSecrets: boolean;
};

/**
 * An encoded response without the fields outside the fingerprint: check_interval, and whether a restart of the machine
 * server is waiting.
 */
export type Answer = {
  fingerprint: string;
  bytes: Uint8Array;
  isRestartWanted: boolean;
  revision: number;
  /** When an order in it expires, ms since 1970; undefined: never. */
  expiresOn: number | undefined;
  /** One run of the agent of this part is to become a machine of its own; undefined: none is. */
  split: PendingSplit | undefined;
};

/** Cache of responses to config checks, invalidated by change notifications. */
export type AgentAnswers = {
  /** @throws PlatformError PART_NOT_FOUND */
  answer(ask: Ask): Promise<Answer>;
  /** The response if it is cached. */
  known(ask: Ask): Answer | undefined;
  /** Watches a part: calls `wake`, once or more often, when its response may have changed. @returns stops watching. */
  watch(partId: string, wake: () => void): () => void;
  /** Whether a check of this part is held, which receives changes immediately. */
  isWatched(partId: string): boolean;
};

type Kept = Answer & { key: string };

export function agentAnswers(of: {
  sourceOf: (partId: string) => Promise<PartSource | undefined>;
  releases: ReleaseCache;
  changes: Changes;
  clock: Clock;
  stop: AbortSignal;
}): AgentAnswers {
  const { releases, changes, clock, stop } = of;
  const kept = new LRUCache<string, Kept>({ max: 200_000 });
  const { watch, isWatched, wake, wakeMany } = watchers(clock, stop);
  const epoch = { count: 0 };
  const isValid = (found: Kept | undefined): Kept | undefined =>
    found?.expiresOn === undefined || clock.wall() < found.expiresOn ? found : undefined;
  /** Interns the keys: there are few distinct ones. */
  const keys = new Map<string, string>();
  const keyOf = ({ product, platform, baseUrl, installed, readsSecrets }: Ask): string => {
    const key = `${product} ${platform} ${baseUrl} ${installed}${readsSecrets ? '' : ' other'}`;
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
      const found = isValid(kept.get(ask.partId));
      if (found?.key === key) return found;
      const before = epoch.count;
      const source = await of.sourceOf(ask.partId);
      // With an empty response, a deleted machine would drop its desired state.
      if (!source) throw new PlatformError('PART_NOT_FOUND', { partId: ask.partId });
      const answer = { ...(await build(source, releases, ask)), key };
      if (epoch.count === before) kept.set(ask.partId, answer);
      return answer;
    },
    known(ask) {
      const found = isValid(kept.get(ask.partId));
      return found?.key === keyOf(ask) ? found : undefined;
    },
    watch,
    isWatched,
  };
}

const restartOf = (isRestartWanted: boolean): RestartRequest =>
  isRestartWanted ? RestartRequest.WAITING : RestartRequest.NONE;

/** The whole response with the interval to the next check. Concatenated protobuf messages merge. */
export const wholeBytes = ({ bytes, isRestartWanted }: Answer, checkMs: number): Uint8Array =>
  Buffer.concat([bytes, encoded({ checkInterval: durationFromMs(checkMs), restart: restartOf(isRestartWanted) })]);

/** The response for an unchanged configuration. */
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

async function build(source: PartSource, releases: ReleaseCache, ask: Ask): Promise<Answer> {
  const agent = (isObject(source.agent) ? source.agent : {}) as JsonObject;
  // Never a placeholder: an agent would take it for the password of its network, and lose that.
  if (!ask.readsSecrets && revealedSecrets(JSON.stringify({ agent })).length > 0) throw new PlatformError('NOT_OWNER');
  const versions = readAgent(agent).agent['version_control'];
  const desired = isObject(versions) ? versions : {};
  const agentUpdateInfo =
    (source.isMigrating && (await migrationInfo(releases, ask))) ||
    (await updateInfo(releases, ask, 'platform-agent', desired['agent']));
  const serverUpdateInfo = await updateInfo(releases, ask, 'platform-server', desired['platform-server']);
  const orders = ask.product === 'platform' ? (source.orders ?? []) : [];
  const bytes = encoded({
    ...(agentUpdateInfo && { agentUpdateInfo }),
    ...(serverUpdateInfo && { serverUpdateInfo }),
    ...toDeviceStructs(agent, ask.product),
    agent,
    revision: BigInt(source.revision),
    ...windowOf(source.window as JsonValue | null),
    quarantineClearance: BigInt(source.quarantineClearance),
    systemUpgrades: BigInt(source.systemUpgrades),
    ...(source.configSha256 && { configSha256: source.configSha256 }),
    orders: orders.map(({ id, kind }) => create(MachineOrderSchema, { id, kind: orderKinds[kind] })),
  });
  const fingerprint = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const whole = Buffer.concat([bytes, encoded({ fingerprint })]);
  const { isRestartWanted, revision, split } = source;
  const expiresOn = orders.length === 0 ? undefined : Math.min(...orders.map((order) => order.expiresOn));
  return { fingerprint, bytes: whole, isRestartWanted, revision, expiresOn, split: split ?? undefined };
}

const windowOf = (window: JsonValue | null): MessageInitShape<typeof DeviceAgentConfigResponseSchema> => {
  if (window === null) return {};
  return isObject(window) ? { maintenanceWindow: window } : { maintenanceWindows: fromJson(ValueSchema, window) };
};

/**
 * Our agent as the update of another product's agent. Undefined for our agent, and once the file was downloaded.
 * Otherwise, if the file fails to start, that agent would download it in every cycle.
 */
async function migrationInfo(releases: ReleaseCache, ask: Ask): Promise<UpdateInfo | undefined> {
  if (ask.product === 'platform') return undefined;
  const found = await releases.resolve('platform-agent', parseDesiredVersion('stable'), ask.platform);
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

/**
 * Undefined: no release matches, so the machine keeps its version. An empty version or hash would make agents download
 * repeatedly.
 */
async function updateInfo(
  releases: ReleaseCache,
  ask: Ask,
  program: Program,
  wanted: unknown,
): Promise<UpdateInfo | undefined> {
  const filename = releaseName(program, ask.product);
  const found = await releases.resolve(filename, parseDesiredVersion(wanted), ask.platform);
  const desired = typeof wanted === 'string' && wanted !== '' ? wanted : 'stable';
  const format = PackageFormat.EXECUTABLE;
  if (found.is === 'file') {
    const { url, sha256, problem } = found.pin;
    // The configuration was saved before the server rejected such pins.
    if (problem) return undefined;
    return create(UpdateInfoSchema, {
      filename,
      url,
      version: 'customURL',
      // Agents of the public protocol compute the hash of such a file themselves, and would verify one from the server.
      ...(ask.product === 'platform' && { sha256: Buffer.from(sha256, 'hex') }),
      format,
      unsigned: true,
      desired,
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
    desired,
  });
}
