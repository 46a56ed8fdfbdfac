import type { ConnectRouter } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { machineCalls } from './fleet/machine-calls.ts';
import { fragmentCalls } from './fragments/fragment-calls.ts';
import { logCalls } from './logs/log-calls.ts';
import { keyCalls } from './organizations/key-calls.ts';
import { organizationCalls } from './organizations/organization-calls.ts';
import { permissionCalls } from './organizations/permission-calls.ts';
import { registryCalls } from './registry/registry-calls.ts';

type AppDeps = Parameters<typeof organizationCalls>[0] &
  Parameters<typeof permissionCalls>[0] &
  Parameters<typeof machineCalls>[0] &
  Parameters<typeof keyCalls>[0] &
  Parameters<typeof logCalls>[0] &
  Parameters<typeof registryCalls>[0] &
  Parameters<typeof fragmentCalls>[0];

/** Calls that are missing here return UNIMPLEMENTED. */
export const appRoutes =
  (deps: AppDeps) =>
  (router: ConnectRouter): void => {
    router.service(AppService, {
      ...organizationCalls(deps),
      ...permissionCalls(deps),
      ...machineCalls(deps),
      ...keyCalls(deps),
      ...logCalls(deps),
      ...registryCalls(deps),
      ...fragmentCalls(deps),
    });
  };
