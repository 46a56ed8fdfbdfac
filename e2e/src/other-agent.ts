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

/** @param env - for the programs that the service starts. */
export async function installOtherAgent(of: {
  folder: string;
  credentials: unknown;
  version: string;
  env?: Readonly<Record<string, string>>;
}): Promise<OtherMachine> {
  const { folder, version } = of;
  const at = (...names: string[]): string => path.join(folder, ...names);
  const [root, config, units] = [at('viam'), at('etc', 'viam.json'), at('units')];
  for (const name of ['viam/bin', 'viam/cache', 'viam/etc', 'etc', 'units']) await mkdir(at(name), { recursive: true });
  await writeFile(config, JSON.stringify(of.credentials), { mode: 0o600 });
  const file = at('viam', 'cache', `viam-agent-v${version}-x86_64`);
  const script = path.join(checkout, 'e2e/src/other-agent-program.ts');
  const node = `${process.execPath} --disable-warning=ExperimentalWarning`;
  await writeFile(file, `#!/bin/sh\nexec ${node} ${script} "$@"\n`);
  await chmod(file, 0o755);
  const link = at('viam', 'bin', 'viam-agent');
  await symlink(file, link);
  const record = at('viam', 'cache', 'version_cache.json');
  await writeFile(record, otherRecord(root, version, file));

  const env = {
    PATH: process.env['PATH'] ?? '',
    OTHER_AGENT_ROOT: root,
    OTHER_AGENT_VERSION: version,
    PLATFORM_AGENT_ROOT: at('platform'),
    PLATFORM_AGENT_CONFIG: at('etc', 'platform.json'),
    PLATFORM_AGENT_UNIT_FOLDER: units,
    ...of.env,
  };
  const seen = { checks: 0, started: [] as string[] };
  const logFile = at('service.log');
  const stop = new AbortController();

  /** Runs the pre-start commands of the unit's drop-in. */
  const before = async (): Promise<void> => {
    const text = await readFile(at('units', 'viam-agent.service.d', '50-platform-agent.conf'), 'utf8').catch(() => '');
    for (const [, line = ''] of text.matchAll(/^ExecStartPre=-(.*)$/gm)) {
      const [command = '', ...args] = line.split(' ');
      await promisify(execFile)(command, args).catch(() => undefined);
    }
  };
  const service = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await before();
      seen.started.push(path.basename(await readlink(link)));
      const group = await spawnGroup({
        command: link,
        args: ['--config', config, '--enable-syscfg', '--enable-networking'],
        env,
      });
      for (const stream of [group.stdout, group.stderr]) {
        createInterface({ input: stream! }).on('line', (line) => {
          if (line === 'checked') seen.checks++;
          else void writeFile(logFile, `${line}\n`, { flag: 'a' });
        });
      }
      const end = (): void => void group.stop({ termMs: 30_000 });
      stop.signal.addEventListener('abort', end);
      await group.exited;
      stop.signal.removeEventListener('abort', end);
      await systemClock.sleep(pauseMs, stop.signal);
    }
  };
  const done = service();
  return {
    started: seen.started,
    checks: () => seen.checks,
    current: async () => (JSON.parse(await readFile(record, 'utf8')) as OtherRecord).viam_agent.current_version,
    linked: async () => path.basename(await readlink(link)),
    log: () => readFile(logFile, 'utf8').catch(() => ''),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}
