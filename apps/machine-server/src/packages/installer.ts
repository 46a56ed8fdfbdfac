import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { Cell, Clock, Log, Reconciler } from '@platform/kit';
import { errorText } from '@platform/kit';
import type { PackageSpec } from '../machine-config.ts';
import { packageKey, plan } from '../plans/packages.ts';
import type { Have, Step } from '../plans/packages.ts';
import type { InstalledPackage } from '../plans/resources.ts';
import { Attempts } from '../attempts.ts';
import { download, NotAPackage } from './download.ts';
import { isDiskFault } from './store.ts';
import type { PackageStore } from './store.ts';

interface Deps {
  readonly packages: Pick<Client<typeof PackageService>, 'getPackage'>;
  readonly downloadHeaders: Readonly<Record<string, string>>;
  /** Default: the runtime's fetch. */
  readonly fetch?: typeof fetch;
  readonly store: PackageStore;
  /** Installed packages, for their users. */
  readonly installed: Cell<ReadonlyMap<string, InstalledPackage>>;
  readonly attempts: Attempts;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the desired packages on the disk. A failed one does not block others, and its previous version stays. */
export function packageReconciler(deps: Deps): Reconciler<readonly PackageSpec[], Have, Step> {
  const { installed, attempts, store } = deps;
  return {
    name: 'packages',
    recheckMs: 2000,
    observe: async () => ({ installed: installed.get(), failed: attempts.resting() }),
    plan,
    apply: async (step, signal) => {
      switch (step.do) {
        case 'forget':
          installed.update((map) => new Map([...map].filter(([name]) => name !== step.name)));
          return store.clear(step.name);
        case 'install':
          return tryInstall(step, deps, signal);
      }
    },
  };
}

async function tryInstall(spec: PackageSpec, deps: Deps, signal: AbortSignal): Promise<void> {
  const { store, installed, attempts, log } = deps;
  const before = installed.get().get(spec.name);
  try {
    const found = await install(spec, deps, signal);
    attempts.succeeded(packageKey(spec));
    installed.update((map) => new Map(map).set(spec.name, found));
    log.info('package installed', { name: spec.name, id: spec.id, version: spec.version });
    await store.clear(spec.name, found);
  } catch (error) {
    if (signal.aborted) return;
    const isLasting = error instanceof PlatformError && error.code === 'PACKAGE_CORRUPT';
    if (isLasting) attempts.gaveUp(packageKey(spec), error);
    else attempts.failed(packageKey(spec), error);
    const fields = { name: spec.name, id: spec.id, version: spec.version, stays: before?.version ?? 'none', error };
    if (isLasting) log.error('package refused until its version changes', fields);
    else log.warn('package not installed yet', fields);
  }
}

async function install(spec: PackageSpec, deps: Deps, signal: AbortSignal): Promise<InstalledPackage> {
  const { packages, downloadHeaders: headers, store, clock } = deps;
  const { id, version } = spec;
  const corrupt = (error: unknown) =>
    new PlatformError('PACKAGE_CORRUPT', { packageId: id, version, problem: errorText(error) }, error);
  const request = { id, version, includeUrl: true, type: PackageType.ML_MODEL };
  const answer = await packages.getPackage(request, { signal }).catch((error: unknown) => {
    const { code, rawMessage } = ConnectError.from(error);
    throw code === Code.NotFound
      ? new PlatformError('PACKAGE_NOT_FOUND', { packageId: id, version }, new Error(rawMessage))
      : error;
  });
  const url = answer.package?.url ?? '';
  const file = store.archiveFile(spec);
  try {
    await download({ url, headers, file, ...(deps.fetch && { fetch: deps.fetch }) }, clock, signal);
  } catch (error) {
    // A transfer error may have changed the checksum: further attempts start again. A response that is not a package
    // stays invalid.
    throw error instanceof NotAPackage ? corrupt(error) : error;
  }
  try {
    return await store.install(spec);
  } catch (error) {
    throw isDiskFault(error) ? error : corrupt(error);
  }
}
