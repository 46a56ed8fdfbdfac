import type { JobSpec } from '@platform/contract/job/job';
import type { Clock } from './clock.ts';
import { chooseDevice } from './device.ts';
import type { Device, DevicePort, Trial } from './device.ts';
import type { Events } from './events.ts';

/** Input of one training run. */
export interface Training {
  job: JobSpec;
  datasetFile: string;
  /** Its content, without tmp/, becomes the model version. */
  outFolder: string;
  events: Events;
  clock: Clock;
  /** Threads of ONNX Runtime; they affect the last digits of the result. */
  threads: number;
  signal: AbortSignal;
  /** Devices for the training steps. */
  devices: DevicePort;
}

/** Warns of arguments that the trainer ignores. */
export function warnOfUnknown({ events }: Pick<Training, 'events'>, unknown: readonly string[]): void {
  for (const key of unknown) {
    const message = `Argument ${key} is not known: ignored.`;
    events.emit({ is: 'warning', code: 'INVALID_ARGUMENT', message });
  }
}

/** Chooses the device by a step on it, and logs which. */
export async function openDevice(
  { job, devices, events }: Pick<Training, 'job' | 'devices' | 'events'>,
  trial: () => Trial,
): Promise<Device> {
  const device = await chooseDevice(devices, job.limits.gpus ?? 0, trial);
  const where = device.name === 'cpu' ? 'the CPU' : 'a GPU';
  const level = device.isFallback ? 'warn' : 'info';
  events.emit({ is: 'log', level, message: `Trains on ${where}. ${device.reason}` });
  return device;
}
