/**
 * A slurmrestd v0.0.38 that answers with the shapes recorded from Slurm 22.05.8, in front of a scheduler that runs the
 * batch scripts as processes of this computer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { spawnGroup, type ProcessGroup } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import type { Cluster } from './slurm-stories.ts';

interface SimulatedJob {
  readonly id: number;
  readonly name: string;
  readonly comment: string;
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly gpus: boolean;
  readonly output: string;
  state: string;
  why: string;
  /** As wait(2) says it. */
  exit: number;
  process: ProcessGroup | undefined;
}

const meta = {
  plugin: { type: 'openapi/v0.0.38', name: 'Slurm OpenAPI v0.0.38' },
  Slurm: { version: { major: 22, micro: 8, minor: 5 }, release: '22.05.8' },
};
const killWaitMs = 5_000;

export class SimulatedSlurm implements Cluster {
  readonly #folder: TempFolder;
  readonly #jobs: SimulatedJob[] = [];
  #server: Server | undefined;
  #port = 0;
  #isPaused = false;
  /** Submits that are taken without an answer, as when the connection breaks. */
  unanswered = 0;
  /** All versions that the API's description names. */
  versions = ['v0.0.37', 'v0.0.38'];
  token = 'token-1';

  constructor(folder: TempFolder) {
    this.#folder = folder;
  }
  static async start(): Promise<SimulatedSlurm> {
    const made = new SimulatedSlurm(await tempFolder());
    await made.rest('on');
    await made.renew('token-1');
    return made;
  }
  /** As an administrator's timer would. */
  async renew(token: string): Promise<void> {
    this.token = token;
    await writeFile(this.#folder.file('token'), `${token}\n`);
  }
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }
  get tokenFile(): string {
    return this.#folder.file('token');
  }
  get flags(): string[] {
    const places = ['--slurm-url', this.url, '--slurm-token-file', this.tokenFile];
    return ['--executor', 'slurm', '--slurm-user', 'trainer', ...places, '--slurm-output', this.#folder.file('%j.out')];
  }
  pause = async (): Promise<void> => {
    this.#isPaused = true;
  };
  resume = async (): Promise<void> => {
    this.#isPaused = false;
    await this.#schedule();
  };
  async rest(is: 'on' | 'off'): Promise<void> {
    if (is === 'off') {
      this.#server?.closeAllConnections();
      await new Promise((resolve) => this.#server?.close(resolve));
      return;
    }
    const server = createServer((request, response) => void this.#answer(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }
  operatorCancels = async (ref: string): Promise<void> => {
    const job = this.#jobs.find(({ id }) => id === Number(ref));
    if (job) this.#cancel(job);
  };
  nodesFail = async (): Promise<void> => {
    for (const job of this.#jobs) {
      if (job.state !== 'RUNNING') continue;
      job.state = 'NODE_FAIL';
      job.process?.signal('SIGKILL');
    }
  };
  /** Older than MinJobAge. */
  forgetAll(): void {
    this.#jobs.length = 0;
  }
  jobs = async (): Promise<{ ref: string; name: string; state: string }[]> =>
    this.#jobs.map(({ id, name, state }) => ({ ref: String(id), name, state }));
  scriptOf = (ref: string): string => this.#jobs.find(({ id }) => id === Number(ref))?.script ?? '';
  async [Symbol.asyncDispose](): Promise<void> {
    for (const job of this.#jobs) await job.process?.stop({ termMs: 2_000 });
    await this.rest('off');
    await this.#folder[Symbol.asyncDispose]();
  }

  #cancel(job: SimulatedJob): void {
    if (job.state === 'PENDING') job.state = 'CANCELLED';
    if (job.state !== 'RUNNING') return;
    job.state = 'CANCELLED';
    void job.process?.stop({ termMs: killWaitMs });
  }
  async #schedule(): Promise<void> {
    for (const job of this.#jobs) {
      if (job.state !== 'PENDING') continue;
      job.why = this.#isPaused ? 'PartitionDown' : 'None';
      if (!this.#isPaused) await this.#run(job);
    }
  }
  async #run(job: SimulatedJob): Promise<void> {
    job.state = 'RUNNING';
    const file = this.#folder.file(`${job.id}.sh`);
    await writeFile(file, job.script, { mode: 0o700 });
    const env = {
      ...job.environment,
      SLURM_JOB_ID: String(job.id),
      ...(job.gpus ? { CUDA_VISIBLE_DEVICES: '0' } : {}),
    };
    const group = await spawnGroup({
      command: file,
      env,
      cwd: '/tmp',
      logFile: job.output.replaceAll('%j', String(job.id)),
    });
    job.process = group;
    void this.#noteEnd(job, group);
  }

  async #noteEnd(job: SimulatedJob, group: ProcessGroup): Promise<void> {
    const { code, signal } = await group.exited;
    if (job.state !== 'RUNNING') return;
    job.exit = signal === null ? (code ?? 0) << 8 : 9;
    job.state = code === 0 ? 'COMPLETED' : 'FAILED';
    if (code !== 0) job.why = 'NonZeroExitCode';
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method, url = '' } = request;
    if (headers['x-slurm-user-token'] !== this.token || headers['x-slurm-user-name'] !== 'trainer') {
      response.writeHead(401, { connection: 'Close', 'content-type': 'text/plain' }).end('Authentication failure');
      return;
    }
    const json = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const failed = (errors: object[]): void => json(500, { meta, errors });
    if (url === '/openapi/v3') {
      const paths = this.versions.map((version) => [`/slurm/${version}/job/submit`, {}]);
      return json(200, { paths: Object.fromEntries(paths) });
    }
    const id = /^\/slurm\/v0\.0\.38\/job\/(\d+)$/.exec(url)?.[1];
    if (id !== undefined) {
      const job = this.#jobs.find((one) => one.id === Number(id));
      const source = method === 'DELETE' ? 'slurm_kill_job' : 'slurm_load_job';
      const unknown = {
        description: `Unable to find JobId=${id}`,
        error_number: 2017,
        error: 'Invalid job id specified',
        source,
      };
      if (!job) return failed([unknown]);
      if (method === 'DELETE') {
        this.#cancel(job);
        return json(200, { meta, errors: [] });
      }
      return json(200, { meta, errors: [], jobs: [shown(job)] });
    }
    if (url === '/slurm/v0.0.38/jobs') return json(200, { meta, errors: [], jobs: this.#jobs.map(shown) });
    if (url === '/slurm/v0.0.38/job/submit' && method === 'POST') {
      const { script, job } = JSON.parse(await text(request)) as { script: string; job: Record<string, unknown> };
      const unknownKey = Object.keys(job).find((key) => !submitKeys.includes(key));
      const unparsed = { error_code: 9001, error: 'Failure during parsing' };
      if (unknownKey !== undefined) {
        return json(400, {
          meta,
          errors: [{ description: `Unknown key "${unknownKey}"`, source: 'hsearch_r' }, unparsed],
        });
      }
      if (typeof job['environment'] !== 'object') return json(400, { meta, errors: [unparsed] });
      if (job['partition'] === 'nowhere') {
        return failed([{ error_code: 2000, error: 'Invalid partition name specified' }]);
      }
      const made: SimulatedJob = {
        id: this.#jobs.length + 1,
        name: String(job['name']),
        comment: String(job['comment']),
        script,
        environment: job['environment'] as Record<string, string>,
        gpus: job['gres'] !== undefined,
        output: String(job['standard_output']),
        state: 'PENDING',
        why: 'None',
        exit: 0,
        process: undefined,
      };
      this.#jobs.push(made);
      await this.#schedule();
      if (this.unanswered > 0) {
        this.unanswered--;
        return void response.destroy();
      }
      return json(200, { meta, errors: [], job_id: made.id, step_id: 'BATCH', job_submit_user_msg: '' });
    }
    response.writeHead(404, { connection: 'Close', 'content-type': 'text/plain' });
    response.end('Unable find requested URL. Please view /openapi/v3 for API reference.');
  }
}

/** The known fields of v0.0.38. */
const submitKeys = [
  'account',
  'comment',
  'constraints',
  'cpus_per_task',
  'current_working_directory',
  'environment',
  'gres',
  'memory_per_node',
  'name',
  'no_requeue',
  'partition',
  'qos',
  'standard_output',
  'tasks',
  'time_limit',
];
const shown = ({ id, name, comment, state, why, exit, output }: SimulatedJob): object => ({
  account: '',
  array_task_id: null,
  batch_flag: true,
  cluster: 'platform-test',
  comment,
  derived_exit_code: 0,
  exit_code: exit,
  job_id: id,
  job_state: state,
  name,
  partition: 'train',
  requeue: false,
  restart_cnt: 0,
  standard_output: output,
  state_description: '',
  state_reason: why,
  user_name: 'trainer',
  current_working_directory: '/tmp',
});
