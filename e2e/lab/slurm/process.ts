/** The one-node Slurm of the lab as a process, and the commands of its users. */
import { execFile } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { spawnGroup, systemClock, type ProcessGroup } from '@platform/kit/node';

const program = fileURLToPath(new URL('cluster.ts', import.meta.url));
const exec = promisify(execFile);

interface Ready {
  readonly url: string;
  readonly user: string;
  readonly token_file: string;
  readonly conf: string;
  readonly folder: string;
}

export class SlurmCluster implements AsyncDisposable {
  readonly ready: Ready;
  readonly #group: ProcessGroup;
  readonly #lines: Interface;

  constructor(ready: Ready, group: ProcessGroup, lines: Interface) {
    this.ready = ready;
    this.#group = group;
    this.#lines = lines;
  }
  /** Flags for a runner next to the cluster. */
  get flags(): string[] {
    const { url, user, token_file: tokenFile, folder } = this.ready;
    const places = ['--slurm-url', url, '--slurm-token-file', tokenFile, '--slurm-output', `${folder}/%j.out`];
    return ['--executor', 'slurm', '--slurm-user', user, ...places];
  }
  /** Runs a command of Slurm, such as `scancel`. @returns its output. */
  async run(command: string, ...args: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'], SLURM_CONF: this.ready.conf };
    return (await exec(command, args, { env, timeout: 30_000 })).stdout.trim();
  }
  pause = (): Promise<void> => this.#update('partitionname=train', 'state=down');
  resume = (): Promise<void> => this.#update('partitionname=train', 'state=up');
  rest = (is: 'on' | 'off'): Promise<void> => this.#order(`rest ${is}`);
  async operatorCancels(ref: string): Promise<void> {
    await this.run('scancel', ref);
  }
  async nodesFail(): Promise<void> {
    await this.#update('nodename=ALL', 'state=down', 'reason=story');
    // A node that still ends its jobs cannot be resumed; one that has registered again needs no resume.
    const isDown = async (): Promise<boolean> => /down|drain/.test(await this.run('sinfo', '-h', '-o', '%T'));
    while (await isDown()) {
      await this.#update('nodename=ALL', 'state=resume').catch(() => {});
      await systemClock.sleep(100);
    }
  }
  async jobs(): Promise<{ ref: string; name: string; state: string }[]> {
    const lines = await this.run('squeue', '--noheader', '--states=all', '--format=%i %j %T');
    return lines.split('\n').map((line) => {
      const [ref = '', name = '', state = ''] = line.trim().split(' ');
      return { ref, name, state };
    });
  }
  async #update(...what: string[]): Promise<void> {
    await this.run('scontrol', 'update', ...what);
  }
  async #order(order: string): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      const onLine = (line: string): void => {
        const message = JSON.parse(line) as { done?: string; failed?: string };
        if (message.done === order) resolve();
        else if (message.failed !== undefined) reject(new Error(message.failed));
        else return;
        this.#lines.off('line', onLine);
      };
      this.#lines.on('line', onLine);
    });
    this.#group.stdin?.write(`${order}\n`);
    await done;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group.stop({ termMs: 60_000 });
  }
}

export async function startSlurm(): Promise<SlurmCluster> {
  const args = ['--disable-warning=ExperimentalWarning', program];
  const group = await spawnGroup({ command: process.execPath, args, stdin: 'pipe' });
  if (!group.stdout || !group.stderr) throw new Error('the output of the cluster was not piped');
  const errors = text(group.stderr);
  const lines = createInterface({ input: group.stdout });
  const first = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(undefined));
  });
  if (first === undefined) throw new Error(`the cluster did not start: ${await errors}`);
  return new SlurmCluster(JSON.parse(first) as Ready, group, lines);
}
