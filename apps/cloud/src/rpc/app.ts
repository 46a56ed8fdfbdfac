import type { ConnectRouter } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { keyCalls } from './app-keys.ts';
import { logCalls } from './app-logs.ts';
import { machineCalls } from './app-machines.ts';
import { organizationCalls } from './app-organizations.ts';
import { permissionCalls } from './app-permissions.ts';
import { registryCalls } from './app-registry.ts';
import type { Deps } from './routes.ts';

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
