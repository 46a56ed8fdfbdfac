import { fromJsonString, toJsonString } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { RobotConfig, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { errorText } from '@platform/kit';
import type { Cell, Clock, Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { readMachineConfig } from '../machine-config.ts';
import type { MachineConfig } from '../machine-config.ts';

/** What is known about the management server. */
export interface Contact {
  readonly isOnline: boolean;
  /** Why the last call failed; undefined when it did not. */
  readonly problem?: string;
}

interface Deps {
  readonly robot: Pick<Client<typeof RobotService>, 'config'>;
  readonly partId: string;
  readonly version: string;
  /** The last configuration is kept here, so that a machine starts without its cloud. */
  readonly cacheFile: string;
  readonly wanted: Cell<MachineConfig>;
  readonly contact: Cell<Contact>;
  readonly pollMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads the configuration kept from before, if there is one; a damaged file is none. */
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

/** Asks for the configuration until `signal`; being offline is normal and changes nothing. */
export async function pollConfig(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, pollMs } = deps;
  let seen = '';
  while (!signal.aborted) {
    seen = await pollOnce(deps, seen, signal);
    await clock.sleep(pollMs, signal);
  }
}

async function pollOnce(deps: Deps, seen: string, signal: AbortSignal): Promise<string> {
  const { robot, partId, version, wanted, contact, log } = deps;
  try {
    const { config } = await robot.config({ id: partId, agentInfo: agentInfo(version) }, { signal });
    if (!contact.get().isOnline) {
      contact.set({ isOnline: true });
      log.info('online');
    }
    if (config === undefined) return seen;
    const text = toJsonString(RobotConfigSchema, config);
    if (text !== seen) await take(config, text, deps);
    return text;
  } catch (error) {
    if (signal.aborted) return seen;
    const code = Code[ConnectError.from(error).code];
    const problem = errorText(error);
    const before = contact.get();
    contact.set({ isOnline: false, problem });
    if (before.problem !== problem) {
      log.warn('the management server gives no configuration', { code, problem, kept: wanted.get().revision });
    }
    return seen;
  }
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
