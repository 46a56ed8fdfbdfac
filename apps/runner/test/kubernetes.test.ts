/** Kubernetes by contract: recorded shapes, and attempts that a simulated kubelet really runs. No cluster runs here. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { Usage, systemClock } from '@platform/kit/node';
import { Secret } from '@platform/kit';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { createConnectTransport } from '@connectrpc/connect-web';
import { connectQueue } from '../src/cloud/queue.ts';
import { openSession } from '../src/cloud/session.ts';
import { formatOrder } from '../src/executor/attempt-order.ts';
import { defaultTimeouts } from '../src/executor/dispatch-life.ts';
import { runDispatcher } from '../src/executor/dispatcher.ts';
import type { EngineJob, EngineStatus } from '../src/executor/engine.ts';
import { heldAttempts } from '../src/executor/held-attempts.ts';
import { kubernetesPlace, podPatch } from '../src/executor/kubernetes/in-cluster.ts';
import { kubernetesEngine, type KubernetesSettings } from '../src/executor/kubernetes/kubernetes.ts';
import { jobManifest, nameOf } from '../src/executor/kubernetes/manifest.ts';
import { statusOf } from '../src/executor/kubernetes/shapes.ts';
import { localCapabilities } from '../src/local-capabilities.ts';
import { KubernetesServer } from './kubernetes-server.ts';
import { QueueServer } from './queue-server.ts';

const signal = new AbortController().signal;
const settings = (server: KubernetesServer, change: Partial<KubernetesSettings> = {}): KubernetesSettings => ({
  url: server.url,
  namespace: 'train',
  tokenFile: server.tokenFile,
  ca: undefined,
  image: 'registry.example/platform-runner:1',
  flags: [],
  cpus: 2,
  extraMemoryMib: 512,
  extraSeconds: 900,
  graceSeconds: 30,
  pod: { nodeSelector: { pool: 'gpu' }, imagePullSecrets: [{ name: 'pull' }] },
  clock: systemClock,
  ...change,
});
const job: EngineJob = {
  key: 'platform-0b1c2d3e-0000-4000-8000-000000000000-12',
  mayExist: false,
  about: 'Training of m 1',
  order: '{"job":{}}',
  limits: { wall_seconds: 3600, memory_mib: 2048, disk_mib: 1000, gpus: 1 },
};
const coded =
  (code: ErrorCode, pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof PlatformError && error.code === code && pattern.test(error.message);

test('the manifest: one run, limits, GPUs, no rights, the order in a file', () => {
  const made = jobManifest(job, settings({ url: '', tokenFile: '' } as KubernetesServer));
  const amounts = { cpu: '2', memory: '2560Mi', 'ephemeral-storage': '3024Mi', 'nvidia.com/gpu': '1' };
  assert.partialDeepStrictEqual(made, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job.key, annotations: { 'platform/about': 'Training of m 1' } },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: 86_400,
      template: {
        spec: {
          restartPolicy: 'Never',
          activeDeadlineSeconds: 4500,
          terminationGracePeriodSeconds: 30,
          automountServiceAccountToken: false,
          nodeSelector: { pool: 'gpu' },
          imagePullSecrets: [{ name: 'pull' }],
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              image: 'registry.example/platform-runner:1',
              args: ['attempt', '--order', '/var/run/platform/order.json', '--folder', '/work'],
              resources: { requests: amounts, limits: amounts },
              securityContext: { allowPrivilegeEscalation: false },
            },
          ],
        },
      },
    },
  });
  assert.ok(!JSON.stringify(made).includes(job.order), 'the order has a token: it belongs into the Secret');
  assert.equal(nameOf(`platform-${'Ä_'.repeat(60)}-`).length <= 63, true);
});

test('submitted twice it is one job; the Secret goes with it', async () => {
  await using server = await KubernetesServer.start();
  const engine = kubernetesEngine(settings(server));
  server.failures.push({ status: 500, reason: 'InternalError', message: 'etcdserver: request timed out' });
  await assert.rejects(engine.submit(job, signal), coded('ENGINE_UNREACHABLE', /etcdserver/));
  const ref = await engine.submit(job, signal);
  assert.equal(await engine.submit({ ...job, mayExist: true }, signal), ref);
  assert.equal(server.jobs.size, 1);
  const secret = server.secrets.get(ref)?.body;
  assert.deepEqual(secret?.['stringData'], { 'order.json': job.order });
  assert.deepEqual(secret?.metadata['ownerReferences'], [
    { apiVersion: 'batch/v1', kind: 'Job', name: ref, uid: server.jobs.get(ref)?.body.metadata['uid'] },
  ]);
});

test('no, and not now: which errors are which', async () => {
  await using server = await KubernetesServer.start();
  const engine = kubernetesEngine(settings(server));
  const cases: [number, string, ErrorCode][] = [
    [403, 'jobs.batch is forbidden: exceeded quota: compute', 'ENGINE_REFUSED'],
    [422, 'Job.batch "x" is invalid', 'ENGINE_REFUSED'],
    [429, 'too many requests', 'ENGINE_UNREACHABLE'],
    [503, 'apiserver not ready', 'ENGINE_UNREACHABLE'],
  ];
  for (const [status, message, code] of cases) {
    server.failures.push({ status, reason: '', message });
    await assert.rejects(engine.submit(job, signal), coded(code, new RegExp(message.slice(0, 12))));
  }
  await writeFile(server.tokenFile, 'old');
  await assert.rejects(engine.status('x', signal), coded('ENGINE_UNREACHABLE', /Unauthorized/));
  await writeFile(server.tokenFile, 'token-1');
  assert.deepEqual(await engine.status('x', signal), { at: 'ended', how: { is: 'canceled' } });
  server.failures.push({ status: 410, reason: 'Gone', message: 'gone' });
  assert.deepEqual(await engine.status('x', signal), { at: 'ended', how: { is: 'canceled' } });
  await engine.cancel('x', signal);
  const away = kubernetesEngine(settings(server, { url: 'http://127.0.0.1:1' }));
  await assert.rejects(away.status('x', signal), coded('ENGINE_UNREACHABLE', /ECONNREFUSED/));
});

const waiting = (reason: string, message?: string): object => ({
  status: { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message } } }] },
});
const terminated = (state: object, more: object = {}): object => ({
  status: { phase: 'Failed', containerStatuses: [{ state: { terminated: state } }], ...more },
});
const failed = (reason: string): object => ({ status: { conditions: [{ type: 'Failed', status: 'True', reason }] } });
const ended = (how: object): object => ({ at: 'ended', how });
const rows: [name: string, job: object, pod: object | undefined, status: object][] = [
  ['no pod yet', {}, undefined, { at: 'pending', why: '', isStuck: false }],
  [
    'held by a quota of jobs',
    { spec: { suspend: true } },
    undefined,
    { at: 'pending', why: 'Suspended', isStuck: false },
  ],
  [
    'no node has room',
    {},
    {
      status: {
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
          },
        ],
      },
    },
    { at: 'pending', why: 'Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.', isStuck: false },
  ],
  [
    'an image that is not there',
    {},
    waiting('ImagePullBackOff', 'Back-off pulling image "x"'),
    { at: 'pending', why: 'ImagePullBackOff: Back-off pulling image "x"', isStuck: true },
  ],
  ['an image that is being pulled', {}, waiting('ContainerCreating'), { at: 'pending', why: '', isStuck: false }],
  ['running', {}, { status: { phase: 'Running' } }, { at: 'running' }],
  ['ended, the job follows', {}, { status: { phase: 'Succeeded' } }, { at: 'running' }],
  [
    'complete',
    { status: { conditions: [{ type: 'Complete', status: 'True' }] } },
    { status: { phase: 'Succeeded' } },
    ended({ is: 'succeeded' }),
  ],
  [
    'exit code',
    failed('BackoffLimitExceeded'),
    terminated({ exitCode: 3, reason: 'Error' }),
    ended({ is: 'exited', code: 3 }),
  ],
  [
    'out of memory',
    failed('BackoffLimitExceeded'),
    terminated({ exitCode: 137, reason: 'OOMKilled' }),
    ended({ is: 'outOfMemory' }),
  ],
  [
    'the pod’s deadline',
    failed('BackoffLimitExceeded'),
    { status: { phase: 'Failed', reason: 'DeadlineExceeded' } },
    ended({ is: 'timedOut' }),
  ],
  ['the job’s deadline', failed('DeadlineExceeded'), undefined, ended({ is: 'timedOut' })],
  [
    'evicted',
    failed('BackoffLimitExceeded'),
    { status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: ephemeral-storage.' } },
    ended({ is: 'lost', word: 'Evicted: The node was low on resource: ephemeral-storage.' }),
  ],
  [
    'preempted',
    failed('PodFailurePolicy'),
    terminated(
      { exitCode: 143 },
      { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] },
    ),
    ended({ is: 'lost', word: 'PreemptionByScheduler' }),
  ],
  ['failed without a pod', failed('PodFailurePolicy'), undefined, ended({ is: 'lost', word: 'PodFailurePolicy' })],
  [
    'being deleted',
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    { status: { phase: 'Running' } },
    { at: 'running' },
  ],
  [
    'deleted but for its name',
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    undefined,
    ended({ is: 'canceled' }),
  ],
  ['an answer that is none', { status: 7 }, { status: { containerStatuses: 'x' } }, { at: 'running' }],
];
for (const [name, given, pod, status] of rows) {
  test(`the state of a job: ${name}`, () => assert.deepEqual(statusOf(given, pod), status as EngineStatus));
}

test('the end of a pod’s log comes with the failure', async () => {
  await using server = await KubernetesServer.start();
  const engine = kubernetesEngine(settings(server));
  const ref = await engine.submit(job, signal);
  assert.deepEqual(await engine.lastLines(ref, signal), []);
  server.setPod(ref, { phase: 'Failed' }, `${Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')}\n`);
  const lines = await engine.lastLines(ref, signal);
  assert.deepEqual([lines.length, lines.at(-1)], [20, 'line 29']);
});

test('the certificate of the API server is checked against the given authority', async () => {
  const pem = (name: string): Promise<string> =>
    readFile(fileURLToPath(new URL(`../../cloud/test/tls/${name}`, import.meta.url)), 'utf8');
  const [cert, key] = [await pem('cert.pem'), await pem('key.pem')];
  await using server = await KubernetesServer.start({ cert, key });
  const url = server.url.replace('127.0.0.1', 'localhost');
  const trusting = kubernetesEngine(settings(server, { url, ca: cert }));
  assert.equal((await trusting.status('x', signal)).at, 'ended');
  const strict = kubernetesEngine(settings(server, { url }));
  await assert.rejects(strict.status('x', signal), coded('ENGINE_UNREACHABLE', /self-signed|certificate/i));
});

test('where the API server is: given, or from the environment of each pod; what is missing is named', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('ca.crt'), 'pem');
  await writeFile(folder.file('namespace'), 'train\n');
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  assert.deepEqual(await kubernetesPlace({}, env, folder.path), {
    url: 'https://[fd00::1]:6443',
    namespace: 'train',
    tokenFile: folder.file('token'),
    ca: 'pem',
  });
  const outside = { kubernetesUrl: 'https://api:6443/', kubernetesTokenFile: '/t' };
  assert.deepEqual(await kubernetesPlace(outside, {}), {
    url: 'https://api:6443',
    namespace: 'default',
    tokenFile: '/t',
    ca: undefined,
  });
  const wrong: [Parameters<typeof kubernetesPlace>[0], RegExp][] = [
    [{}, /--kubernetes-url/],
    [{ kubernetesUrl: 'api' }, /is not a URL/],
    [{ kubernetesUrl: 'https://api' }, /--kubernetes-token-file/],
    [{ ...outside, kubernetesCaFile: '/nowhere' }, /nowhere cannot be read/],
  ];
  for (const [given, message] of wrong) {
    await assert.rejects(kubernetesPlace(given, {}), (error) => error instanceof Usage && message.test(error.message));
  }
  assert.deepEqual(podPatch('{"nodeSelector":{"a":"b"}}'), { nodeSelector: { a: 'b' } });
  for (const json of ['x', '[]', '3']) assert.throws(() => podPatch(json), Usage);
});

test('whole stories: a pod that waits and trains, one that is canceled, one that an operator deletes', async () => {
  await using server = await KubernetesServer.start();
  await using queue = new QueueServer();
  await using folder = await tempFolder();
  const url = await queue.start();
  const { log } = captureLog(systemClock);
  const transport = createConnectTransport({ baseUrl: url, useBinaryFormat: true });
  const session = openSession(transport, { id: 'key-id', key: new Secret('key') }, systemClock);
  const stop = new AbortController();
  const runnerId = 'runner-1';
  const offer = { ...localCapabilities({ single_label_classification: '' }, '0.0.0'), executor: 'kubernetes' } as const;
  const running = runDispatcher(
    {
      engine: kubernetesEngine(settings(server)),
      queue: connectQueue(transport, session, runnerId, systemClock),
      held: heldAttempts(folder.path),
      patience: { ...defaultTimeouts, firstPollMs: 50, maxPollMs: 200 },
      orderOf: (leased) => formatOrder({ url, runnerId, job: leased, graceMs: 3_000 }),
      clock: systemClock,
      log,
    },
    offer,
    { stop: stop.signal, drain: new AbortController().signal, jobs: 3 },
  );
  const first = queue.submit();
  await queue.until('the job is there', () => server.jobs.size === 1);
  const [ref = ''] = server.jobs.keys();
  server.setPod(ref, { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } } }] });
  await queue.until('says why', () => first.logs.some(({ message }) => /waits: ErrImagePull/.test(message)));
  assert.deepEqual([...first.phases], ['queued']);
  await server.runPods();
  await queue.until('completed', () => first.state === 'completed');

  server.hasNodes = true;
  const second = queue.submit({ arguments: { act: 'obey' } });
  await queue.until('begun', () => second.logs.some(({ message }) => message.startsWith('pid ')));
  queue.cancel(second);
  await queue.until('canceled', () => second.state === 'canceled');

  server.hasNodes = false;
  const third = queue.submit();
  await queue.until('waits', () => third.logs.some(({ message }) => /is submitted/.test(message)));
  server.remove([...server.jobs.keys()].at(-1) ?? '');
  await queue.until('failed', () => third.state === 'failed');
  assert.equal(third.failure?.code, 'ENGINE_JOB_CANCELED');
  stop.abort();
  await running;
});
