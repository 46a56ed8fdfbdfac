/** Runs each attempt as a Kubernetes Job through the API server. */
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, Secret, type Clock } from '@platform/kit';
import { readText } from '@platform/kit/node';
import type { Engine } from '../engine.ts';
import { sendRequest, type HttpResponse, type HttpRequest } from '../http-request.ts';
import { jobManifest, nameOf, ownerPatch, secretManifest, type ManifestSettings } from './manifest.ts';
import { newestPod, podName, problemOf, statusOf, uidOf } from './shapes.ts';

export interface KubernetesSettings extends ManifestSettings {
  readonly url: string;
  readonly namespace: string;
  /** Read again for each call: tokens of pods expire after an hour. */
  readonly tokenFile: string;
  /** CA certificates in PEM; undefined: the system's. */
  readonly ca: string | undefined;
  readonly clock: Clock;
}

const linesShown = 20;

/** Calls of the API server with the token of the moment. */
function kubernetesApi(settings: KubernetesSettings) {
  const { url, ca, clock, namespace } = settings;
  const place = { engine: 'Kubernetes', url, ca, clock } as const;
  const unreachable = (problem: string, cause?: unknown): PlatformError =>
    new PlatformError('ENGINE_UNREACHABLE', { engine: 'Kubernetes', url, problem }, cause);
  const jobs = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`;
  const core = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;

  const tokenOf = async (): Promise<Secret> => {
    const text = await readText(settings.tokenFile).catch((error: unknown) => {
      throw unreachable(`no token: ${errorText(error)}`, error);
    });
    return new Secret(text.trim());
  };
  /** @param expected - statuses above 299 that the caller handles. */
  const call = async (request: HttpRequest, signal: AbortSignal, ...expected: number[]): Promise<HttpResponse> => {
    const headers = { authorization: `Bearer ${(await tokenOf()).reveal()}` };
    const answer = await sendRequest(place, { ...request, headers }, signal);
    const { status } = answer;
    if ((status >= 200 && status < 300) || expected.includes(status)) return answer;
    const problem = problemOf(answer.json) || `${status} ${answer.text.slice(0, 300)}`;
    // An invalid token, rate limiting and a starting server are transient; errors about the request itself are
    // permanent.
    if (status === 401 || status === 408 || status === 429 || status >= 500) throw unreachable(problem);
    throw new PlatformError('ENGINE_REFUSED', { engine: 'Kubernetes', problem });
  };
  const podOf = async (name: string, signal: AbortSignal): Promise<unknown> => {
    const selector = encodeURIComponent(`job-name=${name}`);
    return newestPod((await call({ method: 'GET', path: `${core}/pods?labelSelector=${selector}` }, signal)).json);
  };
  return { call, podOf, core, jobs, job: (name: string): string => `${jobs}/${encodeURIComponent(name)}` };
}

export function kubernetesEngine(settings: KubernetesSettings): Engine {
  const { call, podOf, core, jobs, job: pathOf } = kubernetesApi(settings);
  return {
    name: 'Kubernetes',
    // Names are unique in a namespace: 409 means that an earlier submit succeeded.
    submit: async (job, signal) => {
      const name = nameOf(job.key);
      await call({ method: 'POST', path: `${core}/secrets`, body: secretManifest(job) }, signal, 409);
      const made = await call({ method: 'POST', path: jobs, body: jobManifest(job, settings) }, signal, 409);
      const uid = uidOf(
        made.status === 409 ? (await call({ method: 'GET', path: pathOf(name) }, signal, 404)).json : made.json,
      );
      if (uid !== '') {
        const contentType = 'application/merge-patch+json';
        const path = `${core}/secrets/${name}`;
        await call({ method: 'PATCH', path, contentType, body: ownerPatch(name, uid) }, signal, 404);
      }
      return name;
    },
    status: async (ref, signal) => {
      const answer = await call({ method: 'GET', path: pathOf(ref) }, signal, 404, 410);
      // A finished Job stays for a day: if it is gone earlier, an operator deleted it to end it.
      if (answer.status === 404 || answer.status === 410) return { at: 'ended', how: { is: 'canceled' } };
      return statusOf(answer.json, await podOf(ref, signal));
    },
    cancel: async (ref, signal) => {
      // Foreground: the Job exists until its pod is gone.
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' };
      await call({ method: 'DELETE', path: pathOf(ref), body }, signal, 404, 409, 410);
    },
    lastLines: async (ref, signal) => {
      const name = podName(await podOf(ref, signal));
      if (name === '') return [];
      const path = `${core}/pods/${encodeURIComponent(name)}/log?container=attempt&tailLines=${linesShown}`;
      const { status, text } = await call({ method: 'GET', path }, signal, 400, 404);
      return status === 200 ? text.trimEnd().split('\n') : [];
    },
  };
}
