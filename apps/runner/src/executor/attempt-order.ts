/** The input of the program on the cluster: everything that it needs to run one attempt, as one line of JSON. */
import { fromJson, toJson } from '@bufbuild/protobuf';
import { JobSchema, type Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { Secret } from '@platform/kit';
import { Usage } from '@platform/kit/node';

export interface AttemptOrder {
  /** URL of the management server as nodes reach it. */
  readonly url: string;
  /** The dispatcher's runner ID: both report for the same attempt. */
  readonly runnerId: string;
  readonly job: Job;
  readonly graceMs: number;
}

export const attemptKey = ({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string => `platform-${id}-${attempt}`;

/** Contains the token of the attempt: keep it secret until the attempt ends. */
export function formatOrder({ url, runnerId, job, graceMs }: AttemptOrder): string {
  return JSON.stringify({ url, runner_id: runnerId, grace_seconds: graceMs / 1000, job: toJson(JobSchema, job) });
}

/** @throws Usage */
export function parseOrder(text: string): AttemptOrder & { token: Secret } {
  const wrong = (what: string): Usage => new Usage(`The order of the attempt is not one: ${what}.`, 2);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong('it is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw wrong('it is not an object');
  const { url, runner_id: runnerId, grace_seconds: graceSeconds, job } = value as Record<string, unknown>;
  if (typeof url !== 'string' || !URL.canParse(url)) throw wrong('url is not a URL');
  if (typeof runnerId !== 'string' || runnerId === '') throw wrong('runner_id is missing');
  if (typeof graceSeconds !== 'number' || !(graceSeconds >= 0)) throw wrong('grace_seconds is not a number');
  try {
    const known = fromJson(JobSchema, job as Parameters<typeof fromJson>[1], { ignoreUnknownFields: true });
    if (known.attemptToken === '') throw wrong('job has no attempt_token');
    return { url, runnerId, graceMs: graceSeconds * 1000, job: known, token: new Secret(known.attemptToken) };
  } catch (error) {
    throw error instanceof Usage ? error : wrong(`job: ${error instanceof Error ? error.message : 'not a job'}`);
  }
}
