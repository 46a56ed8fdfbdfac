import type { Deps } from './rpc-routes.ts';
import { blobRoutes } from './training/blob-files.ts';
import { dataDownloads } from './data/data-downloads.ts';
import type { Route } from './wire/exchange.ts';
import { healthRoutes } from './web/health.ts';
import { authorityRoutes, installRoutes } from './releases/install-script.ts';
import { machineConfigRoutes } from './fleet/machine-config-download.ts';
import { packageDownloads, packageUploads } from './registry/package-files.ts';
import { releaseFileRoutes } from './releases/release-downloads.ts';
import { sequenceExportDownloads } from './data/sequence-export-downloads.ts';
import { signInRoutes } from './organizations/sign-in-page.ts';
import { tufRoutes } from './releases/tuf-downloads.ts';
import { webRoutes } from './web/web-app.ts';

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
