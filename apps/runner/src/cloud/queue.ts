/** The runner's client of the job queue. */
import { create, type MessageInitShape, type JsonObject } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { errorCodeOf } from '@platform/contract/errors/errors';
import {
  type Job,
  JobLogSchema,
  JobMetricSchema,
  ReportJobRequestSchema,
  RunnerService,
} from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { TimeoutError, within, type Clock } from '@platform/kit';
import type { Failure } from '../attempt-life.ts';
import type { JobFiles } from '../job/outputs.ts';
import type { RunnerCapabilities } from '../local-capabilities.ts';
import type { Session } from './session.ts';

/** The calls of a runner; each call about an attempt names it. Throws ConnectError or TimeoutError. */
export interface Queue {
  /** @param running - jobs that the runner already runs. */
  lease(
    offer: RunnerCapabilities,
    waitMs: number,
    signal: AbortSignal,
    running?: readonly string[],
  ): Promise<Job | undefined>;
  /** @returns whether the job must stop. */
  report(attempt: AttemptId, news: JobReport, holdMs: number, signal: AbortSignal): Promise<{ stop: boolean }>;
  complete(attempt: AttemptId, files: JobFiles, signal: AbortSignal): Promise<void>;
  fail(attempt: AttemptId, failure: Failure, signal: AbortSignal): Promise<{ willRetry: boolean }>;
  confirmStop(attempt: AttemptId, signal: AbortSignal): Promise<void>;
}
export interface AttemptId {
  jobId: string;
  attempt: number;
}
export interface LogEntry {
  sequence: number;
  /** ms since 1970. */
  time: number;
  level: string;
  message: string;
}
export interface MetricEntry {
  sequence: number;
  time: number;
  values: Readonly<Record<string, number | string>>;
}
export interface JobProgress {
  phase: string;
  progress: number;
  etaMs: number | undefined;
}
export interface JobReport extends JobProgress {
  logs: readonly LogEntry[];
  metrics: readonly MetricEntry[];
}

const deadlineMs = 15_000;
/** The server builds the package before it answers. */
const completeDeadlineMs = 120_000;

export function connectQueue(transport: Transport, session: Session, runnerId: string, clock: Clock): Queue {
  const client = createClient(RunnerService, transport);
  const call = <T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    f: (options: { signal: AbortSignal; headers: { authorization: string } }) => Promise<T>,
  ): Promise<T> =>
    session.call(signal, (headers) => within(ms, { what, clock, signal }, (inner) => f({ signal: inner, headers })));
  return {
    lease: async ({ kinds, containers, ...offer }, waitMs, signal, running = []) => {
      const request = {
        ...offer,
        runnerId,
        kinds: [...kinds],
        containers: containers.map(({ endOfLife, ...container }) => ({
          ...container,
          ...(endOfLife === undefined ? {} : { eol: timestampFromMs(endOfLife) }),
        })),
        wait: durationFromMs(waitMs),
        runningJobIds: [...running],
      };
      return (await call('LeaseJob', deadlineMs + waitMs, signal, (o) => client.leaseJob(request, o))).job;
    },
    report: async ({ jobId, attempt }, news, holdMs, signal) => {
      const request = create(ReportJobRequestSchema, {
        jobId,
        attempt,
        runnerId,
        phase: news.phase,
        progress: news.progress,
        ...(news.etaMs === undefined ? {} : { eta: durationFromMs(Math.round(news.etaMs)) }),
        logs: news.logs.map(logOf),
        metrics: news.metrics.map(metricOf),
        hold: durationFromMs(holdMs),
      });
      const { stop } = await call('ReportJob', deadlineMs + holdMs, signal, (o) => client.reportJob(request, o));
      return { stop };
    },
    complete: async ({ jobId, attempt }, { files, evaluation }, signal) => {
      const request = {
        jobId,
        attempt,
        runnerId,
        files: files.map(({ path, sha256, sizeBytes }) => ({ path, sha256, sizeBytes: BigInt(sizeBytes) })),
        ...(evaluation === undefined ? {} : { evaluation: evaluation as JsonObject }),
      };
      await call('CompleteJob', completeDeadlineMs, signal, (o) => client.completeJob(request, o));
    },
    fail: async ({ jobId, attempt }, failure, signal) => {
      const request = { jobId, attempt, runnerId, ...failure };
      const { willRetry } = await call('FailJob', deadlineMs, signal, (o) => client.failJob(request, o));
      return { willRetry };
    },
    confirmStop: async ({ jobId, attempt }, signal) => {
      await call('ConfirmStop', deadlineMs, signal, (o) => client.confirmStop({ jobId, attempt, runnerId }, o));
    },
  };
}

function logOf({ sequence, time, level, message }: LogEntry): MessageInitShape<typeof JobLogSchema> {
  return { sequence: BigInt(sequence), time: timestampFromMs(time), level, message };
}
function metricOf({ sequence, time, values }: MetricEntry): MessageInitShape<typeof JobMetricSchema> {
  return { sequence: BigInt(sequence), time: timestampFromMs(time), values: { ...values } };
}

/** Whether another runner holds the lease, or none. */
export const isLeaseLost = (error: unknown): boolean =>
  errorCodeOf(error) === 'LEASE_LOST' || (error instanceof ConnectError && error.code === Code.Aborted);

/** The organization's storage is full: a user must free space, and the lease expires before that. */
const isFull = (error: unknown): boolean => errorCodeOf(error) === 'ORGANIZATION_FULL';

/** Whether the same call may succeed later: the server timed out, was unreachable or was overloaded. */
export function isPassing(error: unknown): boolean {
  if (error instanceof TimeoutError) return true;
  if (!(error instanceof ConnectError) || isFull(error)) return false;
  return [Code.Unavailable, Code.Unknown, Code.DeadlineExceeded, Code.Internal, Code.ResourceExhausted].includes(
    error.code,
  );
}
