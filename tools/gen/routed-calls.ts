import type { ConnectRouter } from '@connectrpc/connect';
import { type RpcDeps, routes } from '../../apps/cloud/src/rpc-routes.ts';
import { isUnsupported } from '../../apps/cloud/src/rpc/unsupported.ts';

/** Lists the calls for which the server has a handler, as `service/method`, without running a handler. */
export function routedCalls(): Set<string> {
  const nothing = new Proxy(() => undefined, { get: () => nothing, apply: () => nothing }) as never;
  const deps: RpcDeps = {
    db: nothing,
    blobs: nothing,
    notifications: nothing,
    changes: nothing,
    clock: nothing,
    steady: nothing,
    stop: nothing,
    secrets: nothing,
    releaseKey: nothing,
    authenticator: nothing,
    presence: nothing,
    answers: nothing,
    configs: nothing,
    live: nothing,
    releases: nothing,
    hosts: nothing,
    runs: nothing,
    personal: nothing,
    logs: nothing,
    budgets: nothing,
    usage: nothing,
    images: nothing,
    conditions: nothing,
    waiting: nothing,
    addresses: nothing,
    authority: nothing,
    unknownCodes: nothing,
    revisionOfContent: nothing,
    certificateProblems: nothing,
    certificate: nothing,
    certificateEnds: nothing,
    readiness: nothing,
    backups: nothing,
    installationId: '',
    version: '',
  };
  const routed = new Set<string>();
  const add: Pick<ConnectRouter, 'service'> = {
    service(service, handlers) {
      for (const [name, handler] of Object.entries(handlers))
        if (!isUnsupported(handler)) routed.add(`${service.typeName}/${name.charAt(0).toUpperCase()}${name.slice(1)}`);
      return add as ConnectRouter;
    },
  };
  routes(deps)(add as ConnectRouter);
  return routed;
}
