import type { ServiceImpl } from '@connectrpc/connect';
import type { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Deps } from './routes.ts';

/** Registry items as AppService shows them. */
export const registryCalls = (_deps: Deps) => ({}) satisfies Partial<ServiceImpl<typeof AppService>>;
