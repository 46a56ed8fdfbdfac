/** Stores on disk which attempts an engine runs for this dispatcher, so that a restarted dispatcher takes them over. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fromJson, toJson, type JsonValue } from '@bufbuild/protobuf';
import { JobSchema, type Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { atomicWrite, readJson } from '@platform/kit/node';
import { attemptKey } from './attempt-order.ts';

export interface HeldAttempt {
  readonly job: Job;
  /** The engine's ID of the job; undefined: it may never have been submitted. */
  readonly ref: string | undefined;
}
export interface HeldAttempts {
  /** Attempts of earlier runs; skips files that it cannot read. */
  load(): Promise<readonly HeldAttempt[]>;
  keep(held: HeldAttempt): Promise<void>;
  forget(job: Job): Promise<void>;
}

export function heldAttempts(root: string): HeldAttempts {
  const folder = path.join(root, 'dispatch');
  const fileOf = (job: Job): string => path.join(folder, `${path.basename(attemptKey(job))}.json`);
  return {
    load: async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const attempts: HeldAttempt[] = [];
      for (const name of await readdir(folder)) {
        if (!name.endsWith('.json')) continue;
        const held = heldOf(await readJson(path.join(folder, name)).catch(() => undefined));
        if (held) attempts.push(held);
      }
      return attempts;
    },
    keep: ({ job, ref }) =>
      atomicWrite(fileOf(job), `${JSON.stringify({ job: toJson(JobSchema, job), ref })}\n`, { mode: 0o600 }),
    forget: (job) => rm(fileOf(job), { force: true }),
  };
}

function heldOf(value: unknown): HeldAttempt | undefined {
  if (typeof value !== 'object' || value === null || !('job' in value)) return undefined;
  const ref = 'ref' in value && typeof value.ref === 'string' ? value.ref : undefined;
  try {
    return { job: fromJson(JobSchema, value.job as JsonValue, { ignoreUnknownFields: true }), ref };
  } catch {
    return undefined;
  }
}
