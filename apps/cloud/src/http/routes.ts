import type { Deps } from '../rpc/routes.ts';
import { blobRoutes } from './blobs.ts';
import { dataDownloads } from './captured-data.ts';
import type { Route } from './exchange.ts';
import { healthRoutes } from './health.ts';
import { authorityRoutes, installRoutes } from './install.ts';
import { machineConfigRoutes } from './machine-config.ts';
import { packageDownloads, packageUploads } from './packages.ts';
import { releaseFileRoutes } from './releases.ts';
import { sequenceExportDownloads } from './sequence-exports.ts';
import { signInRoutes } from './sign-in.ts';
import { tufRoutes } from './tuf.ts';
import { webRoutes } from './web.ts';

/** Everything that is no RPC; the web app takes what nobody else takes. */
export const httpRoutes = (deps: Deps, of: { blobLimitBytes: number; webFolder: string | undefined }): Route[] => [
  ...healthRoutes(deps),
  ...signInRoutes(deps),
  ...machineConfigRoutes(deps),
  ...authorityRoutes(deps),
  ...installRoutes(deps),
  ...releaseFileRoutes(deps),
  ...tufRoutes(deps),
  ...blobRoutes(deps, of.blobLimitBytes),
  packageDownloads(deps),
  packageUploads(deps),
  dataDownloads(deps),
  sequenceExportDownloads(deps),
  ...webRoutes(of.webFolder),
];
