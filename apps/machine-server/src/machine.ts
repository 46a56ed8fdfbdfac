import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { Cell, converge } from '@platform/kit';
import type { Clock, Log } from '@platform/kit';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { Attempts } from './attempts.ts';
import { CaptureSpool } from './captures/spool.ts';
import { uploadCaptures } from './captures/upload.ts';
import { loadCachedConfig, pollConfig } from './cloud/config-poll.ts';
import type { Contact } from './cloud/config-poll.ts';
import { noViews } from './cloud/desired-views.ts';
import type { DesiredViews } from './cloud/desired-views.ts';
import type { CloudLink } from './cloud/link.ts';
import type { LogQueue } from './cloud/log-upload.ts';
import { reportSchemas } from './cloud/schema-report.ts';
import type { RouteDeps } from './http/routes.ts';
import type { JpegCodec } from './images/jpeg-codec.ts';
import { PredictedImages } from './resources/predicted-images.ts';
import { sendViews } from './live/send-views.ts';
import { emptyConfig } from './machine-config.ts';
import type { MachineConfig } from './machine-config.ts';
import { packageReconciler } from './packages/installer.ts';
import { PackageStore } from './packages/store.ts';
import type { InstalledPackage, Want } from './plans/resources.ts';
import type { ProgramFile } from './program-file.ts';
import { spoolFolder, startResource } from './resources/factory.ts';
import type { ModelEngine } from './resources/model-engine.ts';
import { followGoal, resourceReconciler, resourceStatus } from './resources/reconciler.ts';
import type { Progress } from './resources/reconciler.ts';
import { ResourceReporter } from './resources/report.ts';
import { RunningResources } from './resources/running.ts';
import { statusReader } from './status.ts';
import { version } from './version.ts';

interface Deps {
  readonly link: CloudLink;
  readonly partId: string;
  readonly dataFolder: string;
  readonly pollMs: number;
  readonly engine: ModelEngine;
  readonly jpeg: JpegCodec;
  readonly queue: LogQueue;
  readonly programFile: ProgramFile | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Machine {
  /** Dependencies of the HTTP routes. */
  readonly routes: RouteDeps;
  /** Revision and content of the configuration in effect; 0 and empty: none yet. */
  inEffect(): Pick<Progress, 'revision' | 'configSha256'>;
  /** Runs every loop until `signal`, then stops all resources. Rejects if a loop fails, which is a defect. */
  run(signal: AbortSignal): Promise<void>;
}

/** Connects everything that follows the machine's configuration: cells, and the loops between them. */
export async function openMachine(deps: Deps): Promise<Machine> {
  const { link, partId, dataFolder, pollMs, queue, programFile, clock, log } = deps;
  const wanted = new Cell<MachineConfig>(emptyConfig);
  const contact = new Cell<Contact>({ isOnline: false });
  const polling = {
    robot: link.client(RobotService),
    partId,
    version,
    cacheFile: path.join(dataFolder, 'config.json'),
    wanted,
    contact,
    views: new Cell<DesiredViews>(noViews),
    pollMs,
    clock,
    log: log.child('config'),
    random: Math.random,
  };
  await loadCachedConfig(polling);

  const packages = await openPackages(deps, wanted);
  const { installed, attempts: packageAttempts } = packages;
  const resources = openResources(deps, installed);
  const { running, attempts, goal, progress } = resources;
  const uploading = {
    dataSync: link.client(DataSyncService),
    partId,
    spool: resources.spool,
    folders: () => captureFolders(resources.captureFolder, wanted.get()),
    clock,
    log: log.child('captures'),
  };
  const reporter = new ResourceReporter({ wanted, goal, installed, running, attempts, packageAttempts, clock });
  const status = statusReader({ wanted, progress, contact, running, reporter, queue, programFile, clock });
  return {
    routes: {
      running,
      restartStatus: status.readRestartStatus,
      status: status.readStatus,
      resources: () => resourceStatus(goal.get(), running, attempts),
      resourceReport: () => reporter.read().report,
      log: log.child('http'),
    },
    inEffect: () => progress.get(),
    run: async (signal) => {
      try {
        await Promise.all([
          pollConfig(polling, signal),
          packages.run(signal),
          followGoal({ config: wanted, installed }, goal, signal),
          resources.run(signal),
          uploadCaptures(uploading, signal),
          runSchemaReport(deps, signal),
          runLiveViews(deps, { desired: polling.views, running, predicted: resources.predicted }, signal),
        ]);
      } finally {
        await running.stopAll();
      }
    },
  };
}

const runSchemaReport = ({ link, partId, clock, log }: Deps, signal: AbortSignal): Promise<void> =>
  reportSchemas(
    { fleet: link.client(FleetService), partId, clock, log: log.child('schemas'), random: Math.random },
    signal,
  );

const runLiveViews = (
  { link, partId, jpeg, clock, log }: Deps,
  of: { desired: Cell<DesiredViews>; running: RunningResources; predicted: PredictedImages },
  signal: AbortSignal,
): Promise<void> =>
  sendViews({ ...of, live: link.client(LiveService), partId, jpeg, clock, log: log.child('live') }, signal);

/** Brings the installed packages to those of the configuration. */
async function openPackages({ link, dataFolder, clock, log: parent }: Deps, wanted: Cell<MachineConfig>) {
  const log = parent.child('packages');
  const store = new PackageStore(path.join(dataFolder, 'packages'));
  const installed = new Cell<ReadonlyMap<string, InstalledPackage>>(await store.open());
  const wantedPackages = new Cell(wanted.get().packages);
  const attempts = new Attempts(clock);
  const reconciler = packageReconciler({
    packages: link.client(PackageService),
    downloadHeaders: link.downloadHeaders,
    fetch: link.fetch,
    store,
    installed,
    attempts,
    clock,
    log,
  });
  const run = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([
      follow(wanted, (config) => wantedPackages.set(config.packages), signal),
      converge(reconciler, wantedPackages, { clock, log }, signal),
    ]);
  };
  return { installed, attempts, run };
}

/** Brings the running resources to `goal`. */
function openResources(deps: Deps, installed: Cell<ReadonlyMap<string, InstalledPackage>>) {
  const { engine, jpeg, clock } = deps;
  const log = deps.log.child('resources');
  const running = new RunningResources();
  const spool = new CaptureSpool();
  const predicted = new PredictedImages();
  const captureFolder = path.join(deps.dataFolder, 'captures');
  const attempts = new Attempts(clock);
  const goal = new Cell<Want>({ revision: 0, configSha256: '', resources: [], packages: installed.get() });
  const progress = new Cell<Progress>({ revision: 0, configSha256: '', isChanging: false });
  const factory = { running, engine, jpeg, spool, predicted, captureFolder, clock, log };
  const start = (spec: Parameters<typeof startResource>[0]) => startResource(spec, factory);
  const reconciler = resourceReconciler({ running, start, attempts, progress, log });
  const run = (signal: AbortSignal): Promise<void> => converge(reconciler, goal, { clock, log }, signal);
  return { running, spool, predicted, captureFolder, attempts, goal, progress, run };
}

async function follow<T>(cell: Cell<T>, use: (value: T) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    use(cell.get());
    await cell.changed(signal);
  }
}

/** Every folder that may contain captures: those of current and former resources, and those in the configuration. */
async function captureFolders(root: string, config: MachineConfig): Promise<readonly string[]> {
  const found = await readdir(root).catch(() => []);
  const named = config.resources.flatMap((spec) => (spec.is === 'capture' ? [spoolFolder(root, spec)] : []));
  return [...new Set([...found.map((name) => path.join(root, name)), ...named])];
}
