import type { RestartStatus } from '@platform/contract/machine-server/machine-server';
import { errorText, within } from '@platform/kit';
import type { Cell, Clock } from '@platform/kit';
import type { Contact } from './cloud/config-poll.ts';
import type { LogQueue } from './cloud/log-upload.ts';
import type { MachineConfig } from './machine-config.ts';
import type { ProgramFile } from './program-file.ts';
import type { Progress } from './resources/reconciler.ts';
import type { ResourceReporter } from './resources/report.ts';
import type { RunningResources } from './resources/running.ts';
import { maintenanceReading, mayRestart } from './restart.ts';
import type { SensorAnswer } from './restart.ts';
import { version } from './version.ts';

export interface StatusDeps {
  readonly wanted: Cell<MachineConfig>;
  readonly progress: Cell<Progress>;
  readonly contact: Cell<Contact>;
  readonly running: RunningResources;
  readonly reporter: Pick<ResourceReporter, 'read'>;
  readonly queue: LogQueue;
  readonly programFile: ProgramFile | undefined;
  readonly clock: Clock;
}

const sensorTimeoutMs = 5000;

/** Status of the server; `readStatus` is for users, `readRestartStatus` for the agent. */
export function statusReader(deps: StatusDeps) {
  const { wanted, progress, contact, reporter, queue, programFile, clock } = deps;
  const start = clock.now();
  const uptime = () => Math.round((clock.now() - start) / 100) / 10;

  const readRestartStatus = async (): Promise<RestartStatus> => {
    const { revision, configSha256, isChanging } = progress.get();
    const desired = wanted.get();
    const isBehind = revision !== desired.revision || configSha256 !== desired.configSha256;
    const reconfiguring = isChanging || isBehind;
    const maintenance = await readMaintenance(deps);
    return {
      restartAllowed: mayRestart(reconfiguring, maintenance),
      doesNotHandleNeedsRestart: true,
      version,
      uptimeSeconds: uptime(),
      reconfiguring,
      revision,
      ...(configSha256 !== '' && { configSha256 }),
      ...(maintenance && { maintenance }),
      restartNeeded: (await programFile?.isReplaced()) ?? false,
      resourceStatusEtag: reporter.read().etag,
    };
  };

  const readStatus = async (): Promise<object> => {
    const { isOnline, problem } = contact.get();
    return {
      version,
      pid: process.pid,
      uptime_s: uptime(),
      online: isOnline,
      ...(problem !== undefined && { offline_because: problem }),
      revision: progress.get().revision,
      wanted_revision: wanted.get().revision,
      config_problems: wanted.get().problems,
      log_lines: { waiting: queue.size, dropped: queue.dropped },
    };
  };

  return { readRestartStatus, readStatus };
}

async function readMaintenance({ wanted, running, clock }: StatusDeps) {
  const maintenance = wanted.get().maintenance;
  if (maintenance === undefined) return undefined;
  const { sensor: name, key } = maintenance;
  const sensor = running.find('sensor', name)?.sensor;
  if (sensor === undefined) return maintenanceReading(name, key, { at: 'missing' });
  const answer = await within(sensorTimeoutMs, { what: `reading sensor ${name}`, clock }, (signal) =>
    sensor.readings(signal),
  ).then(
    (readings): SensorAnswer => ({ at: 'read', readings }),
    (error: unknown): SensorAnswer => ({ at: 'failed', problem: errorText(error) }),
  );
  return maintenanceReading(name, key, answer);
}
