import type { Clock, Log } from '@platform/kit';
import { inMemory, spawnGroup } from '@platform/kit/node';
import { childEnvironment } from '../environment.ts';
import type { Device } from '../ports.ts';
import { posixDisk } from '../posix/disk.ts';
import { relayFolder } from '../relay-places.ts';
import { posixFileSystem } from '../posix/file-system.ts';
import { thisHost } from '../host.ts';
import { posixLines } from '../posix/lines.ts';
import { posixPrograms } from '../posix/programs.ts';
import { outputRelay } from '../posix/output-relay.ts';
import { httpProbe } from '../probe.ts';
import { linuxHostFacts } from './kernel/host-facts.ts';
import { linuxResetCause } from './kernel/reset-cause.ts';
import { nvmeWearReader } from './kernel/nvme-wear.ts';
import { joinRelay } from './kernel/presence-pipes.ts';
import { linuxUsage } from './kernel/usage.ts';
import { readFileSystem } from '../mounts.ts';
import { linuxProcesses } from './kernel/processes.ts';
import { startRelayUnit, systemdProcesses } from './systemd/systemd.ts';
import type { RequestTrace } from '../request-trace.ts';
import { systemWeb, createWeb } from '../web.ts';

/** A disk that takes longer to report its wear has none in this report. */
const wearMs = 5_000;

/** A machine with a POSIX file system. Processes are recognised through /proc where it exists. */
export function linuxDevice(of: {
  root: string;
  mark: { name: string; value: string };
  /** The units for a machine server under systemd; see systemdProcesses. */
  units?: { unit: string; agentUnit: string; relayUnit: string; stopMs: number };
  /** Command line and environment of the machine server's relay; undefined: no relay. */
  relay?: { command: readonly string[]; env: Readonly<Record<string, string>> } | undefined;
  clock: Clock;
  trace?: RequestTrace | undefined;
  log?: Log;
}): Device {
  const { root, mark, units, clock, trace, log } = of;
  const host = thisHost();
  const isUnit = host.isSupervisedBySystemd && process.getuid?.() === 0;
  const isRelayUnit = units !== undefined && isUnit;
  const startRelay = async ({ command, env }: NonNullable<typeof of.relay>): Promise<void> => {
    if (isRelayUnit) return startRelayUnit({ unit: units.relayUnit, serverUnit: units.unit, command, env });
    const [program = '', ...args] = command;
    const logFile = '/dev/null';
    const group = await spawnGroup({
      command: program,
      args,
      env: { ...childEnvironment(process.env), ...env },
      logFile,
      clock,
    });
    group.unref();
  };
  const relay =
    of.relay &&
    log &&
    outputRelay({
      folder: () => relayFolder(root),
      start: () => startRelay(of.relay!),
      join: joinRelay,
      clock,
      log,
    });
  const wearOf = nvmeWearReader(posixPrograms(wearMs), clock);
  const plain = linuxProcesses(root, mark, clock, relay);
  return {
    processes: units && isUnit ? systemdProcesses({ root, mark, plain, relay, clock, ...units }) : plain,
    files: posixFileSystem(root),
    disk: posixDisk(root),
    lines: posixLines(root, () => inMemory('log', root)),
    web: trace ? createWeb(fetch, { trace, clock }) : systemWeb,
    probe: httpProbe(clock, trace),
    host,
    ...(process.platform === 'linux' && {
      hostFacts: () => linuxHostFacts('', { folder: root, wearOf }),
      fileSystem: () => readFileSystem(root),
      usage: () => linuxUsage('', root),
      resetCause: (since: number) => linuxResetCause(since),
    }),
  };
}
