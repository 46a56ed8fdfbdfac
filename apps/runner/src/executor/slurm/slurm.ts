/** Runs attempts on Slurm through slurmrestd with JWT. */
import { readFile } from 'node:fs/promises';
import type { Engine, EngineJob } from '../engine.ts';
import { statusOf, submittedId } from './shapes.ts';
import { slurmApi, type SlurmAccess } from './slurm-api.ts';

export interface SlurmSettings extends SlurmAccess {
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  readonly qos?: string | undefined;
  readonly constraints?: string | undefined;
  readonly cpus: number;
  /** Memory of the program that runs the trainer. */
  readonly extraMemoryMib: number;
  /** Time that the program needs before and after the training. */
  readonly extraSeconds: number;
  /** Where the node writes the program's output, such as /shared/log/%j.out. */
  readonly output: string;
  /** A shell command line that starts the attempt. */
  readonly command: string;
  /** Environment variables of the job, in addition to those that Slurm sets. */
  readonly environment: Readonly<Record<string, string>>;
}

const endMark = 'PLATFORM_ORDER_ENDS';

/**
 * `exec` lets Slurm's TERM reach the attempt itself. A run that Slurm restarts exits at once: the server's queue
 * decides about retries.
 */
export const batchScript = (command: string, { order, about }: EngineJob): string => `#!/bin/bash
# ${about.replaceAll(/\s+/g, ' ')}
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] || exit 75
exec ${command} <<'${endMark}'
${order}
${endMark}
`;

export function slurmEngine(settings: SlurmSettings): Engine {
  const { call, findByName, findById, unreachable } = slurmApi(settings);
  return {
    name: 'Slurm',
    submit: async (job, signal) => {
      if (job.mayExist) {
        const byName = await findByName(job.key, signal);
        if (byName) return byName.id;
      }
      const { limits } = job;
      const { json } = await call(
        (shape) => ({
          method: 'POST',
          path: `/slurm/${shape.version}/job/submit`,
          body: shape.submitBody({
            ...settings,
            name: job.key,
            comment: job.about,
            script: batchScript(settings.command, job),
            memoryMib: limits.memory_mib + settings.extraMemoryMib,
            minutes: Math.ceil((limits.wall_seconds + settings.extraSeconds) / 60),
            gpus: limits.gpus ?? 0,
          }),
        }),
        signal,
      );
      const id = submittedId(json);
      if (id === undefined) throw unreachable('it took the job without naming it');
      return id;
    },
    status: async (ref, signal) => {
      const job = await findById(ref, signal);
      return job ? statusOf(job) : { at: 'absent' };
    },
    cancel: async (ref, signal) => {
      const path = `/job/${encodeURIComponent(ref)}`;
      await call(({ version }) => ({ method: 'DELETE', path: `/slurm/${version}${path}` }), signal);
    },
    lastLines: async (ref, signal) => {
      const output = (await findById(ref, signal))?.output.replaceAll('%j', ref) ?? '';
      if (output === '' || output === '/dev/null') return [];
      const text = await readFile(output, 'utf8').catch(() => ''); // the file may exist on the node only
      return text.trimEnd().split('\n').slice(-20);
    },
  };
}
