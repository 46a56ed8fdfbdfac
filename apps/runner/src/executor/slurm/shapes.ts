/**
 * Request and response formats of slurmrestd by API version. Slurm drops old versions after two or three releases. The
 * runner therefore uses the newest version that both sides support. v0.0.38 is tested on a real cluster; the later ones
 * follow Slurm's documentation.
 */
import type { EngineEnd, EngineStatus } from '../engine.ts';
import { isObject } from '@platform/contract/text/json-object';

export interface SubmitRequest {
  readonly name: string;
  readonly comment: string;
  readonly script: string;
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  readonly qos?: string | undefined;
  readonly constraints?: string | undefined;
  readonly cpus: number;
  readonly memoryMib: number;
  readonly minutes: number;
  readonly gpus: number;
  readonly output: string;
  readonly environment: Readonly<Record<string, string>>;
}
type Body = Record<string, unknown>;

export interface Shape {
  readonly version: string;
  submitBody(request: SubmitRequest): Body;
}

const given = (fields: Record<string, string | undefined>): Body =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));

const sameInAll = (request: SubmitRequest): Body => ({
  name: request.name,
  comment: request.comment,
  tasks: 1,
  cpus_per_task: request.cpus,
  current_working_directory: '/tmp',
  standard_output: request.output,
  ...given({
    partition: request.partition,
    account: request.account,
    qos: request.qos,
    constraints: request.constraints,
  }),
});
const setNumber = (value: number): Body => ({ set: true, infinite: false, number: value });

const v38: Shape = {
  version: 'v0.0.38',
  submitBody: (request) => ({
    script: request.script,
    job: {
      ...sameInAll(request),
      environment: request.environment,
      memory_per_node: request.memoryMib,
      time_limit: request.minutes,
      // This version parses `requeue: false` and ignores it.
      no_requeue: true,
      ...(request.gpus > 0 ? { gres: `gpu:${request.gpus}` } : {}),
    },
  }),
};
const later = (version: string, scriptIn: 'request' | 'job'): Shape => ({
  version,
  submitBody: (request) => ({
    ...(scriptIn === 'request' ? { script: request.script } : {}),
    job: {
      ...sameInAll(request),
      ...(scriptIn === 'job' ? { script: request.script } : {}),
      environment: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
      memory_per_node: setNumber(request.memoryMib),
      time_limit: setNumber(request.minutes),
      requeue: false,
      ...(request.gpus > 0 ? { tres_per_node: `gres/gpu:${request.gpus}` } : {}),
    },
  }),
});

/** Newest first. */
export const shapes: readonly Shape[] = [
  later('v0.0.43', 'job'),
  later('v0.0.42', 'job'),
  later('v0.0.41', 'job'),
  later('v0.0.40', 'request'),
  later('v0.0.39', 'request'),
  v38,
];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The newest supported version in the server's OpenAPI document; `offered`: all versions in it. */
export function newestShape(document: unknown): { shape: Shape | undefined; offered: readonly string[] } {
  const paths = isObject(document) && isObject(document['paths']) ? Object.keys(document['paths']) : [];
  const offered = paths.flatMap((path) => /^\/slurm\/(v[\d.]+)\/job\/submit\/?$/.exec(path)?.[1] ?? []);
  return { shape: shapes.find(({ version }) => offered.includes(version)), offered };
}

export interface SlurmError {
  /** ESLURM number; −1 if the error has none. */
  readonly number: number;
  readonly text: string;
}
export function errorsOf(answer: unknown): readonly SlurmError[] {
  if (!isObject(answer)) return [];
  return list(answer['errors']).flatMap((error) => {
    if (!isObject(error)) return [];
    const number = [error['error_number'], error['error_code']].find((one) => typeof one === 'number') ?? -1;
    const parts = [error['error'], error['description']].filter((one) => typeof one === 'string' && one !== '');
    return [{ number, text: [...new Set(parts)].join(': ') || `error ${String(number)}` }];
  });
}

/** ESLURM_INVALID_JOB_ID: the job never existed, or ended longer ago than MinJobAge. */
export const unknownJob = 2017;
/** ESLURM numbers that reject a request; lower numbers are communication errors. */
export const isRefusal = ({ number }: SlurmError): boolean => (number >= 2000 && number < 3000) || number === 9001;

export function submittedId(answer: unknown): string | undefined {
  const id = isObject(answer) ? answer['job_id'] : undefined;
  return typeof id === 'number' && Number.isInteger(id) && id > 0 ? String(id) : undefined;
}

export interface SlurmJob {
  readonly id: string;
  readonly name: string;
  readonly states: readonly string[];
  readonly why: string;
  readonly restarts: number;
  readonly exit: { readonly code: number; readonly signal: number };
  readonly output: string;
}

export function jobsOf(answer: unknown): readonly SlurmJob[] {
  if (!isObject(answer)) return [];
  return list(answer['jobs'])
    .flatMap((job) => (isObject(job) ? [jobOf(job)] : []))
    .flatMap((job) => job ?? []);
}

function jobOf(job: Record<string, unknown>): SlurmJob | undefined {
  const { job_id: id, job_state: state } = job;
  if (typeof id !== 'number') return undefined;
  const states = (typeof state === 'string' ? [state] : list(state)).filter((one) => typeof one === 'string');
  const text = (key: string): string => (typeof job[key] === 'string' ? job[key] : '');
  const why = [text('state_reason'), text('state_description')].filter((one) => one !== '' && one !== 'None');
  return {
    id: String(id),
    name: text('name'),
    states,
    why: why.join(': '),
    restarts: numberOf(job['restart_cnt']),
    exit: exitOf(job['exit_code']),
    output: text('standard_output'),
  };
}

/** A plain number in v0.0.38, an object with `number` in later versions. */
function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return isObject(value) && typeof value['number'] === 'number' ? value['number'] : 0;
}
/** The status of wait(2) in v0.0.38, an object in later versions. */
function exitOf(value: unknown): SlurmJob['exit'] {
  if (!isObject(value)) {
    const status = numberOf(value);
    return { code: (status >> 8) & 0xff, signal: status & 0x7f };
  }
  const signal = isObject(value['signal']) ? numberOf(value['signal']['id'] ?? value['signal']['signal_id']) : 0;
  return { code: numberOf(value['return_code']), signal };
}

const pending = [
  'PENDING',
  'CONFIGURING',
  'REQUEUED',
  'REQUEUE_HOLD',
  'REQUEUE_FED',
  'SPECIAL_EXIT',
  'RESV_DEL_HOLD',
  'POWER_UP_NODE',
];
const running = ['RUNNING', 'COMPLETING', 'SUSPENDED', 'STOPPED', 'SIGNALING', 'STAGE_OUT', 'RESIZING', 'UPDATE_DB'];
const ends: Readonly<Record<string, EngineEnd>> = {
  COMPLETED: { is: 'succeeded' },
  CANCELLED: { is: 'canceled' },
  TIMEOUT: { is: 'timedOut' },
  DEADLINE: { is: 'timedOut' },
  OUT_OF_MEMORY: { is: 'outOfMemory' },
  NODE_FAIL: { is: 'lost', word: 'NODE_FAIL' },
  BOOT_FAIL: { is: 'lost', word: 'BOOT_FAIL' },
  LAUNCH_FAILED: { is: 'lost', word: 'LAUNCH_FAILED' },
  PREEMPTED: { is: 'lost', word: 'PREEMPTED' },
  REVOKED: { is: 'lost', word: 'REVOKED' },
};
/** Jobs with these reasons start only after an operator acts. */
const stuckReasons =
  /^(JobHeldAdmin|PartitionTimeLimit|PartitionNodeLimit|BadConstraints|QOSMaxWall|AssocMaxWall|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|Reservation\w*Invalid)/;

/** Later versions report several states at once, for example ["RUNNING", "COMPLETING"]. */
export function statusOf(job: SlurmJob): EngineStatus {
  const has = (names: readonly string[]): boolean => job.states.some((state) => names.includes(state));
  // One run per attempt: a second run would write into the log of the first.
  if (job.restarts > 0) return { at: 'ended', how: { is: 'lost', word: 'put back into the queue of Slurm' } };
  if (has(running)) return { at: 'running' };
  if (has(pending)) return { at: 'pending', why: job.why, isStuck: stuckReasons.test(job.why) };
  for (const state of job.states) {
    const end = ends[state];
    if (end) return { at: 'ended', how: end };
  }
  if (has(['FAILED'])) {
    const { code, signal } = job.exit;
    return { at: 'ended', how: signal > 0 ? { is: 'killed', signal } : { is: 'exited', code } };
  }
  return { at: 'ended', how: { is: 'lost', word: job.states.join(' ') || 'no state' } };
}
