import { PlatformError, httpStatusOf } from '@platform/contract/errors/errors';
import { restartStatusJson } from '@platform/contract/machine-server/machine-server';
import type { RestartStatus } from '@platform/contract/machine-server/machine-server';
import { resourceReportJson } from '@platform/contract/machine-server/resource-report';
import type { ResourceReport } from '@platform/contract/machine-server/resource-report';
import { decodeText, isNotText, type Log } from '@platform/kit';
import { maxImageBytes, mimeTypes } from '../images/image.ts';
import type { RunningResources } from '../resources/running.ts';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

export interface Ask {
  readonly method: string;
  /** Decoded path segments. */
  readonly path: readonly string[];
  readonly body: (limitBytes: number) => Promise<Uint8Array>;
  readonly signal: AbortSignal;
}

export interface RouteDeps {
  readonly running: RunningResources;
  readonly restartStatus: () => Promise<RestartStatus>;
  readonly status: () => Promise<object>;
  readonly resources: () => readonly object[];
  readonly resourceReport: () => ResourceReport;
  readonly log: Log;
}

type Route = (ask: Ask, name: string, deps: RouteDeps) => Promise<Answer>;

/** Method and path; `*` matches the name of a resource. */
const routes: Readonly<Record<string, Route>> = {
  'GET restart_status': async (_ask, _name, deps) => json(200, restartStatusJson(await deps.restartStatus())),
  'GET status': async (_ask, _name, deps) => json(200, await deps.status()),
  'GET resources': async (_ask, _name, deps) => json(200, { resources: deps.resources() }),
  'GET resource_status': async (_ask, _name, deps) => json(200, resourceReportJson(deps.resourceReport())),
  'POST models/*/predict': async ({ body }, name, { running }) => {
    running.get('model', name); // reject an unknown model before reading up to 16 MB
    const bytes = await body(maxImageBytes);
    return json(200, await running.get('model', name).model.predict(bytes, 'in the request'));
  },
  'GET cameras/*/image': async ({ signal }, name, { running }) => {
    const { bytes, format } = await running.get('camera', name).camera.image(signal);
    return { status: 200, contentType: mimeTypes[format], body: bytes };
  },
  'POST cameras/*/predict': async ({ signal, body }, name, { running }) => {
    const { camera } = running.get('camera', name);
    const model = modelName(await body(4096)) ?? running.onlyModel();
    if (model === undefined) {
      const limit = 'name it in the body: {"model": "<name>"}';
      throw new PlatformError('INVALID_ARGUMENT', { field: 'model', limit });
    }
    running.get('model', model);
    const { bytes, source } = await camera.image(signal);
    return json(200, { ...(await running.get('model', model).model.predict(bytes, source)), image: source });
  },
};

/** Never throws: a failure becomes a response with code, message and remedy. */
export async function answer(ask: Ask, deps: RouteDeps): Promise<Answer> {
  try {
    const [first, name, last] = ask.path;
    const pattern = ask.path.length === 3 ? `${first}/*/${last}` : ask.path.join('/');
    const route = Object.hasOwn(routes, `${ask.method} ${pattern}`) ? routes[`${ask.method} ${pattern}`] : undefined;
    if (route === undefined) {
      throw new PlatformError('UNSUPPORTED', { what: `${ask.method} /${ask.path.join('/')}` });
    }
    return await route(ask, name ?? '', deps);
  } catch (error) {
    if (!(error instanceof PlatformError)) deps.log.error('request failed', { path: ask.path.join('/'), error });
    return failure(error);
  }
}

export function failure(error: unknown): Answer {
  const known = error instanceof PlatformError ? error : new PlatformError('INTERNAL', {}, error);
  const { code, what, remedy } = known;
  const status = code === 'UNSUPPORTED' ? 404 : code === 'BLOB_TOO_LARGE' ? 413 : httpStatusOf(code);
  return json(status, { error: { code, message: what, remedy } });
}

function modelName(body: Uint8Array): string | undefined {
  if (body.length === 0) return undefined;
  try {
    const value = JSON.parse(decodeText(body)) as { model?: unknown };
    return typeof value.model === 'string' ? value.model : undefined;
  } catch (error) {
    throw new PlatformError(
      'INVALID_MESSAGE',
      { problem: isNotText(error) ? error.message : 'the body is not JSON' },
      error,
    );
  }
}

const json = (status: number, value: object): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(value)}\n`,
});
