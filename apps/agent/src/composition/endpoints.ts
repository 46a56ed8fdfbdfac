import type { Clock, Log } from '@platform/kit';
import { runtimeEnvironment } from '../install/unit.ts';
import { childBluetooth, type BluetoothEndpoint } from '../network/endpoints/bluetooth-endpoint.ts';
import type { ChildParts } from '../network/endpoints/endpoints-child.ts';
import type { ProvisioningEndpoints } from '../network/endpoints/endpoints-port.ts';
import { childEndpoints } from '../network/hotspot/hotspot-endpoints.ts';
import { linuxBluetooth } from '../os/linux/bluez/bluez.ts';
import { posixPrograms } from '../os/posix/programs.ts';
import type { Device } from '../os/ports.ts';
import { thisProgram } from './this-machine.ts';

const mib = 1024 * 1024;
/** It needs about 9 MiB built, 43 MiB from source; each of its 128 connections may hold 72 KiB. */
const memoryLimits = { built: 96 * mib, fromSource: 256 * mib };
const longestProgramMs = 10_000;

const childParts = ({ clock, log }: { clock: Clock; log: Log }): ChildParts => ({
  command: [...thisProgram(), 'endpoints'],
  env: runtimeEnvironment,
  programs: posixPrograms(longestProgramMs),
  memoryLimitBytes: process.versions.bun === undefined ? memoryLimits.fromSource : memoryLimits.built,
  clock,
  log,
});

/** The captive portal and the provisioning RPC of this machine, in a process of their own. */
export const hotspotEndpoints = (of: {
  device: Pick<Device, 'processes'>;
  clock: Clock;
  log: Log;
}): ProvisioningEndpoints => childEndpoints({ ...childParts(of), processes: of.device.processes });

/** Provisioning over the Bluetooth of this machine, in a process of its own. */
export const bluetoothEndpoint = (of: { clock: Clock; log: Log }): BluetoothEndpoint =>
  childBluetooth({ ...childParts(of), bluetooth: linuxBluetooth(of) });
