import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createConnectTransport } from '@connectrpc/connect-web';
import { createLog, errorText, type Log } from '@platform/kit';
import {
  atomicWrite,
  lockFolder,
  readJson,
  stderrSink,
  systemClock,
  unusableRemedy,
  unusableText,
  Usage,
  useProxiesOf,
} from '@platform/kit/node';
import { watchCapabilities } from './capabilities.ts';
import { connectQueue } from './cloud/queue.ts';
import { openSession } from './cloud/session.ts';
import { makePrivate } from './job/cache.ts';
import { cacheIn, leftJobFolders, removeJobFolders } from './job/folder.ts';
import { startDispatcher } from './executor/start-dispatcher.ts';
import { makeWorkspace } from './make-workspace.ts';
import type { RunnerOptions } from './options.ts';
import { runRunner } from './run-runner.ts';
import type { Trainers } from './trainer/command.ts';
import { killOrphans } from './trainer/orphan.ts';

const clock = systemClock;

/**
 * Runs jobs until the signal. Throws FolderLocked while another runner uses the folder.
 *
 * @param drain - aborted: running jobs finish, and the runner leases no more.
 */
export async function startRunner(
  given: RunnerOptions,
  trainers: Trainers,
  signal: AbortSignal,
  drain: AbortSignal = new AbortController().signal,
): Promise<void> {
  const level = given.debug ? 'debug' : 'info';
  const log = createLog({ name: 'runner', clock, level, sink: stderrSink(given.logFormat) });
  await makeFolder(given.folder);
  await using _lock = await lockFolder(path.join(given.folder, 'runner.lock'));
  await clearUp(given, log);
  for (const proxy of useProxiesOf(process.env)) log.warn(unusableText(proxy), { remedy: unusableRemedy });
  const transport = createConnectTransport({ baseUrl: given.url, useBinaryFormat: true });
  const session = openSession(transport, { id: given.apiKeyId, key: given.apiKey }, clock);
  const runnerId = await identity(path.join(given.folder, 'runner.json'));
  log.info('the runner is up', { runnerId, url: given.url, folder: given.folder });
  const queue = connectQueue(transport, session, runnerId, clock);
  if (given.engine.executor === 'local') {
    await makePrivate(cacheIn(given.folder));
    const where = { root: given.folder, url: given.url, trainers, clock, log };
    const capabilities = await watchCapabilities({ ...given, ...where });
    const place = { ...where, sharedFolder: given.folder, queue, session, capabilities };
    await runRunner(await makeWorkspace(given, place, signal), { stop: signal, drain, jobs: given.jobs });
  } else {
    await startDispatcher(given, { queue, runnerId, trainers, drain, clock, log }, signal);
  }
  log.info('the runner has ended');
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new Usage(`The folder ${folder} cannot be used: ${errorText(error)}. Name another with --folder.`, 2);
  }
}

/** Removes what a killed runner left: trainer processes and job folders. */
async function clearUp({ folder, keepJobs }: RunnerOptions, log: Log): Promise<void> {
  const left = await leftJobFolders(folder);
  const pids = await killOrphans(left, clock);
  if (pids.length > 0) log.warn('trainers of an earlier runner were ended', { pids });
  if (keepJobs || left.length === 0) return;
  await removeJobFolders(left);
  log.info('folders of earlier attempts were removed', { removed: left.length });
}

/** The runner ID survives restarts: the queue learns at once that attempts of the previous run are over. */
async function identity(file: string): Promise<string> {
  const known = await readJson(file);
  if (typeof known === 'object' && known !== null && 'runner_id' in known && typeof known.runner_id === 'string') {
    return known.runner_id;
  }
  const runnerId = randomUUID();
  await atomicWrite(file, `${JSON.stringify({ runner_id: runnerId })}\n`);
  return runnerId;
}
