/** Runs attempts on Slurm through slurmrestd with JWT. */
import { readFile } from 'node:fs/promises';
import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import type { Engine, EngineJob } from '../engine.ts';
import { sendRequest, type HttpResponse, type HttpEndpoint, type HttpRequest } from '../http-request.ts';
import {
  errorsOf,
  isRefusal,
  jobsOf,
  newestShape,
  shapes,
  statusOf,
  submittedId,
  unknownJob,
  type Shape,
  type SlurmJob,
} from './shapes.ts';
import type { Tokens } from './tokens.ts';

export interface SlurmSettings {
  readonly url: string;
  readonly user: string;
  readonly tokens: Tokens;
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
  readonly clock: Clock;
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
  const { tokens, clock, url } = settings;
  const place: HttpEndpoint = { engine: 'Slurm', url, clock };
  const unreachable = (problem: string): PlatformError =>
    new PlatformError('ENGINE_UNREACHABLE', { engine: 'Slurm', url, problem });
  const refused = (problem: string): PlatformError => new PlatformError('ENGINE_REFUSED', { engine: 'Slurm', problem });

  const ask = async (request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    const token = await tokens.get(signal);
    const headers = { 'x-slurm-user-name': settings.user, 'x-slurm-user-token': token.reveal() };
    const answer = await sendRequest(place, { ...request, headers }, signal);
    if (answer.status !== 401 && answer.status !== 403) return answer;
    tokens.forget();
    throw unreachable(`the token is not valid, or not of user ${settings.user}`);
  };
  /** Throws the error in the response; passes a success and an unknown job through. */
  const check = (answer: HttpResponse): HttpResponse => {
    const errors = errorsOf(answer.json);
    if (answer.status < 400 && errors.every(({ number }) => number === 0)) return answer;
    if (errors.some(({ number }) => number === unknownJob)) return answer;
    const text = errors.map((one) => one.text).join('; ') || `${answer.status} ${answer.text.slice(0, 300)}`;
    // slurmrestd gives no details when slurmctld rejects the token or is down.
    if (!errors.some(isRefusal) && answer.status !== 400) {
      tokens.forget();
      throw unreachable(text);
    }
    throw refused(text);
  };
  let known: Shape | undefined;
  const shapeOf = async (signal: AbortSignal): Promise<Shape> => {
    if (known) return known;
    const answer = await ask({ method: 'GET', path: '/openapi/v3' }, signal);
    if (answer.json === undefined) throw unreachable(`${answer.status} instead of its API's description`);
    const { shape, offered } = newestShape(answer.json);
    if (shape) return (known = shape);
    throw refused(
      `it speaks ${offered.join(', ') || 'no version'} of its API; this runner speaks ${shapes.map(({ version }) => version).join(', ')}`,
    );
  };
  /** Reads the API version again after a 404: Slurm may have been upgraded. */
  const call = async (f: (shape: Shape) => HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    const answer = await ask(f(await shapeOf(signal)), signal);
    if (answer.status === 404) {
      known = undefined;
      throw unreachable('its API has changed; asking again');
    }
    return check(answer);
  };
  const find = async (name: string, signal: AbortSignal): Promise<SlurmJob | undefined> => {
    const { json } = await call(({ version }) => ({ method: 'GET', path: `/slurm/${version}/jobs` }), signal);
    return jobsOf(json).find((job) => job.name === name);
  };
  const one = async (ref: string, signal: AbortSignal): Promise<SlurmJob | undefined> => {
    const path = `/job/${encodeURIComponent(ref)}`;
    const { json } = await call(({ version }) => ({ method: 'GET', path: `/slurm/${version}${path}` }), signal);
    return jobsOf(json).find((job) => job.id === ref);
  };

  return {
    name: 'Slurm',
    submit: async (job, signal) => {
      if (job.mayExist) {
        const found = await find(job.key, signal);
        if (found) return found.id;
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
      const job = await one(ref, signal);
      return job ? statusOf(job) : { at: 'absent' };
    },
    cancel: async (ref, signal) => {
      const path = `/job/${encodeURIComponent(ref)}`;
      await call(({ version }) => ({ method: 'DELETE', path: `/slurm/${version}${path}` }), signal);
    },
    lastLines: async (ref, signal) => {
      const output = (await one(ref, signal))?.output.replaceAll('%j', ref) ?? '';
      if (output === '' || output === '/dev/null') return [];
      const text = await readFile(output, 'utf8').catch(() => ''); // the file may exist on the node only
      return text.trimEnd().split('\n').slice(-20);
    },
  };
}
