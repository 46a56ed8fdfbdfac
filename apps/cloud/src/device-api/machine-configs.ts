import { createHash } from 'node:crypto';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type CloudConfig,
  CloudConfigSchema,
  type RobotConfig,
  RobotConfigSchema,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { Clock, Log } from '@platform/kit';
import { partAddress } from '../machines/rules/addresses.ts';
import { robotConfigOf } from '../configs/rules/robot-config.ts';
import type { Changes } from '../database/changes.ts';
import { type ConfigRow, findConfig } from '../configs/store/configs.ts';
import type { Database } from '../database/database.ts';
import { findPart, type PartRow } from '../machines/store/machines.ts';
import { watchers } from './watchers.ts';

/** The part whose configuration is requested, and the URL of this server that its machine uses. */
export type ConfigAsk = { partId: string; baseUrl: string };

/** Configurations as machine servers read them. Only their revisions are cached. */
export type MachineConfigs = {
  /** @param part - the part if the caller has it. @throws PlatformError PART_NOT_FOUND */
  answer(ask: ConfigAsk, part?: PartRow): Promise<RobotConfig>;
  /** The `revision` of the response if it is cached. */
  known(ask: ConfigAsk): string | undefined;
  /** Calls `wake` when the response may have changed. @returns stops watching. */
  watch(partId: string, wake: () => void): () => void;
  /** Wakes the long polls of a part: something else in their answer has changed. */
  wake(partId: string): void;
  isWatched(partId: string): boolean;
};

/** `follows`: the organization whose packages it names as `latest`. */
type Kept = { revision: string; baseUrl: string; follows: string | undefined };

export function machineConfigs(of: {
  db: Database;
  /** The version that `latest` resolves to. */
  packageVersion: (orgId: string, name: string) => Promise<string | undefined>;
  changes: Changes;
  clock: Clock;
  log: Log;
  stop: AbortSignal;
}): MachineConfigs {
  const { db, log } = of;
  const kept = new LRUCache<string, Kept>({ max: 200_000 });
  const { watch, isWatched, wake, wakeMany } = watchers(of.clock, of.stop);
  const epoch = { count: 0 };
  of.changes.subscribe((kind, key) => {
    if (kind !== undefined && kind !== 'config' && kind !== 'part' && kind !== 'package') return;
    epoch.count++;
    if (kind === undefined || key === undefined) {
      kept.clear();
      wakeMany();
    } else if (kind === 'package') {
      for (const [partId, { follows }] of kept.entries().toArray()) if (follows === key) kept.delete(partId);
      wakeMany((partId) => !kept.has(partId));
    } else {
      kept.delete(key);
      wake(key);
    }
  });
  return {
    watch,
    wake,
    isWatched,
    known({ partId, baseUrl }) {
      const found = kept.get(partId);
      return found?.baseUrl === baseUrl ? found.revision : undefined;
    },
    async answer({ partId, baseUrl }, known) {
      const before = epoch.count;
      const saved = await findConfig(db, partId);
      // With an empty configuration, a machine that was just deleted would drop its desired state.
      const part = (saved && known) ?? (await findPart(db, partId));
      if (!part) throw new PlatformError('PART_NOT_FOUND', { partId });
      const names = { isFollowing: false };
      const { config, skipped } = await robotConfigOf(saved?.config ?? {}, (name) => {
        names.isFollowing = true;
        return of.packageVersion(part.orgId, name);
      });
      if (skipped.length > 0)
        log.warn('entries of a configuration cannot be read', { partId, skipped: skipped.slice(0, 10) });
      const message = withRevision({
        ...config,
        ...identityOf(saved),
        cloud: cloudConfig(part, baseUrl),
      });
      const follows = names.isFollowing ? part.orgId : undefined;
      if (epoch.count === before) kept.set(partId, { revision: message.revision, baseUrl, follows });
      return message;
    },
  };
}

/** Its `revision` is a hash of everything else in it. */
function withRevision(content: MessageInitShape<typeof RobotConfigSchema>): RobotConfig {
  const message = create(RobotConfigSchema, content);
  const bytes = toBinary(RobotConfigSchema, message);
  message.revision = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  return message;
}

/** The number is for display; the hash identifies the saved configuration. */
const identityOf = (saved: ConfigRow | undefined) => ({
  revisionNumber: BigInt(saved?.revision ?? 0),
  ...(saved && saved.revision > 0 && { configSha256: saved.sha256 }),
});

const cloudConfig = (part: PartRow, baseUrl: string): CloudConfig =>
  create(CloudConfigSchema, {
    id: part.id,
    fqdn: partAddress(part.name, part.locationId, 'platform.local'),
    localFqdn: partAddress(part.name, part.locationId, 'local'),
    signalingAddress: new URL(baseUrl).host,
    // This server issues no certificates to machines, so the machine must not request one.
    signalingInsecure: true,
    primaryOrgId: part.orgId,
    locationId: part.locationId,
    machineId: part.machineId,
  });
