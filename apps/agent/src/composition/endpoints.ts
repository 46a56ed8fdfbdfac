import type { Clock, Log } from '@platform/kit';
import { runtimeEnvironment } from '../install/unit.ts';
import type { ProvisioningEndpoints } from '../network/endpoints-port.ts';
import { childEndpoints } from '../network/endpoints.ts';
import { posixPrograms } from '../os/posix/programs.ts';
import type { Device } from '../os/ports.ts';
import { thisProgram } from './this-machine.ts';

const mib = 1024 * 1024;
/** It needs about 9 MiB built, 43 MiB from source; each of its 128 connections may hold 72 KiB. */
const memoryLimits = { built: 96 * mib, fromSource: 256 * mib };
const longestProgramMs = 10_000;

/** The captive portal and the provisioning RPC of this machine, in a process of their own. */
export const hotspotEndpoints = (of: {
  device: Pick<Device, 'processes'>;
  clock: Clock;
  log: Log;
}): ProvisioningEndpoints =>
  childEndpoints({
    command: [...thisProgram(), 'endpoints'],
    env: runtimeEnvironment,
    processes: of.device.processes,
    programs: posixPrograms(longestProgramMs),
    memoryLimitBytes: process.versions.bun === undefined ? memoryLimits.fromSource : memoryLimits.built,
    clock: of.clock,
    log: of.log,
  });
