import type { ConnectRouter } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { keyCalls } from './organizations/key-calls.ts';
import { logCalls } from './logs/log-calls.ts';
import { machineCalls } from './fleet/machine-calls.ts';
import { organizationCalls } from './organizations/organization-calls.ts';
import { permissionCalls } from './organizations/permission-calls.ts';
import { registryCalls } from './registry/registry-calls.ts';
import type { Deps } from './rpc-routes.ts';

/** What is not here answers UNIMPLEMENTED. */
export const appRoutes =
  (deps: Deps) =>
  (router: ConnectRouter): void => {
    router.service(AppService, {
      ...organizationCalls(deps),
      ...permissionCalls(deps),
      ...machineCalls(deps),
      ...keyCalls(deps),
      ...logCalls(deps),
      ...registryCalls(deps),
    });
  };
