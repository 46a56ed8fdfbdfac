// Windows as far as Wine is one: a prefix of its own in a Debian 13, with its service manager, registry and drive.
import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { eventually } from './machine.ts';

export interface WineResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface WineMachine extends AsyncDisposable {
  /** Runs a Windows program: a path of Wine's, or the name of one of its programs. */
  exec(words: readonly string[], of?: { env?: Record<string, string>; seconds?: number }): Promise<WineResult>;
  /** @throws Error with its output if it fails */
  must(words: readonly string[], of?: { env?: Record<string, string>; seconds?: number }): Promise<string>;
  /** Copies a file to a path of drive C, for example `temp/agent.exe`. */
  push(file: string, to: string): Promise<void>;
  /** The path on this host of a path of drive C. */
  at(file: string): string;
  /** All files of drive C below a folder, sorted; empty: no such folder. */
  files(folder: string): Promise<string[]>;
  /** Processes of this machine, whose command line contains this text: ids of this host. */
  pids(commandLine: string): Promise<number[]>;
  /** Kills a process of this machine, which it cannot prevent or notice. */
  kill(pid: number): void;
  /** Ends all processes at once, as a power cut does. */
  cut(): Promise<void>;
  /** Starts Windows, and its services. */
  boot(): Promise<void>;
  /** What the registry holds below HKLM, as saved at the last `cut`. */
  registry(): Promise<string>;
}

const defaultSeconds = 120;

/** A new Windows. */
export async function wineMachine(): Promise<WineMachine> {
  const root = await output('bash', [path.join(import.meta.dirname, 'wine-root.sh')]);
  const inside = `/tmp/platform-${randomBytes(4).toString('hex')}`;
  await mkdir(path.join(root, inside), { recursive: true });
  await output('bash', ['-c', mounts, 'mounts', root]);
  const machine = machineIn(root, inside);
  await machine.boot();
  return machine;
}

const environment = (inside: string): Record<string, string> => ({
  PATH: '/usr/lib/wine:/usr/bin:/bin',
  HOME: '/root',
  XDG_RUNTIME_DIR: inside,
  WINEPREFIX: `${inside}/wine`,
  WINEDEBUG: '-all',
  WINEDLLOVERRIDES: 'mscoree,mshtml=',
});

type Start = (script: string, words?: readonly string[], env?: Record<string, string>) => Promise<ProcessGroup>;

/** Runs Windows programs. */
function runnerIn(root: string, inside: string, start: Start): WineMachine['exec'] {
  let count = 0;
  return async (words, { env, seconds = defaultSeconds } = {}) => {
    // Into files: processes that Wine starts by the way keep pipes open.
    const out = `${inside}/out-${count++}`;
    const script = `cd ${inside} && timeout -k 5 ${seconds} wine64 "$@" > ${out} 2> ${out}.err < /dev/null`;
    const { code } = await (await start(script, words, env)).exited;
    const read = async (file: string) => (await readFile(path.join(root, file), 'utf8')).replaceAll('\r', '');
    return { code, stdout: (await read(out)).trimEnd(), stderr: (await read(`${out}.err`)).trimEnd() };
  };
}

function machineIn(root: string, inside: string): WineMachine {
  const start: Start = (script, words = [], env = {}) => {
    const variables = Object.entries({ ...environment(inside), ...env }).map(([key, value]) => `${key}=${value}`);
    return spawnGroup({
      command: 'chroot',
      args: [root, 'env', '-i', ...variables, 'sh', '-c', script, 'sh', ...words],
    });
  };
  const prefix = path.join(root, inside, 'wine');
  const drive = path.join(prefix, 'drive_c');
  const exec = runnerIn(root, inside, start);
  const pids = (commandLine: string): Promise<number[]> => processesOf(`${inside}/wine`, commandLine);
  /** The service manager goes with the last ordinary program. */
  let ordinary: ProcessGroup | undefined;
  const cut = async (): Promise<void> => {
    await (
      await start('wineserver64 -k; wineserver64 -w')
    ).exited;
    ordinary?.signal('SIGKILL');
    await ordinary?.exited;
    await eventually('all processes have ended', 60, async () => ((await pids('')).length === 0 ? true : undefined));
  };
  return {
    exec,
    async must(words, of) {
      const { code, stdout, stderr } = await exec(words, of);
      if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
      return stdout;
    },
    at: (file) => path.join(drive, file),
    async push(file, to) {
      await mkdir(path.dirname(path.join(drive, to)), { recursive: true });
      await cp(file, path.join(drive, to));
    },
    files: async (folder) => (await readdir(path.join(drive, folder), { recursive: true }).catch(() => [])).toSorted(),
    pids,
    kill: (pid) => void process.kill(pid, 'SIGKILL'),
    cut,
    async boot() {
      await (
        await start('wine64 wineboot > /dev/null 2>&1 < /dev/null')
      ).exited;
      ordinary = await start('exec wine64 ping -n 100000 127.0.0.1 > /dev/null 2>&1 < /dev/null');
      await eventually('the service manager answers', 60, async () =>
        (await exec(['sc', 'query', 'plugplay'])).code === 0 ? true : undefined,
      );
    },
    registry: () => readFile(path.join(prefix, 'system.reg'), 'utf8'),
    async [Symbol.asyncDispose]() {
      await cut();
      await rm(path.join(root, inside), { recursive: true, force: true });
      const others = (await readdir(path.join(root, 'tmp'))).filter((name) => name.startsWith('platform-'));
      if (others.length === 0) await output('umount', ['-l', path.join(root, 'proc'), path.join(root, 'dev')]);
    },
  };
}

const mounts = `
for what in proc dev; do mountpoint -q "$1/$what" || mount --bind "/$what" "$1/$what"; done`;

async function output(command: string, args: readonly string[]): Promise<string> {
  const group = await spawnGroup({ command, args });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout.trim();
}

/** Processes of this host that belong to a Wine prefix. */
async function processesOf(prefix: string, commandLine: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const read = (file: string) => readFile(`/proc/${entry}/${file}`, 'utf8').catch(() => '');
    if (!(await read('environ')).split('\0').includes(`WINEPREFIX=${prefix}`)) continue;
    if ((await read('cmdline')).replaceAll('\0', ' ').includes(commandLine)) found.push(Number(entry));
  }
  return found;
}
