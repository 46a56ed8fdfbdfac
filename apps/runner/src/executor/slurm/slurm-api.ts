/** Calls of slurmrestd with JWT. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { sendRequest, type HttpEndpoint, type HttpRequest, type HttpResponse } from '../http-request.ts';
import { errorsOf, isRefusal, jobsOf, newestShape, shapes, unknownJob, type Shape, type SlurmJob } from './shapes.ts';
import type { Tokens } from './tokens.ts';

export interface SlurmAccess {
  readonly url: string;
  readonly user: string;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

const refused = (problem: string): PlatformError => new PlatformError('ENGINE_REFUSED', { engine: 'Slurm', problem });

/** Calls of slurmrestd in the newest version of its API that both sides know. */
export function slurmApi({ url, user, tokens, clock }: SlurmAccess) {
  const endpoint: HttpEndpoint = { engine: 'Slurm', url, clock };
  const unreachable = (problem: string): PlatformError =>
    new PlatformError('ENGINE_UNREACHABLE', { engine: 'Slurm', url, problem });

  const send = async (request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    const token = await tokens.get(signal);
    const headers = { 'x-slurm-user-name': user, 'x-slurm-user-token': token.reveal() };
    const answer = await sendRequest(endpoint, { ...request, headers }, signal);
    if (answer.status !== 401 && answer.status !== 403) return answer;
    tokens.forget();
    throw unreachable(`the token is not valid, or not of user ${user}`);
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
    const answer = await send({ method: 'GET', path: '/openapi/v3' }, signal);
    if (answer.json === undefined) throw unreachable(`${answer.status} instead of its API's description`);
    const { shape, offered } = newestShape(answer.json);
    if (shape) return (known = shape);
    throw refused(
      `it speaks ${offered.join(', ') || 'no version'} of its API; this runner speaks ${shapes.map(({ version }) => version).join(', ')}`,
    );
  };
  /** Reads the API version again after a 404: Slurm may have been upgraded. */
  const call = async (f: (shape: Shape) => HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    const answer = await send(f(await shapeOf(signal)), signal);
    if (answer.status === 404) {
      known = undefined;
      throw unreachable('its API has changed; asking again');
    }
    return check(answer);
  };
  const findByName = async (name: string, signal: AbortSignal): Promise<SlurmJob | undefined> => {
    const { json } = await call(({ version }) => ({ method: 'GET', path: `/slurm/${version}/jobs` }), signal);
    return jobsOf(json).find((job) => job.name === name);
  };
  const findById = async (ref: string, signal: AbortSignal): Promise<SlurmJob | undefined> => {
    const path = `/job/${encodeURIComponent(ref)}`;
    const { json } = await call(({ version }) => ({ method: 'GET', path: `/slurm/${version}${path}` }), signal);
    return jobsOf(json).find((job) => job.id === ref);
  };
  return { call, findByName, findById, unreachable };
}
