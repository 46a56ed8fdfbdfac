import { dataDownloads } from './data/data-downloads.ts';
import { sequenceExportDownloads } from './data/sequence-export-downloads.ts';
import type { Database } from './database/database.ts';
import { installKeys } from './fleet/install-keys.ts';
import { machineConfigRoutes } from './fleet/machine-config-download.ts';
import { setUpCodeRoutes } from './fleet/set-up-codes.ts';
import { healthRoutes } from './health/health-pages.ts';
import { signInRoutes } from './organizations/sign-in-page.ts';
import { packageDownloads, packageUploads } from './registry/package-files.ts';
import { authorityRoutes, installRoutes } from './releases/install-script.ts';
import { releaseFileRoutes } from './releases/release-downloads.ts';
import { tufRoutes } from './releases/tuf-downloads.ts';
import { blobRoutes } from './training/blob-files.ts';
import { metricsRoutes } from './metrics/endpoints.ts';
import { webRoutes } from './web/web-app.ts';
import type { Route } from './wire/exchange.ts';

/** Dependencies of all routes. */
export type HttpDeps = Parameters<typeof healthRoutes>[0] &
  Parameters<typeof metricsRoutes>[0] &
  Parameters<typeof signInRoutes>[0] &
  Omit<Parameters<typeof machineConfigRoutes>[0], 'installKeys'> &
  Parameters<typeof setUpCodeRoutes>[0] &
  Parameters<typeof authorityRoutes>[0] &
  Parameters<typeof installRoutes>[0] &
  Parameters<typeof releaseFileRoutes>[0] &
  Parameters<typeof tufRoutes>[0] &
  Parameters<typeof blobRoutes>[0] &
  Parameters<typeof packageDownloads>[0] &
  Parameters<typeof packageUploads>[0] &
  Parameters<typeof dataDownloads>[0] &
  Parameters<typeof sequenceExportDownloads>[0] & { unprovenDb: Database };

/** All HTTP routes except RPC; the web app's route matches all remaining paths. */
export function httpRoutes(deps: HttpDeps, of: { blobLimitBytes: number; webFolder: string | undefined }): Route[] {
  const unproven = { ...deps, db: deps.unprovenDb };
  const keys = installKeys(unproven);
  return [
    ...healthRoutes(deps),
    ...metricsRoutes(deps),
    ...signInRoutes(unproven),
    ...machineConfigRoutes({ ...deps, installKeys: keys }),
    ...keys.routes,
    ...setUpCodeRoutes(unproven),
    ...authorityRoutes(deps),
    ...installRoutes(deps),
    ...releaseFileRoutes(unproven),
    ...tufRoutes(unproven),
    ...blobRoutes(deps, of.blobLimitBytes),
    packageDownloads(deps),
    packageUploads(deps),
    dataDownloads(deps),
    sequenceExportDownloads(deps),
    ...webRoutes(of.webFolder),
  ];
}
