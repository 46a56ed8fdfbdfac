import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createPlatformClient, type PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, createLog, errorText } from '@platform/kit';
import {
  atomicWrite,
  type FolderLock,
  FolderLocked,
  isCopiedMark,
  lockFolder,
  onSignals,
  readJson,
  stderrSink,
  systemClock,
} from '@platform/kit/node';
import { build } from './build.ts';
import { agentSpec, cloudSpec, keepPort, runnerOptions, runnerOptionsFile, runnerSpec } from './child-specs.ts';
import { type Child, ChildFailed, Children, type ChildSpec } from './children.ts';
import { releaseKeyFolder } from '../data-folder.ts';
import { prepareMachineFolder } from './folders.ts';
import type { UpOptions } from './options.ts';
import { releaseOtherPlatforms } from './other-platforms.ts';
import { createScreen, type Screen } from './progress.ts';
import { type Found, lookAt, untilReady } from './ready.ts';
import { publishReleases } from './releases.ts';
import { storySteps } from './steps.ts';
import { eventLog, runStory, sizes } from './story.ts';
import { type Cloud, deadFirstKey, deadRunnerKey, summary } from './summary.ts';

type StartChild = (spec: ChildSpec, how: Parameters<Children['keep']>[1]) => Promise<string>;

/** A running management server, and what the rest of a start needs. */
interface Platform {
  readonly options: UpOptions;
  readonly built: Awaited<ReturnType<typeof build>>;
  readonly cloud: Cloud;
  readonly screen: Screen;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly children: Children;
}

/** `npm start`. Returns the exit code. */
export async function up(options: UpOptions): Promise<number> {
  const clock = systemClock;
  const stop = onSignals();
  const screen = createScreen(process.stderr, clock);
  const say = (text: string): void => screen.show({ is: 'say', text });
  const log = createLog({
    name: 'up',
    clock,
    level: 'warn',
    sink: (line) => (screen.close(), stderrSink(options.logFormat)(line)),
  });

  mkdirSync(options.dataDir, { recursive: true });
  await checkCopy(options);
  const lock = await lockDataDir(options.dataDir, clock);
  const logFolder = path.join(options.dataDir, 'logs');
  const children = new Children({ file: path.join(options.dataDir, 'run.json'), logFolder, clock, log });
  const started: Child[] = [];
  const start: StartChild = async (spec, how) => {
    const { child, readyLine } = await children.keep(spec, how);
    started.unshift(child);
    return readyLine;
  };
  try {
    const built = await build(say);
    const left = await children.endLeftovers(10_000);
    if (left.length > 0) say(`Ended what an earlier start left running: ${left.join(', ')}.`);

    const cloud = await startCloud(options, built.web, start);
    if (cloud.runner_key === null) say(deadRunnerKey);
    else {
      await writeSecret(runnerOptionsFile(options), runnerOptions(cloud, cloud.runner_key));
      await start(runnerSpec(options), { isReadyAtOnce: true });
    }
    if (cloud.api_key === null && options.once) throw new Error(deadFirstKey);
    const platform = { options, built, cloud, screen, clock, stop, children };
    if (options.empty || cloud.api_key === null) await runWithoutDemo(platform);
    else return await runDemo(platform, start);
    return 0;
  } catch (error) {
    if (error instanceof ChildFailed) throw new Error(childFailure(error, logFolder), { cause: error });
    throw error;
  } finally {
    screen.close();
    if (started.length > 0 && stop.aborted) say('Stopping …');
    for (const child of started)
      await child
        .stop()
        .catch((error: unknown) =>
          log.error('a process could not be stopped', { process: child.name, error: errorText(error) }),
        );
    await lock[Symbol.asyncDispose]();
  }
}

/** Starts the management server and writes `connection.json` for other programs. */
async function startCloud(options: UpOptions, web: string, start: StartChild): Promise<Cloud> {
  const spec = cloudSpec(options, web);
  const cloud = await readCloud(await start(spec, { next: (line) => keepPort(spec, line) }));
  const { url, local_url, org_id, api_key_id, api_key } = cloud;
  await writeSecret(
    path.join(options.dataDir, 'connection.json'),
    api_key === null ? { url, local_url, org_id } : { url, org_id, api_key_id, api_key, local_url },
  );
  return cloud;
}

/** Publishes the releases and waits for the end of the platform. The next start continues an interrupted publication. */
async function runWithoutDemo(platform: Platform): Promise<void> {
  const { options, cloud, screen, clock, stop } = platform;
  const say = (text: string): void => screen.show({ is: 'say', text });
  const publish = (): Promise<void> => publishReleases({ ...releaseWorld(platform), client: clientOf(cloud) });
  const look = (): Promise<Found> => lookAtPlatform(platform);
  const notices = cloud.api_key === null ? [] : await untilReady({ publish, look }, { clock, signal: stop, say });
  if (!notices) return;
  if (options.json) process.stdout.write(`${JSON.stringify(readyReport(platform))}\n`);
  say(summary({ ...cloud, dataDir: options.dataDir, notices }));
  await keepUp(platform);
}

/** Runs the demo, then waits for the end of the platform, unless `--once`. Returns the exit code. */
async function runDemo(platform: Platform, start: StartChild): Promise<number> {
  const { options, built, cloud, screen, stop } = platform;
  const say = (text: string): void => screen.show({ is: 'say', text });
  say(`Platform at ${cloud.url}`);
  const machineFolder = prepareMachineFolder(options.dataDir, built.agent);
  const report = await runStory(storySteps, {
    ...releaseWorld(platform),
    client: clientOf(cloud),
    url: cloud.inside_url,
    organizationId: cloud.org_id,
    signal: stop,
    size: sizes[options.small ? 'small' : 'full'],
    seed: options.seed,
    machineFolder,
    startAgent: async () => void (await start(agentSpec(machineFolder), { isReadyAtOnce: true })),
    show: screen.show,
  });
  if (options.once) {
    const { ok, steps, facts, error } = report;
    if (options.json) process.stdout.write(`${JSON.stringify({ ok, steps, ...facts, error })}\n`);
    return ok ? 0 : 1;
  }
  if (options.json) {
    const line = { ...readyReport(platform), story: report.ok, steps: report.steps, ...report.facts };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
  const { missing, notices } = await lookAtPlatform(platform).catch(() => ({ missing: [], notices: [] }));
  say(summary({ ...cloud, dataDir: options.dataDir, story: report, notices: [...missing, ...notices] }));
  await keepUp(platform);
  return 0;
}

/** Waits for the end of the platform. Meanwhile it releases the programs for other platforms. */
async function keepUp(platform: Platform): Promise<void> {
  const { options, cloud, screen, stop, children } = platform;
  const { dataDir } = options;
  const say = (text: string): void => screen.show({ is: 'say', text });
  const mayRelease = !options.ownPlatformOnly && cloud.api_key !== null && !stop.aborted;
  const world = { ...releaseWorld(platform), client: clientOf(cloud), children, dataDir, signal: stop, say };
  await Promise.all([ended(stop), mayRelease && releaseOtherPlatforms(world)]);
}

/** The JSON line that says that the server is ready. */
function readyReport({ options, cloud }: Platform): object {
  const { url, local_url, port, org_id, api_key_id, api_key, sign_in_url } = cloud;
  return { ready: true, url, local_url, port, org_id, api_key_id, api_key, sign_in_url, data_dir: options.dataDir };
}

const lookAtPlatform = ({ cloud, clock }: Platform): Promise<Found> =>
  lookAt(clientOf(cloud), {
    localUrl: cloud.local_url,
    organizationId: cloud.org_id,
    hasRunner: cloud.runner_key !== null,
    clock,
  });

const clientOf = (cloud: Cloud): PlatformClient =>
  createPlatformClient({
    baseUrl: cloud.inside_url,
    credentials: { type: 'api-key', authEntity: cloud.api_key_id, payload: cloud.api_key ?? '' },
  });

function releaseWorld({ options, built, clock }: Platform) {
  const record = eventLog(path.join(options.dataDir, 'story.ndjson'), clock);
  return { releases: built.releases, keyFolder: releaseKeyFolder(options.dataDir), clock, record };
}

/** In a copy of a folder in use, the lock and the list of processes are those of the original. */
async function checkCopy({ dataDir, acceptCopy }: UpOptions): Promise<void> {
  const isCopy = await isCopiedMark(path.join(dataDir, 'cloud', 'running.json'));
  if (!isCopy) return;
  if (!acceptCopy) throw new PlatformError('COPIED_WHILE_RUNNING', { path: dataDir });
  for (const name of ['up.lock', 'run.json']) rmSync(path.join(dataDir, name), { force: true });
}

/** Waits for an earlier start that is shutting down. */
async function lockDataDir(dataDir: string, clock: Clock): Promise<FolderLock> {
  const end = clock.now() + 5_000;
  for (;;) {
    try {
      return await lockFolder(path.join(dataDir, 'up.lock'));
    } catch (error) {
      if (!(error instanceof FolderLocked)) throw error;
      if (clock.now() > end) throw new PlatformError('DATA_DIR_IN_USE', { path: dataDir, pid: error.pid }, error);
      await clock.sleep(100);
    }
  }
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

/** The child's own message, or the path of its log if it printed none. */
function childFailure(error: ChildFailed, logFolder: string): string {
  const words = error.tail.filter((line) => line.trim() !== '');
  return words.length > 0 ? words.join('\n') : `${error.message}. See ${path.join(logFolder, 'cloud.log')}.`;
}

/** Parses the management server's readiness line and the credentials file that it names. */
async function readCloud(readyLine: string): Promise<Cloud> {
  const { credentials_file, ...printed } = JSON.parse(readyLine) as Cloud & { credentials_file: string };
  return { ...((await readJson(credentials_file)) as Cloud), ...printed };
}

/** Passes keys to other programs in private files: process lists show arguments and environment. */
const writeSecret = (file: string, content: object): Promise<void> =>
  atomicWrite(file, `${JSON.stringify(content, null, 1)}\n`, { mode: 0o600 });
