import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { createPlatformClient, type PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import { type Clock, createLog, errorText } from '@platform/kit';
import {
  atomicWrite,
  type FolderLock,
  FolderLocked,
  lockFolder,
  onSignals,
  readJson,
  stderrSink,
  systemClock,
} from '@platform/kit/node';
import { build } from './build.ts';
import { type Child, ChildFailed, Children, type ChildSpec } from './children.ts';
import { checkout, releaseKeyFolder } from '../data-folder.ts';
import { type MachineFolder, prepareMachineFolder } from './folders.ts';
import type { UpOptions } from './options.ts';
import { createScreen } from './progress.ts';
import { type Found, lookAt, untilReady } from './ready.ts';
import { publishReleases } from './releases.ts';
import { storySteps } from './steps.ts';
import { eventLog, runStory, sizes, type StoryReport } from './story.ts';
import { scrubbedText, scrubLogs } from './scrub-logs.ts';
import { type Cloud, deadFirstKey, deadRunnerKey, summary } from './summary.ts';

const app = (name: string): string => path.join(checkout, 'apps', name, 'src', 'main.ts');
/** The part of the environment that a child needs; PLATFORM_… options are for this program only. */
const plainEnv = (): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !key.startsWith('PLATFORM_') && !key.startsWith('npm_')),
  );

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
    sink: (line) => (screen.close(), stderrSink('text')(line)),
  });

  mkdirSync(options.dataDir, { recursive: true });
  const lock = await lockDataDir(options.dataDir, clock);
  const logFolder = path.join(options.dataDir, 'logs');
  const children = new Children({ file: path.join(options.dataDir, 'run.json'), logFolder, clock, log });
  const started: Child[] = [];
  const start = async (spec: ChildSpec, how: Parameters<Children['keep']>[1]): Promise<string> => {
    const { child, readyLine } = await children.keep(spec, how);
    started.unshift(child);
    return readyLine;
  };
  try {
    const built = await build(say);
    const left = await children.endLeftovers(10_000);
    if (left.length > 0) say(`Ended what an earlier start left running: ${left.join(', ')}.`);

    const scrubbed = await scrubLogs(logFolder);
    if (scrubbed.length > 0) say(scrubbedText(scrubbed));
    const cloud = await readCloud(
      await start(cloudSpec(options, built.web), { next: (line) => keepPort(cloudSpec(options, built.web), line) }),
    );
    const { url, local_url, org_id, api_key_id, api_key, sign_in_url } = cloud;
    const connection = { url, org_id, api_key_id, api_key };
    await writeSecret(
      path.join(options.dataDir, 'connection.json'),
      api_key === null ? { url, local_url, org_id } : { ...connection, local_url },
    );
    const ready = { ready: true, ...connection, sign_in_url, data_dir: options.dataDir };

    if (cloud.runner_key === null) say(deadRunnerKey);
    else {
      await writeSecret(runnerOptionsFile(options), runnerOptions(cloud, cloud.runner_key));
      await start(runnerSpec(options), { isReadyAtOnce: true });
    }
    if (api_key === null && options.once) throw new Error(deadFirstKey);
    if (options.empty || api_key === null) {
      const world = { clock, signal: stop, say };
      const publish = (): Promise<void> => publishReleases({ ...releaseWorld(), client: clientOf() });
      const notices = api_key === null ? [] : await untilReady({ publish, look }, world);
      if (!notices) return 0; // the next start continues an interrupted publication
      if (options.json) process.stdout.write(`${JSON.stringify(ready)}\n`);
      say(summary({ ...cloud, dataDir: options.dataDir, notices }));
      await ended(stop);
      return 0;
    }
    say(`Platform at ${cloud.url}`);
    const machineFolder = prepareMachineFolder(options.dataDir, built.agent);
    const report = await tellStory();
    const answer = { ...report, url: cloud.url, data_dir: options.dataDir };
    if (options.once) {
      if (options.json)
        process.stdout.write(
          `${JSON.stringify({ ok: report.ok, steps: report.steps, ...report.facts, error: report.error })}\n`,
        );
      return report.ok ? 0 : 1;
    }
    if (options.json)
      process.stdout.write(`${JSON.stringify({ ...ready, story: answer.ok, steps: report.steps, ...report.facts })}\n`);
    const { missing, notices } = await look().catch(() => ({ missing: [], notices: [] }));
    say(summary({ ...cloud, dataDir: options.dataDir, story: report, notices: [...missing, ...notices] }));
    if (!stop.aborted) await ended(stop);
    return 0;

    function look(): Promise<Found> {
      return lookAt(clientOf(), {
        localUrl: cloud.local_url,
        organizationId: cloud.org_id,
        hasRunner: cloud.runner_key !== null,
        clock,
      });
    }
    function clientOf(): PlatformClient {
      return createPlatformClient({
        baseUrl: cloud.inside_url,
        credentials: { type: 'api-key', authEntity: cloud.api_key_id, payload: cloud.api_key ?? '' },
      });
    }
    function releaseWorld() {
      const record = eventLog(path.join(options.dataDir, 'story.ndjson'), clock);
      return { releases: built.releases, keyFolder: releaseKeyFolder(options.dataDir), clock, record };
    }
    async function tellStory(): Promise<StoryReport> {
      return runStory(storySteps, {
        ...releaseWorld(),
        client: clientOf(),
        url: cloud.inside_url,
        organizationId: cloud.org_id,
        signal: stop,
        size: sizes[options.small ? 'small' : 'full'],
        seed: options.seed,
        machineFolder,
        startAgent: async () => void (await start(agentSpec(machineFolder), { isReadyAtOnce: true })),
        show: screen.show,
      });
    }
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

function cloudSpec(options: UpOptions, web: string): ChildSpec {
  const given = {
    '--tls-cert': options.tlsCert,
    '--tls-key': options.tlsKey,
    '--tls-authority': options.tlsAuthority,
    '--tls-known-authority': options.tlsKnownAuthority,
    '--public-url': options.publicUrl,
    '--trusted-proxy': options.trustedProxy,
  };
  const args = [
    '--data-dir',
    path.join(options.dataDir, 'cloud'),
    '--host',
    options.host,
    '--port',
    String(options.port),
    '--web-dir',
    web,
    ...Object.entries(given).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...(options.allowPlaintext ? ['--allow-plaintext'] : []),
  ];
  const { DATABASE_URL } = process.env;
  return {
    name: 'cloud',
    command: process.execPath,
    args: [app('cloud'), ...args, ...(options.newKeys ? ['--new-keys'] : []), '--json'],
    env: { ...plainEnv(), DATABASE_URL },
    termMs: 15_000,
  };
}

/** Replaces port 0 by the chosen port: a restarted server keeps the port that machines and pages use, and its keys. */
function keepPort(spec: ChildSpec, readyLine: string): ChildSpec {
  const { port } = JSON.parse(readyLine) as Cloud;
  const args = spec.args.filter((arg) => arg !== '--new-keys');
  args[args.indexOf('--port') + 1] = String(port);
  return { ...spec, args };
}

const runnerOptionsFile = (options: UpOptions): string => path.join(options.dataDir, 'runner-options.json');

const runnerOptions = ({ local_url, runner_key_id }: Cloud, key: string) => ({
  url: local_url,
  api_key_id: runner_key_id,
  api_key: key,
});

function runnerSpec(options: UpOptions): ChildSpec {
  const folder = path.join(options.dataDir, 'runner');
  return {
    name: 'runner',
    command: process.execPath,
    args: [app('runner'), '--folder', folder, '--options-file', runnerOptionsFile(options)],
    env: plainEnv(),
    termMs: 15_000,
  };
}

function agentSpec(machine: MachineFolder): ChildSpec {
  return {
    name: 'agent',
    command: machine.node,
    args: [machine.agentFile, '--config', machine.credentialsFile, '--root', machine.root],
    env: {
      PATH: '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      HOME: machine.root,
      ...(process.env['TZ'] && { TZ: process.env['TZ'] }),
    },
    cwd: machine.root,
    ...machine.account,
    termMs: 140_000, // the agent stops the machine server first: TERM 120 s, QUIT 5 s, KILL
  };
}
