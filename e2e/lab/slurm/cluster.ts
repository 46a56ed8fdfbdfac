/**
 * A one-node Slurm from Debian's packages for testing the runner: node e2e/lab/slurm/cluster.ts. Needs root and
 * apt-get install --no-install-recommends slurm-wlm slurmrestd munge slurm-wlm-basic-plugins slurm-wlm-jwt-plugin.
 * Prints one JSON line when jobs can be submitted. Ends with all of its processes on SIGTERM, Ctrl-C or a closed stdin.
 * Commands on stdin: `rest off`, `rest on` (only the REST server), `node off`, `node on` (the daemon of the node).
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { onSignals, spawnGroup, systemClock, type ProcessGroup, type SpawnOptions } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { gresConf, slurmConf } from './settings.ts';

const clock = systemClock;
const exec = promisify(execFile);
/** The REST server must be neither root nor SlurmUser. */
const daemonId = 1;
const tokenSeconds = 120;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

class Cluster {
  readonly folder: string;
  readonly #env: Record<string, string | undefined>;
  readonly #running = new Map<string, ProcessGroup>();
  readonly #stop: AbortSignal;
  restPort = 0;

  constructor(folder: string, stop: AbortSignal) {
    this.folder = folder;
    this.#stop = stop;
    this.#env = { PATH: process.env['PATH'], SLURM_CONF: `${folder}/slurm.conf`, LANG: 'C.UTF-8' };
  }
  file(name: string): string {
    return `${this.folder}/${name}`;
  }
  async run(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await exec(command, args, { env: this.#env, timeout: 20_000 });
    return stdout.trim();
  }
  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const end = clock.now() + 60_000;
    while (!(await isSo().catch(() => false))) {
      this.#stop.throwIfAborted();
      if (clock.now() > end) throw new Error(`${what}: not within a minute; see the logs in ${this.folder}`);
      await clock.sleep(100);
    }
  }
  async #start(name: string, command: string, args: string[], more: Partial<SpawnOptions> = {}): Promise<void> {
    const group = await spawnGroup({ command, args, cwd: this.folder, env: this.#env, ...more });
    const log = createWriteStream(this.file(`${name}.out`), { flags: 'a' });
    group.stdout?.pipe(log, { end: false });
    group.stderr?.pipe(log, { end: false });
    this.#running.set(name, group);
  }
  async #end(name: string): Promise<void> {
    await this.#running.get(name)?.stop({ termMs: 10_000 });
    this.#running.delete(name);
  }

  async start(): Promise<void> {
    const [controller, node, rest] = await Promise.all([freePort(), freePort(), freePort()]);
    this.restPort = rest;
    for (const name of ['state', 'spool']) await mkdir(this.file(name));
    await chmod(this.folder, 0o755);
    for (const name of ['munge.key', 'jwt.key']) {
      await writeFile(this.file(name), randomBytes(name === 'jwt.key' ? 32 : 1024), { mode: 0o600 });
    }
    await writeFile(this.file('slurm.conf'), slurmConf(this.folder, os.hostname(), { controller, node }));
    await writeFile(this.file('gres.conf'), gresConf);
    const munge = ['key-file=munge.key', 'socket=munge.socket', 'pid-file=munge.pid', 'seed-file=munge.seed'];
    await this.#start('munged', '/usr/sbin/munged', [
      '--foreground',
      '--force',
      ...munge.map((part) => `--${part.replace('=', `=${this.folder}/`)}`),
      `--log-file=${this.folder}/munge.log`,
    ]);
    const socket = `--socket=${this.file('munge.socket')}`;
    await this.#until('munged', async () => (await this.run('munge', '-n', socket)).startsWith('MUNGE'));
    await this.#start('slurmctld', '/usr/sbin/slurmctld', ['-D']);
    await this.startNode();
    await this.#until('an idle node', async () => (await this.run('sinfo', '-h', '-o', '%T')).includes('idle'));
    await this.writeToken();
    await this.startRest();
  }
  startNode = (): Promise<void> => this.#start('slurmd', '/usr/sbin/slurmd', ['-D']);
  stopNode = (): Promise<void> => this.#end('slurmd');
  stopRest = (): Promise<void> => this.#end('slurmrestd');
  async startRest(): Promise<void> {
    const place = `127.0.0.1:${this.restPort}`;
    await this.#start('slurmrestd', '/usr/sbin/slurmrestd', ['-a', 'rest_auth/jwt', '-s', 'openapi/v0.0.38', place], {
      uid: daemonId,
      gid: daemonId,
      // The other daemons would treat it as a change of the authentication.
      env: { ...this.#env, SLURM_JWT: 'daemon' },
    });
    await this.#until('slurmrestd', async () => (await fetch(`http://${place}/openapi/v3`)).status === 401);
  }
  /** Writes the token as an administrator's timer would. */
  async writeToken(): Promise<void> {
    const token = await this.run('scontrol', 'token', 'username=root', `lifespan=${tokenSeconds}`);
    await writeFile(this.file('token'), token.replace('SLURM_JWT=', ''), { mode: 0o640 });
    await chown(this.file('token'), 0, daemonId);
  }
  async end(): Promise<void> {
    // Steps are detached processes: Slurm itself has to end them.
    await this.run('scancel', '--full', '--signal=KILL', '--user=root').catch(() => '');
    await this.run('scancel', '--user=root').catch(() => '');
    const isIdle = async (): Promise<boolean> => (await this.run('squeue', '-h', '-t', 'R,CG')) === '';
    const last = clock.now() + 15_000;
    while (this.#running.has('slurmd') && clock.now() < last && !(await isIdle().catch(() => true)))
      await clock.sleep(100);
    for (const name of ['slurmrestd', 'slurmd', 'slurmctld', 'munged']) await this.#end(name);
  }
}

async function main(): Promise<void> {
  const stop = onSignals();
  const ended = new AbortController();
  stop.addEventListener('abort', () => ended.abort(), { once: true });
  await using folder = await tempFolder();
  const cluster = new Cluster(folder.path, ended.signal);
  try {
    await cluster.start();
    const lines = createInterface({ input: process.stdin });
    lines.on('close', () => ended.abort());
    const orders: Record<string, () => Promise<void>> = {
      'rest off': cluster.stopRest,
      'rest on': () => cluster.startRest(),
      'node off': cluster.stopNode,
      'node on': cluster.startNode,
    };
    lines.on('line', (line) => {
      const done = orders[line.trim()]?.() ?? Promise.reject(new Error(`unknown order ${line}`));
      done.then(
        () => process.stdout.write(`${JSON.stringify({ done: line.trim() })}\n`),
        (error: unknown) => process.stdout.write(`${JSON.stringify({ failed: String(error) })}\n`),
      );
    });
    const { file, restPort } = { file: cluster.file.bind(cluster), restPort: cluster.restPort };
    const url = `http://127.0.0.1:${restPort}`;
    const ready = { url, user: 'root', token_file: file('token'), conf: file('slurm.conf'), folder: folder.path };
    process.stdout.write(`${JSON.stringify(ready)}\n`);
    while (!ended.signal.aborted) {
      await clock.sleep((tokenSeconds * 1000) / 2, ended.signal);
      if (!ended.signal.aborted) await cluster.writeToken();
    }
  } finally {
    await cluster.end();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
