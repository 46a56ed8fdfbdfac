// A host to install on, inspect and power off: a container with systemd as its first process, or a virtual machine with
// its own disk and clock. README.md in this folder lists the abilities of each.
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

/** Name by which the machine reaches the server on this host, over TLS at port 443; port 80 leads to the same. */
export const serverName = 'app.platform.test';

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface LabMachine extends AsyncDisposable {
  readonly name: string;
  /** Runs a shell command as root. */
  exec(command: string, timeoutSeconds?: number): Promise<CommandResult>;
  /** Returns its output without the last line break. @throws Error with its output if it fails. */
  must(command: string, timeoutSeconds?: number): Promise<string>;
  /** Copies files or folders into a folder of the machine; modes stay. */
  push(folder: string, ...files: string[]): Promise<void>;
  /** Kills all processes at once. A virtual machine also loses unflushed writes. */
  kill(): Promise<void>;
  /** Starts it again with the same disk. */
  up(): Promise<void>;
  /** Connects or disconnects the network to the server. */
  link(isIn: boolean): Promise<void>;
}

/** A container that gets packages of Debian. */
export interface Container extends LabMachine {
  /** Its files on this host, while it is up. */
  readonly root: string;
  /** Installs packages without starting their services, from the archive that this host uses. */
  install(...packages: string[]): Promise<void>;
}

/** A container whose /opt/platform is on a disk that loses unflushed writes: simulates a power cut within a second. */
export interface CuttableContainer extends LabMachine {
  /** Cuts the power now. Loses all unflushed blocks, or every second one by the seed. @returns the lost blocks */
  cut(keepSeed?: string): Promise<string>;
  /** Saves the disk with its agent stopped; `load` restores it, as after a start. */
  save(): Promise<void>;
  load(): Promise<void>;
}

export interface VirtualMachine extends LabMachine {
  /** Cuts the power after this many seconds; the seed selects the unflushed blocks that survive (absent: none). */
  cut(afterSeconds: number, keepSeed?: string): Promise<void>;
  /** @param batteryClock - for example 1970-01-02T00:00:00, in UTC; absent: the correct time */
  up(batteryClock?: string): Promise<void>;
  /** @param to - now, +SECONDS, -SECONDS, or seconds since 1970. */
  clock(to: string): Promise<void>;
  bootId(): Promise<string>;
  /** Saves memory and disk under a name; `load` restores them. Restored connections are dead. */
  save(name: string): Promise<void>;
  load(name: string): Promise<void>;
}

const lab = import.meta.dirname;

async function run(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CommandResult> {
  const group = await spawnGroup({
    command,
    args,
    env: env ?? plainEnvironment({ PLATFORM_LAB: process.env['PLATFORM_LAB'] }),
  });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  return { code, stdout, stderr };
}

/** @throws Error with the output of the program */
async function must(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, env);
  if (code !== 0)
    throw new Error(`${path.basename(command)} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout.trimEnd();
}

const mustIn = async (name: string, command: string, result: CommandResult): Promise<string> => {
  if (result.code !== 0)
    throw new Error(`on ${name}, "${command}" ended with ${result.code}:\n${result.stdout}${result.stderr}`);
  return result.stdout.trimEnd();
};

/** As in env.sh. */
const labFolder = (env: NodeJS.ProcessEnv): string =>
  env['PLATFORM_LAB'] ?? path.join(env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'platform-lab');

const newName = (kind: string): string => `${kind}-${randomBytes(4).toString('hex')}`;

/**
 * Starts a fresh container whose `app.platform.test:443` is this host's 127.0.0.1:serverPort. Needs root, setup.sh and
 * build-image.sh.
 * @param plainPort - the target of its port 80.
 */
export const container = (serverPort: number, plainPort = serverPort): Promise<Container> =>
  startContainer({ 80: plainPort, 443: serverPort }, undefined);

/** The same with another Debian: bullseye, trixie. Its root is made the first time. */
export async function suiteContainer(suite: string, serverPort: number): Promise<Container> {
  const folder = await must('bash', [path.join(lab, 'build-root.sh'), suite]);
  return startContainer({ 80: serverPort, 443: serverPort }, undefined, { PLATFORM_LAB: folder });
}

/** The same, with its own disk below /opt/platform whose power can be cut. Needs FUSE and loop devices. */
export async function cuttableContainer(serverPort: number): Promise<CuttableContainer> {
  const folder = await tempFolder();
  const disk = (...args: string[]) =>
    must('bash', [path.join(lab, 'volatile-disk.sh'), args[0] ?? '', folder.path, ...args.slice(1)]);
  await disk('on');
  const machine = await startContainer({ 80: serverPort, 443: serverPort }, `${folder.file('mnt')}:/opt/platform`);
  const cut = async (keepSeed?: string): Promise<string> => {
    const lost = await disk('cut', ...(keepSeed === undefined ? [] : [keepSeed]));
    await machine.kill();
    await disk('off');
    return lost;
  };
  const up = async (): Promise<void> => {
    await disk('on');
    await machine.up();
  };
  const [now, saved] = [folder.file('disk.qcow2'), folder.file('saved.img')];
  return {
    ...machine,
    cut,
    up,
    async save() {
      await machine.must('systemctl stop platform-agent && sync', 300);
      await machine.kill();
      await disk('off'); // with its power on: everything is flushed
      await must('cp', ['--sparse=always', now, saved]);
      await up();
    },
    async load() {
      await cut();
      await must('cp', ['--sparse=always', saved, now]);
      await up();
    },
    async [Symbol.asyncDispose]() {
      await machine[Symbol.asyncDispose]();
      await disk('off');
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Port of app.platform.test → port of this host. */
type ForwardedPorts = Readonly<Record<80 | 443, number>>;

async function startContainer(
  ports: ForwardedPorts,
  bind: string | undefined,
  more: Readonly<Record<string, string>> = {},
): Promise<Container> {
  const name = newName('ct');
  const script = path.join(lab, 'ct.sh');
  const env = { ...process.env, ...more, ...(bind !== undefined && { LAB_BIND: bind }) };
  const ct = (...args: string[]) => must('bash', [script, args[0] ?? '', name, ...args.slice(1)], env);
  await ct('up');
  let forwarding = await forwardPorts(name, ports);
  const exec = async (command: string, timeoutSeconds = 120): Promise<CommandResult> =>
    run('timeout', ['-k5', String(timeoutSeconds), 'bash', script, 'exec', name, command], env);
  return {
    name,
    exec,
    root: path.join(labFolder(env), 'ct', name, 'root'),
    must: async (command, timeoutSeconds) => mustIn(name, command, await exec(command, timeoutSeconds)),
    push: async (folder, ...files) => void (await ct('push', folder, ...files)),
    install: async (...packages) => void (packages.length > 0 && (await ct('packages', ...packages))),
    kill: async () => {
      await forwarding[Symbol.asyncDispose]();
      await ct('kill');
    },
    up: async () => {
      await ct('up');
      forwarding = await forwardPorts(name, ports);
    },
    link: async (isIn) => void (await ct('cable', isIn ? 'on' : 'off')),
    async [Symbol.asyncDispose]() {
      await forwarding[Symbol.asyncDispose]();
      await ct('rm');
    },
  };
}

/**
 * The container has no external network; two relays for each port and a socket file between them lead to our server.
 */
async function forwardPorts(name: string, ports: ForwardedPorts): Promise<AsyncDisposable> {
  const folder = await tempFolder();
  const relays: ProcessGroup[] = [];
  for (const [port, serverPort] of Object.entries(ports)) {
    const socket = folder.file(`port-${port}`);
    const outer = `netns exec ct-${name}-lan socat TCP-LISTEN:${port},fork,reuseaddr,bind=192.168.60.1 UNIX-CONNECT:${socket}`;
    relays.push(
      await spawnGroup({
        command: 'socat',
        args: [`UNIX-LISTEN:${socket},fork`, `TCP:127.0.0.1:${serverPort}`],
        logFile: folder.file(`inner-${port}.log`),
      }),
      await spawnGroup({ command: 'ip', args: outer.split(' '), logFile: folder.file(`outer-${port}.log`) }),
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(relays.map((relay) => relay.stop({ termMs: 2_000 })));
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** `host`: a port of this host's loopback that leads to the port `router` of the machine's home router. */
export interface ForwardedPort {
  host: number;
  router: number;
}

/**
 * A fresh virtual machine, booted from the snapshot, with the same `app.platform.test` as the container.
 * @param hasRadios - with WiFi and an unplugged cable (see radio.ts); else the cable is in, and it boots faster.
 */
export async function virtualMachine(
  serverPort: number,
  { hasRadios = false, forwarded }: { hasRadios?: boolean; forwarded?: ForwardedPort } = {},
): Promise<VirtualMachine> {
  const more = forwarded ? ['--fwd', `${forwarded.host}:${forwarded.router}`] : [];
  const machine = await startVirtualMachine('fresh', serverPort, more);
  if (hasRadios) return machine;
  // Disables radios from the next start on: boot time halves.
  await machine.must('touch /etc/lab-wired; world cable on; sync');
  return machine;
}

/**
 * A fresh virtual machine with another processor, arm64, cold-booted; its cable is in. Needs setup.sh --arm64 and
 * build-image-arm64.sh. `push` does not work there: it takes no further disk while it runs.
 *
 * @param filesPort - of this host's loopback; the machine reaches it as app.platform.test:8099
 */
export function arm64Machine(serverPort: number, filesPort?: number): Promise<VirtualMachine> {
  const env = { ...process.env, PLATFORM_LAB: path.join(labFolder(process.env), 'arm64') };
  const more = filesPort === undefined ? [] : ['--port', `8099:${filesPort}`];
  return startVirtualMachine('up', serverPort, more, env);
}

async function startVirtualMachine(
  how: 'fresh' | 'up',
  serverPort: number,
  more: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<VirtualMachine> {
  const name = newName('vm');
  const script = path.join(lab, 'vm.py');
  const vm = (...args: string[]) => must('python3', [script, args[0] ?? '', name, ...args.slice(1)], env);
  const port = ['--port', `80:${serverPort}`, '--port', `443:${serverPort}`, ...more];
  await vm(how, ...port);
  const exec = (command: string, timeoutSeconds = 300): Promise<CommandResult> =>
    run('python3', [script, 'exec', name, '-t', String(timeoutSeconds), command], env);
  return {
    name,
    exec,
    must: async (command, timeoutSeconds) => mustIn(name, command, await exec(command, timeoutSeconds)),
    push: async (folder, ...files) => void (await vm('push', folder, ...files)),
    kill: async () => void (await vm('kill')),
    cut: async (afterSeconds, keepSeed) =>
      void (await vm(
        'kill',
        '--after',
        afterSeconds.toFixed(2),
        ...(keepSeed === undefined ? [] : ['--keep', keepSeed]),
      )),
    up: async (batteryClock) => {
      await vm('up', ...port, ...(batteryClock === undefined ? [] : ['--rtc', batteryClock]));
    },
    link: async (isIn) => void (await vm('link', isIn ? 'on' : 'off')),
    clock: async (to) => void (await vm('clock', to)),
    bootId: () => vm('bootid'),
    save: async (tag) => void (await vm('save', tag)),
    load: async (tag) => void (await vm('load', tag)),
    async [Symbol.asyncDispose]() {
      await vm('rm');
    },
  };
}

/**
 * Polls until `look` returns a value other than undefined.
 * @throws Error naming `what` after `seconds`; use generous limits, as the machines are slow
 */
export async function eventually<T>(what: string, seconds: number, look: () => Promise<T | undefined>): Promise<T> {
  const end = systemClock.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (systemClock.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await systemClock.sleep(500);
  }
}
