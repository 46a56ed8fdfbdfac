import { fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { RobotConfig, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { errorText, longestHoldMs, pauseAfterAnswer, pauseAfterFailure, retryAfterMs } from '@platform/kit';
import type { Cell, Clock, Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { readMachineConfig } from '../machine-config.ts';
import type { MachineConfig } from '../machine-config.ts';
import type { DesiredViews } from './desired-views.ts';
import { callTimeoutMs } from './link.ts';

/** State of the connection to the management server. */
export interface Contact {
  readonly isOnline: boolean;
  /** Why the last call failed; undefined if it succeeded. */
  readonly problem?: string;
}

interface Deps {
  readonly robot: Pick<Client<typeof RobotService>, 'config'>;
  readonly partId: string;
  readonly version: string;
  /** Cache of the last configuration, so that a machine starts without the management server. */
  readonly cacheFile: string;
  readonly wanted: Cell<MachineConfig>;
  readonly contact: Cell<Contact>;
  /** The live views that the management server asks for. */
  readonly views: Cell<DesiredViews>;
  /** Delay between requests if the management server does not support long polls. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

/** Loads the cached configuration if one exists; ignores a damaged file. */
export async function loadCachedConfig({ cacheFile, wanted, log }: Deps): Promise<void> {
  try {
    const config = fromJsonString(RobotConfigSchema, await readFile(cacheFile, 'utf8'), { ignoreUnknownFields: true });
    wanted.set(readMachineConfig(config));
    log.info('start with the configuration kept from before', { revision: wanted.get().revision });
  } catch (error) {
    const isNone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isNone) log.warn('the kept configuration cannot be read', { file: cacheFile, error });
  }
}

/**
 * Polls the configuration until `signal`; being offline is normal and changes nothing. Uses long polls if the
 * management server supports them.
 */
export async function pollConfig(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, pollMs, random, contact } = deps;
  const known: Known = { text: '', revision: '' };
  let failures = 0;
  while (!signal.aborted) {
    const waitMs = failures === 0 && known.revision !== '' ? longestHoldMs : 0;
    const began = clock.now();
    const wasReached = contact.get().isOnline;
    try {
      const isNews = await pollOnce(deps, known, waitMs, signal);
      failures = 0;
      const pause = pauseAfterAnswer({ waitMs, heldMs: clock.now() - began, isNews, pauseMs: pollMs, random });
      // A server that reports no revision does not support long polls.
      await clock.sleep(known.revision === '' ? pollMs : pause, signal);
    } catch (error) {
      if (signal.aborted) return;
      tellOffline(deps, error);
      const { metadata } = ConnectError.from(error);
      const askedMs = retryAfterMs(metadata.get('retry-after'), clock.wall());
      const longestMs = spreadOverPolls * pollMs;
      await clock.sleep(pauseAfterFailure({ failures: ++failures, wasReached, askedMs, longestMs, random }), signal);
    }
  }
}

/** The last received configuration; both empty: none. */
interface Known {
  text: string;
  revision: string;
}

const spreadOverPolls = 6;

/** @returns whether the configuration or the desired live views changed. */
async function pollOnce(deps: Deps, known: Known, waitMs: number, signal: AbortSignal): Promise<boolean> {
  const { robot, partId, version, contact, views, log } = deps;
  const asked = {
    id: partId,
    knownRevision: known.revision,
    knownViews: views.get().state,
    // The first request already contained the agent info.
    ...(waitMs > 0 ? { wait: durationFromMs(waitMs) } : { agentInfo: agentInfo(version) }),
  };
  const { config, notModified, desiredViews } = await robot.config(asked, {
    signal,
    timeoutMs: callTimeoutMs + waitMs,
  });
  if (!contact.get().isOnline) {
    contact.set({ isOnline: true });
    log.info('online');
  }
  const isNewView = desiredViews !== undefined && desiredViews.state !== asked.knownViews;
  if (isNewView) views.set({ state: desiredViews.state, cameras: desiredViews.cameras });
  if (notModified || config === undefined) return isNewView;
  const text = toJsonString(RobotConfigSchema, config);
  const isNews = text !== known.text;
  if (isNews) await take(config, text, deps);
  Object.assign(known, { text, revision: config.revision });
  return isNews || isNewView;
}

function tellOffline({ contact, wanted, log }: Deps, error: unknown): void {
  const code = Code[ConnectError.from(error).code];
  const problem = errorText(error);
  const before = contact.get();
  contact.set({ isOnline: false, problem });
  if (before.problem === problem) return;
  log.warn('the management server gives no configuration', { code, problem, kept: wanted.get().revision });
}

async function take(config: RobotConfig, text: string, { wanted, cacheFile, log }: Deps): Promise<void> {
  const next = readMachineConfig(config);
  if (JSON.stringify(next) !== JSON.stringify(wanted.get())) {
    wanted.set(next);
    log.info('new configuration', { revision: next.revision, resources: next.resources.length });
    for (const problem of next.problems) log.warn('problem in the configuration', { ...problem });
  }
  try {
    await atomicWrite(cacheFile, text, { mode: 0o600 });
  } catch (error) {
    log.warn('the configuration cannot be kept', { file: cacheFile, error });
  }
}

function agentInfo(version: string) {
  const ips = Object.values(os.networkInterfaces()).flatMap((list) =>
    (list ?? []).filter((a) => !a.internal).map((a) => a.address),
  );
  return { host: os.hostname(), os: os.platform(), ips, version, platform: `${os.platform()}/${os.arch()}` };
}
