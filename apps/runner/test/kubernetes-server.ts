/** An API server with the answers of Kubernetes 1.31 for jobs, pods and secrets, and a kubelet that runs attempts as processes. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { spawnGroup, type ProcessGroup } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';

type Fields = Record<string, unknown>;
interface Kept {
  readonly body: Fields & { metadata: Fields };
  status: Fields;
}
interface Pod {
  readonly job: string;
  status: Fields;
  log: string;
  process: ProcessGroup | undefined;
}

const program = fileURLToPath(new URL('runner-with-fake-trainer.ts', import.meta.url));
const dns1123 = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const quantity = /^\d+(m|Ki|Mi|Gi)?$/;

export class KubernetesServer implements AsyncDisposable {
  readonly jobs = new Map<string, Kept>();
  readonly secrets = new Map<string, Kept>();
  readonly pods = new Map<string, Pod>();
  /** Next answers with this status instead. */
  readonly failures: { status: number; reason: string; message: string }[] = [];
  /** New pods are put on a node and run. */
  hasNodes = false;
  url = '';
  readonly #folder: TempFolder;
  #close: (() => Promise<void>) | undefined;
  #count = 0;

  private constructor(folder: TempFolder) {
    this.#folder = folder;
  }
  /** @param tls - certificate and key in PEM. */
  static async start(tls?: { cert: string; key: string }): Promise<KubernetesServer> {
    const made = new KubernetesServer(await tempFolder());
    const listener: RequestListener = (request, response) => void made.#answer(request, response);
    const server = tls ? createSecureServer(tls, listener) : createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    made.url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    made.#close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    await writeFile(made.tokenFile, 'token-1\n');
    return made;
  }
  get tokenFile(): string {
    return this.#folder.file('token');
  }
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process: group } of this.pods.values()) await group?.stop({ termMs: 2_000 });
    await this.#close?.();
    await this.#folder[Symbol.asyncDispose]();
  }

  /** What the job's controller and the kubelet would write. */
  setPod(job: string, status: Fields, log = ''): void {
    const name = `${job}-x7f2k`;
    this.pods.set(name, { job, status, log, process: this.pods.get(name)?.process });
  }
  setJob(job: string, status: Fields): void {
    const kept = this.jobs.get(job);
    if (kept) kept.status = status;
  }
  /** As `kubectl delete job`. */
  remove(job: string): void {
    this.jobs.delete(job);
    for (const [name, pod] of this.pods) if (pod.job === job) this.pods.delete(name);
  }

  async runPods(): Promise<void> {
    for (const job of this.jobs.keys()) {
      if (![...this.pods.values()].some((pod) => pod.job === job && pod.process)) await this.#run(job);
    }
  }
  async #run(job: string): Promise<void> {
    const spec = this.#container(job);
    const { 'order.json': order = '' } = (this.secrets.get(job)?.body['stringData'] ?? {}) as Record<string, string>;
    const file = this.#folder.file(`${job}.json`);
    await writeFile(file, order, { mode: 0o400 });
    // The container's paths, on this computer.
    const places: Record<string, string> = {
      '/var/run/platform/order.json': file,
      '/work': this.#folder.file(`${job}-work`),
    };
    const args = (spec['args'] as string[]).map((word) => places[word] ?? word);
    const group = await spawnGroup({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', program, ...args],
      logFile: this.#folder.file(`${job}.log`),
    });
    this.setPod(job, { phase: 'Running', containerStatuses: [{ name: 'attempt', state: { running: {} } }] });
    const pod = this.pods.get(`${job}-x7f2k`);
    if (pod) pod.process = group;
    void this.#noteEnd(job, group);
  }
  async #noteEnd(job: string, group: ProcessGroup): Promise<void> {
    const { code, signal } = await group.exited;
    const terminated =
      signal === null ? { exitCode: code, reason: code === 0 ? 'Completed' : 'Error' } : { exitCode: 137, signal: 9 };
    this.setPod(job, {
      phase: code === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name: 'attempt', state: { terminated } }],
    });
    const condition =
      code === 0
        ? { type: 'Complete', status: 'True' }
        : { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' };
    this.setJob(job, { conditions: [condition] });
    if (this.jobs.get(job)?.body.metadata['deletionTimestamp'] !== undefined) this.remove(job);
  }
  #container(job: string): Fields {
    const spec = this.jobs.get(job)?.body['spec'] as { template: { spec: { containers: Fields[] } } };
    return spec.template.spec.containers[0] ?? {};
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const url = new URL(request.url ?? '', 'http://server');
    const json = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const failure = (code: number, reason: string, message: string): void =>
      json(code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
    const body = JSON.parse((await text(request)) || '{}') as Fields & { metadata: Fields };
    if (headers.authorization !== 'Bearer token-1') return failure(401, 'Unauthorized', 'Unauthorized');
    const injected = this.failures.shift();
    if (injected) return failure(injected.status, injected.reason, injected.message);

    const [, jobName] = /^\/apis\/batch\/v1\/namespaces\/train\/jobs(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const [, secretName] = /^\/api\/v1\/namespaces\/train\/secrets(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const [, loggedPod] = /^\/api\/v1\/namespaces\/train\/pods\/([^/]+)\/log$/.exec(url.pathname) ?? [];
    const isJobs = url.pathname.includes('/jobs');
    if (method === 'POST' && (isJobs || url.pathname.endsWith('/secrets'))) {
      const name = String(body.metadata['name']);
      const [kind, kept] = isJobs ? ['jobs.batch', this.jobs] : ['secrets', this.secrets];
      const problem = isJobs ? wrongJob(body) : undefined;
      if (!dns1123.test(name) || name.length > 63)
        return failure(422, 'Invalid', `${kind} "${name}" is invalid: metadata.name`);
      if (problem !== undefined) return failure(422, 'Invalid', `${kind} "${name}" is invalid: ${problem}`);
      if (kept.has(name)) return failure(409, 'AlreadyExists', `${kind} "${name}" already exists`);
      body.metadata['uid'] = `uid-${++this.#count}`;
      kept.set(name, { body, status: {} });
      if (isJobs && this.hasNodes) await this.#run(name);
      return json(201, body);
    }
    if (jobName !== undefined) {
      const kept = this.jobs.get(jobName);
      if (!kept) return failure(404, 'NotFound', `jobs.batch "${jobName}" not found`);
      if (method === 'DELETE') {
        if (body['propagationPolicy'] !== 'Foreground') this.remove(jobName);
        kept.body.metadata['deletionTimestamp'] = '2026-01-01T00:00:00Z';
        const pod = [...this.pods.values()].find((one) => one.job === jobName);
        if (pod?.process) void pod.process.stop({ termMs: 5_000 });
        else this.remove(jobName);
      }
      return json(200, { ...kept.body, status: kept.status });
    }
    if (secretName !== undefined && method === 'PATCH') {
      const kept = this.secrets.get(secretName);
      if (headers['content-type'] !== 'application/merge-patch+json')
        return failure(415, 'UnsupportedMediaType', 'patch');
      if (!kept) return failure(404, 'NotFound', `secrets "${secretName}" not found`);
      Object.assign(kept.body.metadata, body.metadata);
      return json(200, kept.body);
    }
    if (loggedPod !== undefined) {
      const pod = this.pods.get(loggedPod);
      if (!pod) return failure(404, 'NotFound', `pods "${loggedPod}" not found`);
      response.writeHead(200, { 'content-type': 'text/plain' });
      return void response.end(
        pod.log
          .split('\n')
          .slice(-Number(url.searchParams.get('tailLines')) - 1)
          .join('\n'),
      );
    }
    if (url.pathname === '/api/v1/namespaces/train/pods') {
      const wanted = url.searchParams.get('labelSelector')?.replace('job-name=', '');
      const items = [...this.pods].flatMap(([name, pod]) => {
        const metadata = { name, creationTimestamp: '2026-01-01T00:00:00Z' };
        return pod.job === wanted ? [{ metadata, status: pod.status }] : [];
      });
      return json(200, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
    }
    return failure(404, 'NotFound', 'the server could not find the requested resource');
  }
}

/** What validation of the server would say; undefined: nothing. */
function wrongJob(body: Fields): string | undefined {
  const { template, backoffLimit, podReplacementPolicy } = body['spec'] as Fields & { template: { spec: Fields } };
  const { containers, volumes, restartPolicy } = template.spec as {
    containers: Fields[];
    volumes: Fields[];
    restartPolicy: unknown;
  };
  if (restartPolicy !== 'Never' && restartPolicy !== 'OnFailure')
    return 'spec.template.spec.restartPolicy: Required value';
  if (!Number.isInteger(backoffLimit) || podReplacementPolicy !== 'Failed') return 'spec.backoffLimit';
  const names = new Set(volumes.map(({ name }) => name));
  for (const container of containers) {
    for (const mount of container['volumeMounts'] as Fields[]) {
      if (!names.has(mount['name']))
        return `spec.template.spec.containers[0].volumeMounts: Not found: ${String(mount['name'])}`;
    }
    const { requests, limits } = container['resources'] as { requests: Fields; limits: Fields };
    for (const amount of [...Object.values(requests), ...Object.values(limits)]) {
      if (!quantity.test(String(amount))) return `quantities must match the regular expression: ${String(amount)}`;
    }
    if (limits['nvidia.com/gpu'] !== requests['nvidia.com/gpu'])
      return 'resources: must be equal to nvidia.com/gpu limit';
  }
  return undefined;
}
