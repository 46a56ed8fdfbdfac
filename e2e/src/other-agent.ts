import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { checkout } from './up-process.ts';

const pauseMs = 200;

/** A machine with another product's agent, and the part of systemd that runs its service. */
export interface OtherMachine extends AsyncDisposable {
  /** File names of the programs that the service started, in order. */
  readonly started: readonly string[];
  /** Number of checks that the other agent has made. */
  checks(): number;
  /** The current version in the other agent's own record. */
  current(): Promise<string>;
  /** File name of the program that the service would start next. */
  linked(): Promise<string>;
  log(): Promise<string>;
  /** Ends the running program with TERM; the service starts what is linked then. */
  restart(): void;
}

interface OtherRecord {
  viam_agent: { current_version: string };
}

/** The other agent's record of the version that it runs. */
export function otherRecord(root: string, version: string, file: string): string {
  const link = path.join(root, 'bin', 'viam-agent');
  const known = { Version: version, URL: '', DlPath: file, UnpackedPath: file, SymlinkPath: link };
  const versions = { [version]: known };
  const program = { target_version: version, current_version: version, previous_version: '', versions };
  return JSON.stringify({ viam_agent: program });
}

interface OtherAgentOptions {
  folder: string;
  credentials: unknown;
  version: string;
  /** Environment of the programs that the service starts. */
  env?: Readonly<Record<string, string>>;
}

/** Installs another product's agent in the folder and starts its service. */
export async function installOtherAgent(options: OtherAgentOptions): Promise<OtherMachine> {
  const { record, link } = await writeOtherAgent(options);
  const service: ServiceRun = { started: [], checks: 0, end: undefined };
  const logFile = path.join(options.folder, 'service.log');
  const stop = new AbortController();
  const ended = runService(service, options, { link, logFile }, stop.signal);
  return {
    started: service.started,
    checks: () => service.checks,
    current: async () => (JSON.parse(await readFile(record, 'utf8')) as OtherRecord).viam_agent.current_version,
    linked: async () => path.basename(await readlink(link)),
    log: () => readFile(logFile, 'utf8').catch(() => ''),
    restart: () => service.end?.(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

/** Writes the files of an installation: the program, its link, its record, its configuration. */
async function writeOtherAgent({ folder, credentials, version }: OtherAgentOptions) {
  const at = (...names: string[]): string => path.join(folder, ...names);
  for (const name of ['viam/bin', 'viam/cache', 'viam/etc', 'etc', 'units']) await mkdir(at(name), { recursive: true });
  await writeFile(at('etc', 'viam.json'), JSON.stringify(credentials), { mode: 0o600 });
  const file = at('viam', 'cache', `viam-agent-v${version}-x86_64`);
  const script = path.join(checkout, 'e2e/src/other-agent-program.ts');
  const node = `${process.execPath} --disable-warning=ExperimentalWarning`;
  await writeFile(file, `#!/bin/sh\nexec ${node} ${script} "$@"\n`);
  await chmod(file, 0o755);
  const link = at('viam', 'bin', 'viam-agent');
  await symlink(file, link);
  const record = at('viam', 'cache', 'version_cache.json');
  await writeFile(record, otherRecord(at('viam'), version, file));
  return { record, link };
}

interface ServiceRun {
  readonly started: string[];
  checks: number;
  /** Ends the program that runs now. */
  end: (() => void) | undefined;
}
interface ServiceFiles {
  readonly link: string;
  readonly logFile: string;
}

/** Restarts the linked program until the signal, as systemd does. */
async function runService(
  run: ServiceRun,
  { folder, version, env }: OtherAgentOptions,
  { link, logFile }: ServiceFiles,
  signal: AbortSignal,
): Promise<void> {
  const at = (...names: string[]): string => path.join(folder, ...names);
  while (!signal.aborted) {
    await runPreStartCommands(at('units', 'viam-agent.service.d', '50-platform-agent.conf'));
    run.started.push(path.basename(await readlink(link)));
    const group = await spawnGroup({
      command: link,
      args: ['--config', at('etc', 'viam.json'), '--enable-syscfg', '--enable-networking'],
      env: {
        PATH: process.env['PATH'] ?? '',
        OTHER_AGENT_ROOT: at('viam'),
        OTHER_AGENT_VERSION: version,
        PLATFORM_AGENT_ROOT: at('platform'),
        PLATFORM_AGENT_CONFIG: at('etc', 'platform.json'),
        PLATFORM_AGENT_UNIT_FOLDER: at('units'),
        PLATFORM_AGENT_MEMORY_FOLDER: at('memory'),
        ...env,
      },
    });
    for (const stream of [group.stdout, group.stderr]) {
      createInterface({ input: stream! }).on('line', (line) => {
        if (line === 'checked') run.checks++;
        else void writeFile(logFile, `${line}\n`, { flag: 'a' });
      });
    }
    const end = (): void => void group.stop({ termMs: 30_000 });
    signal.addEventListener('abort', end);
    run.end = end;
    await group.exited;
    signal.removeEventListener('abort', end);
    await systemClock.sleep(pauseMs, signal);
  }
}

/** Runs the pre-start commands of the unit's drop-in. */
async function runPreStartCommands(dropIn: string): Promise<void> {
  const text = await readFile(dropIn, 'utf8').catch(() => '');
  for (const [, line = ''] of text.matchAll(/^ExecStartPre=-(.*)$/gm)) {
    const [command = '', ...args] = line.split(' ');
    await promisify(execFile)(command, args).catch(() => undefined);
  }
}
